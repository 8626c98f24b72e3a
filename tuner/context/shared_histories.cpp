#include "tuner/context/shared_histories.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

namespace autospmv {

namespace {

template <class T>
struct Shared {
  struct Entry {
    HistoryOrigin origin;
    std::shared_ptr<const History<T>> history;
  };

  std::mutex mutex;
  std::deque<Entry> entries;

  static Shared& get() {
    static auto& one = *new Shared();  // a context may be as static itself
    return one;
  }
};

}  // namespace

template <class T>
std::shared_ptr<const History<T>> shared_history(const HistoryOrigin& origin) {
  auto& shared = Shared<T>::get();
  const std::scoped_lock lock(shared.mutex);
  const auto known = std::ranges::find(shared.entries, origin, &Shared<T>::Entry::origin);
  return known == shared.entries.end() ? nullptr : known->history;
}

template <class T>
void share_history(const HistoryOrigin& origin, std::shared_ptr<const History<T>> history) {
  constexpr std::size_t most = 4;  // of a megabyte or two each
  auto& shared = Shared<T>::get();
  const std::scoped_lock lock(shared.mutex);
  std::erase_if(shared.entries, [&](const auto& entry) { return entry.origin == origin; });
  shared.entries.push_back({origin, std::move(history)});
  if (shared.entries.size() > most) shared.entries.pop_front();
}

#define AUTOSPMV_SHARED_HISTORIES(T)                                                  \
  template std::shared_ptr<const History<T>> shared_history<T>(const HistoryOrigin&); \
  template void share_history<T>(const HistoryOrigin&, std::shared_ptr<const History<T>>);
AUTOSPMV_SHARED_HISTORIES(float)
AUTOSPMV_SHARED_HISTORIES(double)
#undef AUTOSPMV_SHARED_HISTORIES

}  // namespace autospmv
