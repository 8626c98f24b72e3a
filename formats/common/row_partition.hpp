// Shares of rows that hold about equally many nonzeros.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/parallel.hpp"
#include "core/search.hpp"

namespace autospmv::formats {

/// The rows of one share of several: those whose first nonzero lies in its share of nnz + rows, so that neither a few
/// long rows nor many empty ones make one share slow. `row_ptr` may count anything that costs alike.
template <class Offset>
Share rows_of_share(const Offset* row_ptr, std::int64_t rows, int share, int shares) {
  const auto first_row_from = [&](std::int64_t work) {
    return partition_point(std::int64_t{0}, rows, [&](std::int64_t row) { return row_ptr[row] + row < work; });
  };
  const std::int64_t work = static_cast<std::int64_t>(row_ptr[rows]) + rows;
  const auto [first, last] = share_of(work, share, shares);
  return {share == 0 ? 0 : first_row_from(first), share + 1 == shares ? rows : first_row_from(last)};
}

/// Calls body(share, shares) for all shares of some work, on all threads. Equal work is not equal time where x is
/// scattered or a core is busy with something else: several shares a thread, taken as they come. Which thread takes a
/// share must change nothing in its result.
template <class Body>
void for_each_taken(std::int64_t work, const Body& body) {
  constexpr int shares_of_thread = 4;
  std::atomic<int> taken{0};
  parallel_region(work, [&](int /*thread*/, int threads) {
    const int shares = threads * shares_of_thread;
    for (int share = taken++; share < shares; share = taken++) body(share, shares);
  });
}

/// Calls body(Share of rows) until all rows are taken, on all threads. `weight` says how many elements each of what
/// row_ptr counts stands for.
template <class Offset, class Body>
void for_each_share(const Offset* row_ptr, std::int64_t rows, const Body& body, std::int64_t weight = 1) {
  for_each_taken((static_cast<std::int64_t>(row_ptr[rows]) + rows) * weight,
                 [&](int share, int shares) { body(rows_of_share(row_ptr, rows, share, shares)); });
}

}  // namespace autospmv::formats
