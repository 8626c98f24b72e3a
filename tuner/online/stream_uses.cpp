#include "tuner/online/stream_uses.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace autospmv {

void StreamUses::note_product(Use& use, Stream stream) {
  std::uint64_t id = 0;
  try {
    id = stream_id(place_, stream);
  } catch (const Error&) {
    use.pinned = true;
    return;
  }
  auto followed = std::find_if(followed_.begin(), followed_.end(),
                               [&](const Followed& one) { return one.last != nullptr && one.stream == id; });
  if (followed == followed_.end()) {
    followed = std::find_if(followed_.begin(), followed_.end(), [](const Followed& one) { return !one.last; });
    if (followed == followed_.end()) {
      if (!use.pinned) note_end(use, stream);
      return;
    }
    followed->stream = id;
  } else if (followed->last != &use) {
    note_end(*followed->last, stream);
  }
  followed->last = &use;
}

void StreamUses::note_end(Use& use, Stream stream) {
  try {
    const auto id = stream_id(place_, stream);
    auto end =
        std::find_if(ends_.begin(), ends_.end(), [&](const End& one) { return one.use == &use && one.stream == id; });
    if (end == ends_.end()) {
      end = std::find_if(ends_.begin(), ends_.end(), [](const End& one) { return !one.use || one.watch->stopped(); });
    }
    if (end == ends_.end()) {
      use.pinned = true;
      return;
    }
    if (!end->watch) end->watch = make_stopwatch(place_);
    end->watch->stop(stream);
    end->use = &use;
    end->stream = id;
  } catch (const Error&) {
    // The device fails, which the next product will say.
    use.pinned = true;
  }
}

bool StreamUses::has(const Use& use) const {
  return std::any_of(followed_.begin(), followed_.end(), [&](const Followed& one) { return one.last == &use; }) ||
         std::any_of(ends_.begin(), ends_.end(),
                     [&](const End& end) { return end.use == &use && !end.watch->stopped(); });
}

bool StreamUses::has_no_other_than(const Use& use) const {
  return std::all_of(followed_.begin(), followed_.end(),
                     [&](const Followed& one) { return one.last == nullptr || one.last == &use; });
}

void StreamUses::pin_all_but(const Use& use) {
  for (auto& one : followed_) {
    if (one.last != nullptr && one.last != &use) one.last->pinned = true;
  }
}

void StreamUses::forget(const Use& use) {
  for (auto& end : ends_) {
    if (end.use == &use) end.use = nullptr;
  }
}

}  // namespace autospmv
