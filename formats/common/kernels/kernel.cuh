// Device-side pieces that every format's kernel needs.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/loads.hpp"

namespace autospmv::formats {

/// Loads neighbouring elements, in words of up to 16 bytes: the address is a multiple of all of their size.
template <int Rows, class T, class LoadWord>
__device__ __forceinline__ void load_neighbours(const T* address, T (&element)[Rows], const LoadWord& load_word) {
  if constexpr (Rows == 1) {
    element[0] = load_word(address);
  } else {
    constexpr int bytes = Rows * static_cast<int>(sizeof(T));
    using Word = std::conditional_t<bytes % sizeof(int4) == 0, int4, int2>;
    constexpr int count = bytes / static_cast<int>(sizeof(Word));
    Word words[count];
#pragma unroll
    for (int w = 0; w < count; ++w) words[w] = load_word(reinterpret_cast<const Word*>(address) + w);
    std::memcpy(element, words, bytes);
  }
}

/// y = alpha sum + beta y; y is not read where beta is 0, for it may hold anything.
template <class T>
__device__ __forceinline__ void store_row(T* y, std::int64_t row, T alpha, T sum, T beta) {
  y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
}

/// The sum over so many neighbouring lanes, a power of two up to a warp; right in the first of them.
template <class T>
__device__ __forceinline__ T sum_lanes(T value, int lanes) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value += __shfl_down_sync(cuda::all_lanes, value, static_cast<unsigned>(distance));
  }
  return value;
}

/// The sum over `Lanes` neighbouring lanes, the same for a number that the compiler knows.
template <int Lanes, class T>
__device__ __forceinline__ T sum_lanes(T value) {
#pragma unroll
  for (int lanes = Lanes / 2; lanes > 0; lanes /= 2) {
    value += __shfl_down_sync(cuda::all_lanes, value, static_cast<unsigned>(lanes), Lanes);
  }
  return value;
}

/// Warps of the largest block.
inline constexpr int most_warps = 1024 / cuda::warp_size;

/// The sum over `threads` neighbouring threads, right in the first of them, whose `lane` is 0: a power of two up to a
/// warp, or whole warps. `of_warp` is shared and has room for one element a warp. More threads than a warp are those of
/// a row in every row of the block: all threads come here together.
template <class T>
__device__ __forceinline__ T sum_threads(T sum, int lane, int threads, T* of_warp) {
  sum = sum_lanes(sum, min(threads, cuda::warp_size));
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
