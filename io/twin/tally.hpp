// What the features of columns are made of.
#pragma once

#include <cstdint>
#include <span>

#include "core/machine/parallel.hpp"

namespace autospmv::twin {

struct Tally {
  std::int64_t rows = 0;   // with nonzeros
  std::int64_t pairs = 0;  // of such a row and the next one
  std::int64_t nnz = 0;
  std::int64_t runs = 0;
  std::int64_t spans = 0;   // last column - first column
  double similarities = 0;  // over the pairs

  /// Adds a row; `next` is null for the last.
  void add(std::span<const std::int32_t> row, const std::span<const std::int32_t>* next);

  friend Tally operator+(const Tally& a, const Tally& b) {
    return {a.rows + b.rows, a.pairs + b.pairs, a.nnz + b.nnz,
            a.runs + b.runs, a.spans + b.spans, a.similarities + b.similarities};
  }
};

/// Rows [first, last) of `rows`; col_idx begins with the columns of row `origin`.
Tally tally_rows(std::span<const std::int64_t> row_ptr, const std::int32_t* col_idx, std::int64_t origin, Share share,
                 std::int64_t rows);

inline double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

}  // namespace autospmv::twin
