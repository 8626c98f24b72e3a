// Which thread of a grid runs, and which lanes of a warp take part.
#pragma once

#include <cstdint>

namespace autospmv::cuda {

/// The mask of a whole warp.
inline constexpr unsigned all_lanes = 0xffffffffU;

/// This thread's place in the grid.
__device__ __forceinline__ std::int64_t global_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// Threads of the grid: the stride of kernels that walk any number of elements.
__device__ __forceinline__ std::int64_t thread_count() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

}  // namespace autospmv::cuda
