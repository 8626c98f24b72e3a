#pragma once

#include <cstdint>

#include "core/machine/host_device.hpp"

namespace autospmv::formats {

/// Entries of a row of CSR.
template <class Offset>
[[nodiscard]] AUTOSPMV_HD std::int64_t row_length(const Offset* row_ptr, std::int64_t row) {
  return static_cast<std::int64_t>(row_ptr[row + 1]) - static_cast<std::int64_t>(row_ptr[row]);
}

}  // namespace autospmv::formats
