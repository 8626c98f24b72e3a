// The product, for each number of slots a lane.
#pragma once

#include <type_traits>

#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/common/kernels/row_parts.cuh"
#include "formats/lanes/device.cuh"
#include "formats/lanes/ell_packed/ell_packed.hpp"

namespace autospmv::formats::ell_packed::device {

namespace {

using namespace formats::device;

constexpr int most_threads = 256;
constexpr int most_warps_of_block = most_threads / cuda::warp_size;

// Blocks a multiprocessor that the compiler is to make room for: all, as long as it need not wait for one load before
// the next for want of registers.
constexpr int resident_blocks(int entries) { return cuda::resident_blocks(entries <= 4 ? 8 : 4, most_threads); }

// So many that every warp of a large device has several, one after another.
constexpr std::int64_t many_groups = 25'000;

// What kernels read besides columns and values, by value; first what all threads need.
template <class T>
struct View {
  const T* x;
  T* y;
  T alpha;
  T beta;
  const std::int32_t* group_rows;
  const std::uint8_t* row_of_lane;
  CachePolicy policy;
  int groups;
  int long_groups;
  int long_block_count;
  const LongBlock* long_blocks;
  PartSumsView<T> parts;

  __device__ __forceinline__ void store(std::int32_t row, T sum) const { store_row(y, row, alpha, sum, beta); }
};

// What a lane has of a group.
template <int entries>
struct LaneColumns {
  static constexpr int pairs = entries / 2;

  std::int64_t slot;
  Two<std::int32_t> column[pairs];

  template <class Columns>
  __device__ __forceinline__ void load(Columns columns, int group, int lane, CachePolicy policy) {
    slot = static_cast<std::int64_t>(group) * (group_lanes * entries) + 2 * lane;
    columns.open(group, policy);
#pragma unroll
    for (int i = 0; i < pairs; ++i) column[i] = columns.two_at(slot + i * 2 * group_lanes);
  }

  // All loads before their first use. Padding is 0 x 0, never an element of x: to leave it out by a branch would keep
  // the loads of x apart.
  template <class T, class Values>
  __device__ __forceinline__ T sum(const Values& values, const T* x) const {
    Two<T> value[pairs];
    Two<T> element[pairs];
#pragma unroll
    for (int i = 0; i < pairs; ++i) value[i] = values.two_at(slot + i * 2 * group_lanes);
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      element[i].first = column[i].first >= 0 ? load_x(x + column[i].first) : T{0};
      element[i].second = column[i].second >= 0 ? load_x(x + column[i].second) : T{0};
    }
    // Two sums, for one addition after another takes as long as a load from the cache.
    T sum = 0;
    T other = 0;
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      // Where all have one value, padding has it too, be it infinite.
      constexpr bool one_value = std::is_same_v<Values, OneValue<T>>;
      sum += (one_value && column[i].first < 0 ? T{0} : value[i].first) * element[i].first;
      other += (one_value && column[i].second < 0 ? T{0} : value[i].second) * element[i].second;
    }
    return sum + other;
  }
};

// The first blocks have rows of several groups each: sums of warps meet in shared memory, and those of the blocks that
// share a row at the last of them.
template <int entries, class T, class Columns, class Values>
__device__ __forceinline__ void multiply_long(const View<T>& ell, const Columns& columns, Values values) {
  __shared__ T of_warp[most_warps];
  __shared__ std::int32_t row_of_warp[most_warps_of_block];
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = lane_of_thread();
  const int warp = thread / cuda::warp_size;
  const int warps = static_cast<int>(blockDim.x) / cuda::warp_size;
  const LongBlock of = ell.long_blocks[blockIdx.x];
  const auto first = of.first_group + warp;
  const auto row = ell.group_rows[first];
  LaneColumns<entries> of_lane;
  of_lane.load(columns, first, lane, ell.policy);
  cuda::await_before();
  values.open(ell.policy);
  T sum = of_lane.sum(values, ell.x);
  for (int step = 1; step < of.steps; ++step) {
    of_lane.load(columns, first + step * warps, lane, ell.policy);
    sum += of_lane.sum(values, ell.x);
  }
  sum = sum_lanes<cuda::warp_size>(sum);
  if (lane == 0) {
    of_warp[warp] = sum;
    row_of_warp[warp] = row;
  }
  __syncthreads();
  // The first thread of the block has a row in any case; where the block has steps, or a part, it is the only one.
  const bool alone = of.steps > 1 || of.parts > 1;
  const auto mine = thread < warps ? row_of_warp[thread] : -1;
  const bool begins = thread == 0 || (thread < warps && mine >= 0 && row_of_warp[thread - 1] != mine);
  if (begins && (thread == 0 || !alone)) {
    sum = of_warp[thread];
    for (int other = thread + 1; other < warps && (alone || row_of_warp[other] == mine); ++other) sum += of_warp[other];
    if (of.parts == 1) ell.store(mine, sum);
  }
  if (of.parts == 1) return;
  __syncthreads();
  finish_part(ell.parts, of.first_block, of.parts, sum, of_warp, [&](T total) { ell.store(mine, total); });
}

// A warp at_once groups, whose loads are under way together.
template <int entries, int at_once, class T, class Columns, class Values>
__global__ void __launch_bounds__(most_threads, resident_blocks(entries))
    multiply_kernel(View<T> ell, Columns columns, Values values) {
  const int block = static_cast<int>(blockIdx.x) - ell.long_block_count;
  if (block < 0) return multiply_long<entries>(ell, columns, values);
  const int lane = lane_of_thread();
  const int warps = static_cast<int>(blockDim.x) / cuda::warp_size;
  const int warp = static_cast<int>(threadIdx.x) / cuda::warp_size;
  const int first = ell.long_groups + (block * warps + warp) * at_once;
  if (first >= ell.groups) return cuda::await_before();
  int of_group[at_once];
  std::int32_t group_row[at_once];
  LaneColumns<entries> of_lane[at_once];
#pragma unroll
  for (int i = 0; i < at_once; ++i) {
    // Behind the last group that one again, which stores nothing.
    const int group = min(first + i, ell.groups - 1);
    of_group[i] = load_stream(ell.row_of_lane + std::int64_t{group} * group_lanes + lane, ell.policy);
    group_row[i] = load_stream(ell.group_rows + group, ell.policy);
    of_lane[i].load(columns, group, lane, ell.policy);
    if (group < first + i) of_group[i] = no_row;
  }
  cuda::await_before();
  values.open(ell.policy);
  T sum[at_once];
#pragma unroll
  for (int i = 0; i < at_once; ++i) sum[i] = of_lane[i].sum(values, ell.x);
#pragma unroll
  for (int i = 0; i < at_once; ++i) {
    const bool begins = begins_row(of_group[i], lane);
    // Where every row has a single lane there is nothing to add.
    if (!__all_sync(cuda::all_lanes, begins)) sum[i] = sum_row_lanes(sum[i], of_group[i], lane);
    if (begins && of_group[i] != no_row) ell.store(group_row[i] + of_group[i], sum[i]);
  }
}

}  // namespace

template <int entries, class T>
void multiply_entries(const PackedEll<T>& ell, T alpha, const T* x, T beta, T* y, Stream stream) {
  const auto long_block_count = static_cast<std::int64_t>(ell.long_blocks.size());
  const auto short_groups = ell.groups - ell.long_groups();
  const auto policy = policy_for<T>(ell.bytes(), ell.rows, ell.cols);
  const auto launch = [&](PartSumsView<T> parts) {
    const View<T> view{.x = x,
                       .y = y,
                       .alpha = alpha,
                       .beta = beta,
                       .group_rows = ell.group_rows.data(),
                       .row_of_lane = ell.row_of_lane.data(),
                       .policy = policy,
                       .groups = static_cast<int>(ell.groups),
                       .long_groups = static_cast<int>(ell.long_groups()),
                       .long_block_count = static_cast<int>(long_block_count),
                       .long_blocks = ell.long_blocks.data(),
                       .parts = parts};
    const auto launch_kernel = [&](auto at_once) {
      const auto groups_of_block = std::int64_t{ell.layout.warps()} * at_once();
      const auto blocks = long_block_count + (short_groups + groups_of_block - 1) / groups_of_block;
      with_columns(ell.columns, [&](auto columns) {
        with_values(ell.values, [&](auto values) {
          cuda::launch_early(multiply_kernel<entries, at_once(), T, decltype(columns), decltype(values)>,
                             cuda::grid_for(blocks * ell.layout.block, ell.layout.block), ell.layout.block, 0, stream,
                             view, columns, values);
        });
      });
    };
    // Of two slots a lane, one group is too little for a warp to have under way.
    if constexpr (entries == 2) {
      if (short_groups >= many_groups) return launch_kernel(std::integral_constant<int, 2>{});
    }
    launch_kernel(std::integral_constant<int, 1>{});
  };
  if (!ell.parts) return launch({nullptr, nullptr});
  ell.parts->use(stream, [&](PartSums<T>& parts) { launch({parts.sums.data(), parts.finished.data()}); });
}

}  // namespace autospmv::formats::ell_packed::device
