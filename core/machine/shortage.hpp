// Memory or threads that run out. That says nothing of the work that was in hand, which may be done another time.
#pragma once

namespace autospmv {

/// In a handler of exceptions: what has run out, in words that are there as long as the exception is; nullptr where it
/// says something else. Takes no memory itself.
[[nodiscard]] const char* shortage_in_hand() noexcept;

/// Runs the body. Where memory or threads run out in it, returns what `otherwise`, given the words for it, returns.
template <class Body, class Otherwise>
auto unless_short(const Body& body, const Otherwise& otherwise) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    const char* const reason = shortage_in_hand();
    if (reason == nullptr) throw;
    return otherwise(reason);
  }
}

}  // namespace autospmv
