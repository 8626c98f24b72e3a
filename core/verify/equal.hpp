// Whether two regions of memory hold the same bytes.
#pragma once

#include <cstddef>

#include "core/machine/device.hpp"

namespace autospmv {

/// Both lie in the memory of `place`; read on the setup stream, complete when this returns.
bool equal_bytes(const void* a, const void* b, std::size_t bytes, Place place);

}  // namespace autospmv
