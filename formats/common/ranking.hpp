// How predictions are compared: by the tuner between candidates, and by formats that plan parts of a matrix.
#pragma once

#include "formats/format.hpp"

namespace autospmv {

/// The bytes that a device would move in the time of a product without its launches. What threads cost beside is given
/// in bytes too, so that no device has to be named: as an H200 has them.
inline double stretched_bytes(const Cost& cost) {
  constexpr double thread = 30;
  constexpr double step = 9;
  constexpr double longest_step = 7e5;
  const auto& walk = cost.walk;
  return cost.bytes * cost.imbalance + walk.threads * (thread + step * walk.steps) + longest_step * walk.longest;
}

/// Within a format, predictions this close are alike, and the format's own order of its parameters says more.
inline constexpr double alike_factor = 1.08;

}  // namespace autospmv
