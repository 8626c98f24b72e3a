// Values that depend on nothing but where an entry stands.
#pragma once

#include <cstdint>

#include "core/machine/parallel.hpp"
#include "io/host_csr.hpp"

namespace autospmv::detail {

/// The position of an entry as that of a random number.
inline std::uint64_t place_of(std::int64_t row, std::int64_t col) {
  return static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint64_t>(col);
}

/// Each entry gets value(row, col).
template <class T, class Value>
void set_values(HostCsr<T>& matrix, const Value& value) {
  parallel_region(matrix.nnz(), [&](int thread, int threads) {
    const auto share = share_of(matrix.rows, thread, threads);
    for (std::int64_t row = share.first; row < share.last; ++row) {
      for (std::int64_t k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
        matrix.values[k] = static_cast<T>(value(row, matrix.col_idx[k]));
      }
    }
  });
}

}  // namespace autospmv::detail
