// Which columns the rows of a twin have, drawn row by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/machine/parallel.hpp"

namespace autospmv::twin {

/// How the columns of the rows are drawn: three shares in [0, 1], each of which moves one feature.
struct Shape {
  double run;   ///< of the nonzeros but the first of a row, those that begin a run of neighbouring columns
  double span;  ///< of the columns, those from the first to the last of a row of several runs
  double copy;  ///< of the runs of a row, those that the next row takes over
};

/// The runs that a row of n nonzeros has in the mean; at least one column lies between any two.
double mean_runs(std::int64_t n, std::int64_t cols, double run);

/// Columns from the first to the last of a row of n nonzeros, in the mean.
double mean_span(std::int64_t n, std::int64_t cols, const Shape& shape);

/// Writes the columns of the rows of one block, the first of them at col_idx.
void make_rows(std::span<const std::int64_t> row_ptr, std::int64_t cols, const Shape& shape, std::uint64_t seed,
               Share block, std::int32_t* col_idx);

/// Blocks of rows that are made on their own, by whichever thread comes first: similarity begins anew in each.
struct Blocks {
  explicit Blocks(std::span<const std::int64_t> row_ptr) : rows(std::ssize(row_ptr) - 1) {
    constexpr std::int64_t nnz_per_block = std::int64_t{1} << 18;
    const std::int64_t npr = row_ptr.back() / rows + 1;
    size = std::clamp<std::int64_t>(nnz_per_block / npr, 256, 8192);
    count = (rows + size - 1) / size;
  }

  [[nodiscard]] Share of(std::int64_t block) const { return {block * size, std::min(rows, (block + 1) * size)}; }

  std::int64_t rows;
  std::int64_t size;
  std::int64_t count;
};

/// Calls body(i) for every i in [0, size), in any order.
template <class Body>
void for_each_block(std::int64_t size, const Body& body) {
  parallel_parts(size > 1 ? serial_below : 0, size, body);
}

}  // namespace autospmv::twin
