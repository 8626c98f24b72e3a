// Searches by the threads of a kernel, and by those of the host.
#pragma once

#include <cstdint>

#include "core/host_device.hpp"

namespace autospmv::formats {

/// The last i in [0, size) with offsets[i] <= value, where offsets[0] <= value: the part of a partition that an element
/// lies in. Empty parts are passed over. Neighbouring threads that look for neighbours read the same offsets.
template <class Offset>
AUTOSPMV_HD inline std::int64_t part_of(const Offset* offsets, std::int64_t size, std::int64_t value) {
  std::int64_t low = 0;
  std::int64_t high = size;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    if (static_cast<std::int64_t>(offsets[middle]) <= value) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace autospmv::formats
