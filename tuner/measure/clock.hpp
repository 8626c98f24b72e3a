// The clock of this host's measurements.
#pragma once

#include <chrono>

namespace autospmv {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace autospmv
