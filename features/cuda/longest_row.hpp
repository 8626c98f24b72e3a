// The CUDA side of features/longest_row.hpp.
#pragma once

#include <cstdint>

#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv::cuda {

std::int64_t longest_row(RowOffsets row_ptr, std::int64_t rows, Place place);

}  // namespace autospmv::cuda
