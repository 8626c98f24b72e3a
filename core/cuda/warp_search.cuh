// A search that the lanes of a warp share.
#pragma once

#include <cstdint>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"

namespace autospmv::cuda {

/// part_of() by all lanes of a warp together, where offsets[0] <= value: a step of one load leaves a 32nd of the parts,
/// so that a warp waits for five loads where each lane alone would wait for 25.
template <class Offset>
__device__ inline std::int64_t part_of_by_warp(const Offset* offsets, std::int64_t size, std::int64_t value) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  std::int64_t low = 0;
  while (size > 1) {
    const std::int64_t step = (size + warp_size - 1) / warp_size;
    const std::int64_t probe = lane * step;
    const unsigned before = __ballot_sync(all_lanes, static_cast<int>(probe < size && offsets[low + probe] <= value));
    const std::int64_t last = (31 - __clz(static_cast<int>(before))) * step;
    low += last;
    size = size - last < step ? size - last : step;
  }
  return low;
}

}  // namespace autospmv::cuda
