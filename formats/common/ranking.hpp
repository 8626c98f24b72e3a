// How predictions are compared: by the tuner between candidates, and by formats that plan parts of a matrix.
#pragma once

#include "formats/format.hpp"

namespace autospmv {

/// The roofline of the bytes, stretched by the imbalance: over the bandwidth, it is the time of a product without its
/// launches.
inline double stretched_bytes(const Cost& cost) { return cost.bytes * cost.imbalance; }

/// Within a format, predictions this close are alike, and the format's own order of its parameters says more.
inline constexpr double alike_factor = 1.3;

}  // namespace autospmv
