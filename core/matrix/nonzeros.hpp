// What CSR does not say of a nonzero by itself: its row, and its place in the order of columns. Host arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix/csr.hpp"

namespace autospmv {

/// row_of[k] = the row that nonzero k lies in.
void expand_rows(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, std::int32_t* row_of);

/// The numbers of nonzeros [first, last), less than 2^32, in the order of their columns, which are less than `cols`;
/// those of one column in their own order.
std::vector<std::uint32_t> sort_by_column(const std::int32_t* col_idx, std::int64_t first, std::int64_t last,
                                          std::int64_t cols);

}  // namespace autospmv
