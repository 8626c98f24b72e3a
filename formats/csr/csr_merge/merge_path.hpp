// The merge path of a matrix in CSR: its nonzeros and the ends of its rows, in the order in which a product by rows
// comes to them. Every step takes a nonzero or ends a row, so shares of equally many steps cost alike, whether rows
// are long, short or empty.
//
//   row_ptr  0 2 2 5        a b | | c d e |        path  0 0 1 1 0 0 0 1        0: a nonzero, 1: the end of a row
//
// A path that is written down, one bit a step, says in fewer bytes than row_ptr where rows end, and is not searched by
// each product anew. Step s is bit s % 32 of word s / 32. Warps take tiles of 32 x Items steps, each lane Items of
// them. The last tile is filled up with ends of rows that do not exist.
//
// Source: Merrill, Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016: the merge path of row
// ends and nonzero numbers, and the search of its diagonals. The paper builds nothing and searches in every product.
// Others write segments of the path as bits too: "MERBIT: a GPU-based SpMV method for iterative workloads", 2026.
#pragma once

#include <cstdint>

#include "core/machine/host_device.hpp"
#include "core/search.hpp"

namespace autospmv::formats {

/// The step that ends a row.
template <class Offset>
AUTOSPMV_HD inline std::int64_t end_step(const Offset* row_ptr, std::int64_t row) {
  return static_cast<std::int64_t>(row_ptr[row + 1]) + row;
}

/// Rows that end in the first `steps` steps, of which there are at most rows + nnz; the other steps are nonzeros. A
/// search along one diagonal of the merge.
template <class Offset>
AUTOSPMV_HD inline std::int64_t rows_ended(const Offset* row_ptr, std::int64_t rows, std::int64_t steps) {
  return partition_point(std::int64_t{0}, rows < steps ? rows : steps,
                         [&](std::int64_t row) { return end_step(row_ptr, row) < steps; });
}

/// Words for a path of so many steps, with one to spare for path_bits.
inline std::int64_t path_words(std::int64_t steps) { return (steps + 31) / 32 + 1; }

/// `count` bits of a path, at most 31, from bit `first` on; word first / 32 + 1 is read too.
AUTOSPMV_HD inline std::uint32_t path_bits(const std::uint32_t* path, int first, int count) {
  const std::uint64_t both = path[first / 32] | static_cast<std::uint64_t>(path[first / 32 + 1]) << 32;
  return static_cast<std::uint32_t>(both >> (first % 32)) & ((1U << count) - 1);
}

/// Reads the products that `Steps` steps take, each to the place of its step; what steps that end a row have there is
/// of no use. `Steps` is odd, so that neighbouring lanes read from different banks of shared memory.
template <int Steps, class T>
AUTOSPMV_HD inline void read_products(std::uint32_t bits, const T* next, T (&product)[Steps]) {
  static_assert(Steps % 2 == 1 && Steps < 32);
  AUTOSPMV_UNROLL
  for (int step = 0; step < Steps; ++step) {
    product[step] = *next;
    next += ~(bits >> step) & 1U;
  }
}

/// Sums products along so many steps, and stores the sum of each row that ends, less what steps before these have of
/// the first. Returns the sum of the row that does not end here.
template <int Steps, class T>
AUTOSPMV_HD inline T sum_path(std::uint32_t bits, const T (&product)[Steps], T* row_sums) {
  T sum = 0;
  AUTOSPMV_UNROLL
  for (int step = 0; step < Steps; ++step) {
    if ((bits >> step & 1U) != 0) {
      *row_sums++ = sum;
      sum = 0;
    } else {
      sum += product[step];
    }
  }
  return sum;
}

/// The boundaries between blocks of steps that one row crosses.
struct Crossing {
  std::int32_t first;
  std::int32_t last;
};

/// Of a row that is under way at some boundary, or begins there: boundary b comes before step b block_steps, and there
/// are boundaries 1 to blocks - 1.
template <class Offset>
AUTOSPMV_HD inline Crossing crossing_of(const Offset* row_ptr, std::int64_t row, std::int64_t block_steps,
                                        std::int32_t blocks) {
  const auto first = row == 0 ? 1 : end_step(row_ptr, row - 1) / block_steps + 1;
  const auto last = end_step(row_ptr, row) / block_steps;
  return {static_cast<std::int32_t>(first), last < blocks ? static_cast<std::int32_t>(last) : blocks - 1};
}

}  // namespace autospmv::formats
