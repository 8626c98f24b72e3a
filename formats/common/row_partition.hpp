// Shares of rows that hold about equally many nonzeros.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/parallel.hpp"

namespace autospmv::formats {

/// The rows of a thread: those whose first nonzero lies in the thread's share of nnz + rows, so that neither a few
/// long rows nor many empty ones keep one thread busy.
template <class Offset>
Share rows_of_thread(const Offset* row_ptr, std::int64_t rows, int thread, int threads) {
  const auto first_row_from = [&](std::int64_t work) {
    std::int64_t low = 0;
    std::int64_t high = rows;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (static_cast<std::int64_t>(row_ptr[middle]) + middle < work) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const std::int64_t work = static_cast<std::int64_t>(row_ptr[rows]) + rows;
  const auto share = share_of(work, thread, threads);
  return {thread == 0 ? 0 : first_row_from(share.first), thread + 1 == threads ? rows : first_row_from(share.last)};
}

}  // namespace autospmv::formats
