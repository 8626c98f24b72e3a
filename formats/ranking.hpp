// How predictions are compared: by the tuner between candidates, and by formats that plan parts of a matrix.
#pragma once

namespace autospmv {

/// Within a format, predictions this close are alike, and the format's own order of its parameters says more.
inline constexpr double alike_factor = 1.08;

}  // namespace autospmv
