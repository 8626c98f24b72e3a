// A matrix in host memory that owns its arrays: what readers and generators give.
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix/csr.hpp"

namespace autospmv {

template <class T>
struct HostCsr {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::int64_t> row_ptr = {0};  ///< rows + 1 offsets
  std::vector<std::int32_t> col_idx;
  std::vector<T> values;

  [[nodiscard]] std::int64_t nnz() const { return row_ptr.back(); }

  /// Valid as long as the arrays stay where they are.
  [[nodiscard]] CsrView<T> view() const {
    return {.rows = rows,
            .cols = cols,
            .nnz = nnz(),
            .row_ptr = row_ptr.data(),
            .col_idx = col_idx.data(),
            .values = values.data()};
  }
};

}  // namespace autospmv
