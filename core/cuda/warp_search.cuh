// A search that the lanes of a warp share.
#pragma once

#include <cstdint>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"

namespace autospmv::cuda {

/// partition_point() by all lanes of a warp together: a step of one load leaves a 32nd of the range, so that a warp
/// waits for five loads where each lane alone would wait for 25.
template <class Before>
__device__ inline std::int64_t partition_point_by_warp(std::int64_t low, std::int64_t high, const Before& before) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  while (low < high) {
    const std::int64_t step = (high - low + warp_size - 1) / warp_size;
    const std::int64_t probe = low + lane * step;
    const unsigned are_before = __ballot_sync(all_lanes, static_cast<int>(probe < high && before(probe)));
    if (are_before == 0) return low;
    const std::int64_t next = low + __popc(are_before) * step;
    low = next - step + 1;
    high = next < high ? next : high;
  }
  return low;
}

/// part_of() likewise, where offsets[0] <= value.
template <class Offset>
__device__ inline std::int64_t part_of_by_warp(const Offset* offsets, std::int64_t size, std::int64_t value) {
  return partition_point_by_warp(1, size, [=](std::int64_t i) { return offsets[i] <= value; }) - 1;
}

}  // namespace autospmv::cuda
