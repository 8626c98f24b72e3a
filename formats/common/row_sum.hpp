// The product of one row on the host.
#pragma once

#include <cstdint>

#include "formats/common/simd.hpp"

namespace autospmv::formats {

// One row in `Lanes` partial sums: a single one would wait for its own last addition at every nonzero. From an array
// of them the compiler makes vectors and gathers, which pay for long rows only; two and four are spelled out, so that
// they stay scalar loads.
template <int Lanes, class T>
AUTOSPMV_INLINE T row_sum(const T* values, const std::int32_t* columns, std::int64_t length, const T* x) {
  T sum = 0;
  std::int64_t k = 0;
  if constexpr (Lanes == 2) {
    T other = 0;
    for (; k + 2 <= length; k += 2) {
      sum += values[k] * x[columns[k]];
      other += values[k + 1] * x[columns[k + 1]];
    }
    sum += other;
  } else if constexpr (Lanes == 4) {
    T second = 0;
    T third = 0;
    T fourth = 0;
    for (; k + 4 <= length; k += 4) {
      sum += values[k] * x[columns[k]];
      second += values[k + 1] * x[columns[k + 1]];
      third += values[k + 2] * x[columns[k + 2]];
      fourth += values[k + 3] * x[columns[k + 3]];
    }
    sum = (sum + second) + (third + fourth);
  } else if constexpr (Lanes > 4) {
    T partial[Lanes] = {};
    for (; k + Lanes <= length; k += Lanes) {
      for (int lane = 0; lane < Lanes; ++lane) partial[lane] += values[k + lane] * x[columns[k + lane]];
    }
    for (int width = Lanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) partial[lane] += partial[lane + width];
    }
    sum = partial[0];
  }
  for (; k < length; ++k) sum += values[k] * x[columns[k]];
  return sum;
}

}  // namespace autospmv::formats
