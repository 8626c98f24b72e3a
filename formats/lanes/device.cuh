// The threads of a warp as the lanes of a group, those of them that work for one row, and what is stored.
#pragma once

#include <cstdint>

#include "core/cuda/threads.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/loads.hpp"
#include "formats/lanes/storage.hpp"

namespace autospmv::formats {

static_assert(group_lanes == cuda::warp_size);

__device__ __forceinline__ int lane_of_thread() { return static_cast<int>(threadIdx.x % group_lanes); }

/// Whether a lane is the first of those that work for its row. For whole warps.
__device__ __forceinline__ bool begins_row(std::int32_t row, int lane) {
  const auto before = __shfl_up_sync(cuda::all_lanes, row, 1);
  return lane == 0 || before != row;
}

/// The lanes [first, last) that work for a lane's row.
struct LanesOfRow {
  int first;
  int last;

  [[nodiscard]] __device__ int count() const { return last - first; }
};

/// For whole warps.
__device__ __forceinline__ LanesOfRow lanes_of_row(std::int32_t row, int lane) {
  const unsigned begins = __ballot_sync(cuda::all_lanes, begins_row(row, lane));
  const unsigned up_to_mine = cuda::all_lanes >> (group_lanes - 1 - lane);
  const unsigned after = begins & ~up_to_mine;
  return {group_lanes - 1 - __clz(static_cast<int>(begins & up_to_mine)),
          after == 0 ? group_lanes : __ffs(static_cast<int>(after)) - 1};
}

/// The sum over the lanes of a row, right in the first of them, whatever their number: each step halves how many of
/// them hold a part. For whole warps.
template <class T>
__device__ __forceinline__ T sum_row_lanes(T sum, std::int32_t row, int lane) {
#pragma unroll
  for (int distance = group_lanes / 2; distance > 0; distance /= 2) {
    const T other = __shfl_down_sync(cuda::all_lanes, sum, static_cast<unsigned>(distance));
    const auto other_row = __shfl_down_sync(cuda::all_lanes, row, static_cast<unsigned>(distance));
    if (lane + distance < group_lanes && other_row == row) sum += other;
  }
  return sum;
}

/// What kernels read of a WarpEll besides columns and values, by value.
struct WarpEllView {
  std::int64_t groups;
  std::int64_t long_groups;
  const std::int32_t* group_chunks;
  const std::int32_t* row_of_lane;
  CachePolicy policy;
};

template <class T>
WarpEllView view_of(const WarpEll<T>& ell) {
  return {ell.groups, ell.long_groups, ell.group_chunks.data(), ell.row_of_lane.data(),
          policy_for<T>(ell.bytes(), ell.rows, ell.cols)};
}

}  // namespace autospmv::formats
