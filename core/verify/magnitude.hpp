// How large the values of a matrix are.
#pragma once

#include <cstdint>

#include "core/machine/device.hpp"

namespace autospmv {

/// The largest magnitude of the finite ones among `size` values in the memory of `place`; 0 where there are none. Reads
/// on the setup stream.
template <class T>
double largest_magnitude(const T* values, std::int64_t size, Place place);

}  // namespace autospmv
