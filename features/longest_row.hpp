// The one feature that is worth its time even where no other is.
#pragma once

#include <cstdint>

#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv {

/// Nonzeros of the longest row of a matrix that lies in the memory of `place`; 0 without rows. Runs on the setup
/// stream, complete when it returns. Throws DeviceError.
std::int64_t longest_row(RowOffsets row_ptr, std::int64_t rows, Place place);

}  // namespace autospmv
