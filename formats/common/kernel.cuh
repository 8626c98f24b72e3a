// Device-side pieces that every format's kernel needs.
#pragma once

#include <cstdint>

#include "core/cuda/launch.hpp"

namespace autospmv::formats {

/// Matrix entries are read once a product: they should not push x out of the caches.
template <class V>
__device__ __forceinline__ V load_stream(const V* address) {
  return __ldcs(address);
}

/// x is read again and again, through the read-only path.
template <class V>
__device__ __forceinline__ V load_x(const V* address) {
  return __ldg(address);
}

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

/// Warps of the largest block.
inline constexpr int most_warps = 1024 / cuda::warp_size;

/// The sum over `threads` neighbouring threads, a power of two, right in the first of them, whose `lane` is 0.
/// `of_warp` is shared and has room for one element a warp. More threads than a warp are those of a row in every row of
/// the block: all threads come here together.
template <class T>
__device__ __forceinline__ T sum_threads(T sum, int lane, int threads, T* of_warp) {
  for (int lanes = min(threads, cuda::warp_size) / 2; lanes > 0; lanes /= 2) {
    sum += __shfl_down_sync(0xffffffffU, sum, static_cast<unsigned>(lanes));
  }
  if (threads <= cuda::warp_size) return sum;
  const int warp = static_cast<int>(threadIdx.x) / cuda::warp_size;
  if (lane % cuda::warp_size == 0) of_warp[warp] = sum;
  __syncthreads();
  if (lane == 0) {
    for (int other = 1; other < threads / cuda::warp_size; ++other) sum += of_warp[warp + other];
  }
  __syncthreads();
  return sum;
}

}  // namespace autospmv::formats
