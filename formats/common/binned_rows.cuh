// The sum of one row by however many threads, for the kernels of rows in bins.
#pragma once

#include "formats/common/binned_rows_steps.hpp"
#include "formats/common/kernel.cuh"

namespace autospmv::formats {

// Entries lane, lane + threads, ... of a row, a batch of loads before the first is used. Most rows are a single batch
// that is not full, so there is no second loop for what is left of one.
template <class T, class Values>
__device__ __forceinline__ T partial_sum(const std::int32_t* columns, const Values& values, std::int64_t first,
                                         std::int64_t last, std::int64_t lane, std::int64_t threads, const T* x) {
  constexpr int unroll = 4;
  T sum = 0;
  for (std::int64_t k = first + lane; k < last; k += unroll * threads) {
    std::int32_t column[unroll];
    T value[unroll];
    T element[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t at = k + u * threads;
      column[u] = at < last ? load_stream(columns + at) : -1;
      value[u] = at < last ? values.at(at) : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) element[u] = column[u] >= 0 ? load_x(x + column[u]) : T{0};
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += value[u] * element[u];
  }
  return sum;
}

inline constexpr int most_warps = 1024 / cuda::warp_size;

// The sum over groups of so many neighbouring threads, a power of two or the whole block, right in the first of each.
// All threads of a block come here together, with the same number.
template <class T>
__device__ __forceinline__ T sum_threads(T sum, int threads, T* of_warp) {
  for (int lanes = min(threads, cuda::warp_size) / 2; lanes > 0; lanes /= 2) {
    sum += __shfl_down_sync(0xffffffffU, sum, static_cast<unsigned>(lanes));
  }
  if (threads <= cuda::warp_size) return sum;
  const int mine = static_cast<int>(threadIdx.x);
  const int warp = mine / cuda::warp_size;
  if (mine % cuda::warp_size == 0) of_warp[warp] = sum;
  __syncthreads();
  if (mine % threads == 0) {
    for (int other = 1; other < threads / cuda::warp_size; ++other) sum += of_warp[warp + other];
  }
  return sum;
}

}  // namespace autospmv::formats
