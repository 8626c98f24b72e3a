// Device-side pieces that every format's kernel needs.
#pragma once

#include <cstdint>

#include "core/cuda/launch.hpp"
#include "formats/common/loads.hpp"

namespace autospmv::formats {

/// y = alpha sum + beta y; y is not read where beta is 0, for it may hold anything.
template <class T>
__device__ __forceinline__ void store_row(T* y, std::int64_t row, T alpha, T sum, T beta) {
  y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
}

/// The sum over `Lanes` neighbouring lanes, a power of two up to a warp; right in the first of them.
template <int Lanes, class T>
__device__ __forceinline__ T sum_lanes(T value) {
#pragma unroll
  for (int lanes = Lanes / 2; lanes > 0; lanes /= 2) {
    value += __shfl_down_sync(0xffffffffU, value, static_cast<unsigned>(lanes), Lanes);
  }
  return value;
}

}  // namespace autospmv::formats
