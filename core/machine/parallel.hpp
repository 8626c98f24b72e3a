// Sharing work among the host's threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

#include "core/search.hpp"

namespace autospmv {

/// Below this many elements, waking the threads costs more than they save.
inline constexpr std::int64_t serial_below = 1 << 14;

/// Carries what a thread throws out of a parallel region, which no exception may leave by itself: that would end the
/// process. Of several, the first.
class CarriedException {
 public:
  template <class Body>
  void catch_from(const Body& body) noexcept {
    try {
      body();
    } catch (...) {
      if (!taken_.exchange(true)) first_ = std::current_exception();
    }
  }

  /// After the region.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> taken_ = false;
  std::exception_ptr first_;
};

/// Threads that parallel_region() asks for.
inline int threads_for(std::int64_t work) { return work < serial_below ? 1 : std::max(1, omp_get_max_threads()); }

/// Calls body(thread, threads) once on each thread, in the calling thread alone where `work` is small. What the body
/// throws on any thread is thrown here, when all have ended.
template <class Body>
void parallel_region(std::int64_t work, const Body& body) {
  if (work < serial_below) {
    body(0, 1);
    return;
  }
  CarriedException thrown;
#pragma omp parallel default(none) shared(body, thrown)
  thrown.catch_from([&] { body(omp_get_thread_num(), omp_get_num_threads()); });
  thrown.rethrow();
}

/// Calls body(part) for every part in [0, parts), on all threads as they come, in the calling thread alone where `work`
/// is small.
template <class Body>
void parallel_parts(std::int64_t work, std::int64_t parts, const Body& body) {
  std::atomic<std::int64_t> next{0};
  parallel_region(work, [&](int /*thread*/, int /*threads*/) {
    for (auto part = next++; part < parts; part = next++) body(part);
  });
}

/// The share [first, last) of [0, size) that belongs to a thread.
struct Share {
  std::int64_t first;
  std::int64_t last;
};

inline Share share_of(std::int64_t size, int thread, int threads) {
  return {size * thread / threads, size * (thread + 1) / threads};
}

/// The rows of one share of several: those whose first nonzero lies in its share of nnz + rows, so that neither a few
/// long rows nor many empty ones make one share slow. `row_ptr` may count anything that costs alike.
template <class Offset>
Share rows_of_share(const Offset* row_ptr, Share rows, int share, int shares) {
  const auto work_before = [&](std::int64_t row) {
    return static_cast<std::int64_t>(row_ptr[row]) - static_cast<std::int64_t>(row_ptr[rows.first]) + row - rows.first;
  };
  const auto first_row_from = [&](std::int64_t work) {
    return partition_point(rows.first, rows.last, [&](std::int64_t row) { return work_before(row) < work; });
  };
  const auto [first, last] = share_of(work_before(rows.last), share, shares);
  return {share == 0 ? rows.first : first_row_from(first), share + 1 == shares ? rows.last : first_row_from(last)};
}

/// Calls body(i) for every i in [0, size), in contiguous shares. `weight` says how many elements each i stands for.
template <class Body>
void parallel_for(std::int64_t size, const Body& body, std::int64_t weight = 1) {
  parallel_region(size * weight, [&](int thread, int threads) {
    const auto share = share_of(size, thread, threads);
    for (std::int64_t i = share.first; i < share.last; ++i) body(i);
  });
}

/// Folds body(share) of every thread with combine, in the order of the threads. `weight` as above.
template <class V, class Body, class Combine>
V parallel_reduce(std::int64_t size, V identity, const Body& body, const Combine& combine, std::int64_t weight = 1) {
  // Of its own type: vector<bool> would make neighbours of one word, of which threads lose what others write.
  struct Partial {
    V value;
  };
  std::vector<Partial> partial(static_cast<std::size_t>(std::max(1, omp_get_max_threads())), Partial{identity});
  parallel_region(size * weight, [&](int thread, int threads) {
    partial[static_cast<std::size_t>(thread)].value = body(share_of(size, thread, threads));
  });
  V total = identity;
  for (const auto& one : partial) total = combine(total, one.value);
  return total;
}

}  // namespace autospmv
