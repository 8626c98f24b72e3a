// The one check of the arrays a matrix is made from.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "core/machine/device.hpp"
#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv {

/// The first row offset that decreases or leaves [0, nnz], and the first nonzero whose column is out of range. Whoever
/// looks at every row also sees the longest.
struct PatternFault {
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::int64_t row = none;
  std::int64_t nonzero = none;
  std::int64_t longest_row = 0;  ///< its nonzeros, where no offset is at fault
};

/// A 64-bit column in 32 bits. One that does not fit becomes a number that no matrix has a column of, so that the check
/// finds it: no matrix has more than 2^31 - 1 columns.
AUTOSPMV_HD inline std::int32_t narrow_column(std::int64_t column) {
  constexpr std::int64_t most = 0x7fffffff;
  if (column < 0) return -1;
  return static_cast<std::int32_t>(column < most ? column : most);
}

/// Throws InvalidArgument naming the first offence of a pattern that lies in the memory of `place`; else the nonzeros
/// of the longest row.
std::int64_t check_pattern(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                           const std::int32_t* col_idx, Place place);

}  // namespace autospmv
