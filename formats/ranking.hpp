// How predictions are compared: by the tuner between candidates, and by formats that plan parts of a matrix.
#pragma once

#include "formats/format.hpp"

namespace autospmv {

/// The bytes that the device would move in the time of a product without its launches.
inline double stretched_bytes(const Cost& cost, const Device& device) {
  const auto& walk = cost.walk;
  return cost.bytes * cost.imbalance + walk.threads * (device.bytes_of_thread + device.bytes_of_step * walk.steps) +
         device.bytes_of_longest_step * walk.longest;
}

/// Within a format, predictions this close are alike, and the format's own order of its parameters says more.
inline constexpr double alike_factor = 1.08;

}  // namespace autospmv
