// The product, compiled for each type by itself: a process loads the kernels of a file together.
#pragma once

#include <type_traits>

#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/chunks.cuh"
#include "formats/common/kernels/kernel.cuh"
#include "formats/lanes/convert.hpp"
#include "formats/lanes/device.cuh"

namespace autospmv::formats::cuda_steps {

namespace {

constexpr int most_threads = 1024;

// Loads in flight a thread. Lanes have few entries, so the last ones are loaded together too.
constexpr int unroll = 8;

// The entries of one lane in the chunks first, first + step, ... before last: all loads of a batch before their first
// use. Padding is 0 x 0, never an element of x: to leave it out by a branch would keep the loads of x apart.
template <class T, class Columns, class Values>
__device__ __forceinline__ T sum_lane(const Columns& columns, const Values& values, std::int64_t first,
                                      std::int64_t last, int step, int lane, const T* x) {
  T sum = 0;
  for (auto chunk = first; chunk < last; chunk += unroll * step) {
    std::int32_t column[unroll];
    T value[unroll];
    T element[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const auto at = chunk + u * step;
      const auto slot = at * group_lanes + lane;
      column[u] = at < last ? columns.at(slot) : -1;
      value[u] = at < last ? values.at(slot) : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) element[u] = column[u] >= 0 ? load_x(x + column[u]) : T{0};
    if constexpr (std::is_same_v<Values, OneValue<T>>) {
#pragma unroll
      for (int u = 0; u < unroll; ++u) value[u] = column[u] >= 0 ? value[u] : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += value[u] * element[u];
  }
  return sum;
}

// The same of columns by chunk.
template <class T, class Values>
__device__ __forceinline__ T sum_lane(const ChunkColumns& columns, const Values& values, std::int64_t first,
                                      std::int64_t last, int step, int lane, const T* x) {
  const auto chunks = static_cast<int>(last - first);
  if (step == 1) return sum_chunks(columns, values, first, chunks, NextChunk{}, lane, x);
  return sum_chunks(columns, values, first, (chunks + step - 1) / step, step, lane, x);
}

// A warp a group; the first blocks take a group each, of one long row, and add up what their warps have of it.
template <class T, class Columns, class Values>
__global__ void __launch_bounds__(most_threads, 1)
    multiply_kernel(WarpEllView ell, Columns columns, Values values, T alpha, const T* x, T beta, T* __restrict__ y) {
  __shared__ T of_warp[most_threads / cuda::warp_size];
  const int lane = lane_of_thread();
  const int warp = static_cast<int>(threadIdx.x) / cuda::warp_size;
  const int warps = static_cast<int>(blockDim.x) / cuda::warp_size;
  const std::int64_t block = blockIdx.x;
  const bool is_long = block < ell.long_groups;
  const std::int64_t group = is_long ? block : ell.long_groups + (block - ell.long_groups) * warps + warp;
  if (group >= ell.groups) return cuda::await_before();
  const auto row = ell.row_of_lane[group * group_lanes + lane];
  const std::int64_t first = ell.group_chunks[group] + (is_long ? warp : 0);
  const std::int64_t last = ell.group_chunks[group + 1];
  columns.open(group, ell.policy);
  cuda::await_before();
  values.open(ell.policy);
  T sum = sum_lane(columns, values, first, last, is_long ? warps : 1, lane, x);
  bool stores = begins_row(row, lane);
  // Where every row has a single lane there is nothing to add.
  if (!__all_sync(cuda::all_lanes, stores)) sum = sum_row_lanes(sum, row, lane);
  if (is_long) {
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    stores = threadIdx.x == 0;
    for (int other = 1; stores && other < warps; ++other) sum += of_warp[other];
  }
  if (stores && row >= 0) store_row(y, row, alpha, sum, beta);
}

}  // namespace

template <class T>
void multiply(const WarpEll<T>& ell, T alpha, const T* x, T beta, T* y, Stream stream) {
  const std::int64_t warps = ell.block / cuda::warp_size;
  const std::int64_t blocks = ell.long_groups + (ell.groups - ell.long_groups + warps - 1) / warps;
  const auto grid = cuda::grid_for(blocks * ell.block, ell.block);
  const auto launch = [&](auto columns) {
    with_values(ell.values, [&](auto values) {
      cuda::launch_early(multiply_kernel<T, decltype(columns), decltype(values)>, grid, ell.block, 0, stream,
                         view_of(ell), columns, values, alpha, x, beta, y);
    });
  };
  if (ell.columns.bits == columns_by_chunk) {
    launch(ChunkColumns::of(ell.columns));
  } else {
    with_columns(ell.columns, launch);
  }
}

}  // namespace autospmv::formats::cuda_steps
