// Which thread of a grid runs, and which lanes of a warp take part.
#pragma once

#include <concepts>
#include <cstdint>

#include "core/cuda/launch.hpp"

namespace autospmv::cuda {

/// The mask of a whole warp.
inline constexpr unsigned all_lanes = 0xffffffffU;

/// This thread's place in the grid.
__device__ __forceinline__ std::int64_t global_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// Threads of the grid: the stride of kernels that walk any number of elements.
__device__ __forceinline__ std::int64_t thread_count() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

/// So many blocks of so many threads, or as many of them as a multiprocessor of the architecture that this is compiled
/// for has room for: what __launch_bounds__ may ask for.
constexpr int resident_blocks(int wanted, int threads) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
  constexpr int most_threads = 2048;
#elif __CUDA_ARCH__ < 800
  constexpr int most_threads = 1024;
#else
  constexpr int most_threads = 1536;
#endif
  return wanted < most_threads / threads ? wanted : most_threads / threads;
}

/// The one number of those that the lanes of a warp have which is left when choose(a, b) decides between any two, in
/// all of them.
template <class V, class Choose>
__device__ __forceinline__ V choose_of_warp(V number, const Choose& choose) {
  for (int distance = warp_size / 2; distance > 0; distance /= 2) {
    number = choose(number, __shfl_xor_sync(all_lanes, number, distance));
  }
  return number;
}

/// Whether a warp has an instruction for it.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <class V>
inline constexpr bool finds_least_at_once = sizeof(V) == 4;
#else
template <class V>
inline constexpr bool finds_least_at_once = false;
#endif

/// The least of the integers that the lanes of a warp have, in all of them.
template <std::integral V>
__device__ __forceinline__ V least_of_warp(V number) {
  if constexpr (finds_least_at_once<V>) {
    return __reduce_min_sync(all_lanes, number);
  } else {
    return choose_of_warp(number, [](V a, V b) { return min(a, b); });
  }
}

/// What choose(a, b) leaves of the numbers of a block's threads, on the first of them. Were every warp to change one
/// word of all by itself, a whole device would queue for it.
template <class V, class Choose>
__device__ __forceinline__ V choose_of_block(V number, const Choose& choose) {
  __shared__ V of_warps[warp_size];
  const unsigned warps = blockDim.x / warp_size;
  const V of_warp = choose_of_warp(number, choose);
  __syncthreads();  // those of the last call were read
  if (threadIdx.x % warp_size == 0) of_warps[threadIdx.x / warp_size] = of_warp;
  __syncthreads();
  V of_block = of_warps[0];
  for (unsigned warp = 1; warp < warps; ++warp) of_block = choose(of_block, of_warps[warp]);
  return of_block;
}

}  // namespace autospmv::cuda
