// The one check of the arrays a matrix is made from.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "core/csr.hpp"
#include "core/device.hpp"

namespace autospmv {

/// The first row offset that decreases or leaves [0, nnz], and the first nonzero whose column is out of range.
struct PatternFault {
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::int64_t row = none;
  std::int64_t nonzero = none;
};

/// Throws InvalidArgument naming the first offence of a pattern that lies in the memory of `place`.
void check_pattern(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                   const std::int32_t* col_idx, Place place);

}  // namespace autospmv
