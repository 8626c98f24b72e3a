// Shares of rows that hold about equally many nonzeros.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/machine/parallel.hpp"

namespace autospmv::formats {

/// Who takes which of some parts of equal work: each thread its own first, which are in its caches since the last
/// product, then what others have not begun. Equal work is not equal time where x is scattered or a core is busy with
/// something else.
class TakenParts {
 public:
  TakenParts(std::int64_t parts, int threads) : parts_(parts), owners_(std::clamp(threads, 1, most_owners)) {
    for (int owner = 0; owner < owners_; ++owner) {
      next_[static_cast<std::size_t>(owner)].part = share_of(parts_, owner, owners_).first;
    }
  }

  /// Calls body(part) for each that this thread gets, until all are taken.
  template <class Body>
  void take(int thread, const Body& body) {
    for (int i = 0; i < owners_; ++i) {
      const int owner = (thread + i) % owners_;
      const auto last = share_of(parts_, owner, owners_).last;
      const std::atomic_ref<std::int64_t> next(next_[static_cast<std::size_t>(owner)].part);
      // What is left of others' is looked at first: to write where they write would make them wait.
      while (next.load(std::memory_order_relaxed) < last) {
        const auto part = next++;
        if (part < last) body(part);
      }
    }
  }

 private:
  static constexpr int most_owners = 128;

  // An atomic would be set to 0, be there an owner or not, which takes as long as a small product.
  struct alignas(64) Next {
    std::int64_t part;
  };

  std::int64_t parts_;
  int owners_;
  std::array<Next, most_owners> next_;
};

/// Calls body(part) for every part in [0, parts), on all threads.
template <class Body>
void for_each_taken_part(std::int64_t work, std::int64_t parts, const Body& body) {
  TakenParts taken(parts, threads_for(work));
  parallel_region(work, [&](int thread, int /*threads*/) { taken.take(thread, body); });
}

/// Shares of some work that each thread begins with. The shorter they are the less a thread waits for the last of
/// another, but to find where one begins takes a search: what takes some microseconds is shared out once.
inline int shares_of_thread(std::int64_t work, int threads) {
  if (threads == 1) return 1;
  constexpr std::int64_t least_work = 32768;
  return static_cast<int>(std::clamp<std::int64_t>(work / threads / least_work, 1, 16));
}

/// Calls body(share) for so many shares of some work, on all threads. Which thread takes a share must change nothing in
/// its result.
template <class Body>
void for_each_taken(std::int64_t work, int shares, const Body& body) {
  if (shares == threads_for(work)) {
    // Nothing is left to be taken. A region inside another one has fewer threads.
    parallel_region(work, [&](int thread, int team) {
      for (int share = thread; share < shares; share += team) body(share);
    });
    return;
  }
  for_each_taken_part(work, shares, [&](std::int64_t share) { body(static_cast<int>(share)); });
}

/// Calls body(share, shares) for all shares of some work, as many as its threads begin with.
template <class Body>
void for_each_taken(std::int64_t work, const Body& body) {
  const int threads = threads_for(work);
  const int shares = threads * shares_of_thread(work, threads);
  for_each_taken(work, shares, [&](int share) { body(share, shares); });
}

/// Calls body(Share of rows) until all rows are taken, on all threads. `weight` says how many elements each of what
/// row_ptr counts stands for. No share has rows of two of the parts, which begin at the rows that `parts` lists, its
/// last element being the number of rows; equal parts, one a thread, make equal shares.
template <class Offset, class Body>
void for_each_share(const Offset* row_ptr, std::span<const std::int64_t> parts, const Body& body,
                    std::int64_t weight = 1) {
  const auto count = static_cast<int>(parts.size()) - 1;
  const auto rows = parts.back();
  const auto work = (static_cast<std::int64_t>(row_ptr[rows]) + rows) * weight;
  const int threads = threads_for(work);
  const int shares_of_part = (threads * shares_of_thread(work, threads) + count - 1) / count;
  for_each_taken(work, count * shares_of_part, [&](int share) {
    const auto* part = &parts[static_cast<std::size_t>(share / shares_of_part)];
    body(rows_of_share(row_ptr, {part[0], part[1]}, share % shares_of_part, shares_of_part));
  });
}

/// The same of rows in one part.
template <class Offset, class Body>
void for_each_share(const Offset* row_ptr, std::int64_t rows, const Body& body, std::int64_t weight = 1) {
  for_each_share(row_ptr, std::array<std::int64_t, 2>{0, rows}, body, weight);
}

}  // namespace autospmv::formats
