// The segmented sum of a warp.
#pragma once

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"

namespace autospmv::formats {

/// Inclusive sums over neighbouring lanes of the same segment, by all lanes of a warp; `heads` has a bit for every lane
/// that begins a segment, lane 0 among them.
template <class T>
__device__ __forceinline__ T segmented_sum(T sum, unsigned heads, int lane) {
  const unsigned heads_so_far = heads & (cuda::all_lanes >> (cuda::warp_size - 1 - lane));
  const int distance_to_head = lane - (cuda::warp_size - 1 - __clz(static_cast<int>(heads_so_far)));
#pragma unroll
  for (int distance = 1; distance < cuda::warp_size; distance *= 2) {
    const T before = __shfl_up_sync(cuda::all_lanes, sum, static_cast<unsigned>(distance));
    if (distance <= distance_to_head) sum += before;
  }
  return sum;
}

}  // namespace autospmv::formats
