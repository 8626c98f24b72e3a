#pragma once

#include <cstdint>

#include "core/machine/host_device.hpp"

namespace autospmv::formats {

/// Entries of a row of CSR, by a pointer to its row offsets, or AnyOffsets.
template <class Offsets>
[[nodiscard]] AUTOSPMV_HD std::int64_t row_length(Offsets row_ptr, std::int64_t row) {
  return static_cast<std::int64_t>(row_ptr[row + 1]) - static_cast<std::int64_t>(row_ptr[row]);
}

}  // namespace autospmv::formats
