// Giving up from outside, between trials and between samples.
#pragma once

#include "autospmv/error.hpp"
#include "autospmv/options.hpp"

namespace autospmv {

/// Throws Interrupted where there is somebody to ask who says so.
inline void give_up_if(const Stop& stop) {
  if (stop && stop()) throw Interrupted("the tuning was interrupted");
}

}  // namespace autospmv
