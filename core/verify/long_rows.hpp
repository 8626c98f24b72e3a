// Rows so long that rounding hides a nonzero of theirs, and what is known of them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv {

struct LongRow {
  std::int64_t row = 0;
  std::int64_t first = 0;  ///< of its nonzeros
  std::int64_t length = 0;
  std::int64_t repeats = 0;  ///< how many of its nonzeros share a column at most; 0: not known
};

/// The rows of more than `least` nonzeros, in order, of a matrix that lies in the memory of `place`. Counting in rows
/// whose columns do not increase takes a vector of as many integers as the matrix has columns, on the host.
template <class T>
std::vector<LongRow> long_rows(const CsrView<T>& matrix, std::int64_t least, Place place);

}  // namespace autospmv
