// Two kernels that follow each other, and rows that blocks share.
#pragma once

#include <cooperative_groups.h>

#include <utility>

#include "core/cuda/threads.cuh"
#include "formats/common/kernels/kernel.cuh"
#include "tests/benchmark/latency/data.hpp"
#include "tests/benchmark/latency/rungs.hpp"
#include "tests/benchmark/latency/steps.cuh"

namespace autospmv::latency {

__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

__device__ __forceinline__ void await_kernel_before() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// A product that lets the kernel after it begin, and asks for its own part of the matrix before it waits for the kernel
// before it.
template <int T, bool into_partial>
__global__ void early_product_kernel(const __grid_constant__ View v) {
  let_next_begin();
  const auto thread = static_cast<int>(cuda::global_thread());
  const int lane = thread % T;
  const bool inside = thread / T < v.rows;
  const Row row = inside ? by_offsets(v, thread / T) : Row{0, 0, 0};
  const int k = row.first + lane;
  const bool has_entry = k < row.last;
  const int column = has_entry ? load_stream(v.columns + k) : 0;
  const double value = has_entry ? load_stream(v.values + k) : 0;
  await_kernel_before();
  const double sum = formats::sum_lanes<T>(value * load_x(v.x + column));
  if (inside && lane == 0) (into_partial ? v.partial : v.y)[row.number] = sum;
}

static __global__ void empty_kernel() {}

// What solvers do between products; it lets nothing begin early.
static __global__ void update_kernel(const __grid_constant__ View v, int size) {
  const auto i = static_cast<int>(cuda::global_thread());
  if (i < size) v.partial[i] = v.partial[i] / 2 + 1;
}

// y[i] = the sum of `count` partial sums.
static __global__ void finish_kernel(const __grid_constant__ View v, int size, int count) {
  let_next_begin();
  await_kernel_before();
  const auto i = static_cast<int>(cuda::global_thread());
  if (i >= size) return;
  double sum = 0;
  for (int other = 0; other < count; ++other) sum += __ldcg(v.partial + i * count + other);
  v.y[i] = sum;
}

// What a block has of a row that is its own: right in thread 0.
template <int T>
__device__ __forceinline__ double sum_of_block(const View& v) {
  __shared__ double of_warp[formats::most_warps];
  const auto thread = static_cast<int>(cuda::global_thread());
  const double entry = thread / T < v.rows ? product(v, v.columns, by_offsets(v, thread / T), thread % T) : 0;
  const auto in_block = static_cast<int>(threadIdx.x);
  return formats::sum_threads(entry, in_block, static_cast<int>(blockDim.x), of_warp);
}

template <int T>
__global__ void block_sum_kernel(const __grid_constant__ View v, double* to) {
  const double sum = sum_of_block<T>(v);
  if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

template <int T>
__global__ void cluster_sum_kernel(const __grid_constant__ View v) {
#if __CUDA_ARCH__ >= 900
  __shared__ double of_block[cluster];
  namespace cg = cooperative_groups;
  const auto mine = cg::this_cluster();
  // The first block must have begun before others write to its shared memory.
  cg::cluster_group::arrival_token begun = mine.barrier_arrive();
  const double sum = sum_of_block<T>(v);
  mine.barrier_wait(std::move(begun));
  if (threadIdx.x == 0) mine.map_shared_rank(of_block, 0)[mine.block_rank()] = sum;
  mine.sync();
  if (mine.block_rank() != 0 || threadIdx.x != 0) return;
  double all = 0;
  for (const double part : of_block) all += part;
  v.y[blockIdx.x / cluster] = all;
#else
  static_cast<void>(v);
#endif
}

template <int T>
__global__ void last_block_kernel(const __grid_constant__ View v) {
  const double sum = sum_of_block<T>(v);
  if (threadIdx.x != 0) return;
  v.partial[blockIdx.x] = sum;
  __threadfence();
  if (atomicInc(v.done + blockIdx.x / cluster, cluster - 1) != cluster - 1) return;
  __threadfence();
  double all = 0;
  const auto first = blockIdx.x / cluster * cluster;
  for (unsigned other = 0; other < cluster; ++other) all += __ldcg(v.partial + first + other);
  v.y[blockIdx.x / cluster] = all;
}

}  // namespace autospmv::latency
