#include <type_traits>

#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/threads.cuh"
#include "core/cuda/warp_search.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/chunks.cuh"
#include "formats/common/kernels/kernel.cuh"
#include "formats/lanes/convert.hpp"
#include "formats/lanes/device.cuh"

namespace autospmv::formats::cuda_steps {

namespace {

constexpr int most_threads = 1024;

// Loads in flight a thread. Lanes have few entries, so the last ones are loaded together too.
constexpr int unroll = 8;

// What kernels read of a WarpEll besides columns and values, by value.
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

// bounds[c] = position of the first sorted row of class c or a later one; the last is the length of the longest row.
template <class Offset>
__global__ void find_classes_kernel(const Offset* row_ptr, const std::int32_t* order, std::int64_t rows,
                                    LaneClasses classes, std::int64_t* bounds) {
  const auto position = cuda::global_thread();
  if (position > rows) return;
  const auto length_at = [&](std::int64_t at) {
    return static_cast<std::int64_t>(row_ptr[order[at] + 1]) - static_cast<std::int64_t>(row_ptr[order[at]]);
  };
  const int before = position == 0 ? -1 : classes.class_of(length_at(position - 1));
  const int here = position == rows ? classes.count : classes.class_of(length_at(position));
  for (int at = before + 1; at <= here; ++at) bounds[at] = position;
  if (position == 0) bounds[classes.count + 1] = length_at(0);
}

template <class Offset>
__global__ void assign_lanes_kernel(const Offset* row_ptr, const std::int32_t* order, ClassTable table,
                                    std::int64_t groups, std::int32_t* row_of_lane, std::int32_t* group_chunks) {
  const auto thread = cuda::global_thread();
  const auto group = thread / group_lanes;
  // The place of the total, which the scan of the chunks sets.
  if (thread == groups * group_lanes) group_chunks[groups] = 0;
  if (group >= groups) return;
  const int lane = lane_of_thread();
  const auto position = table.position_of(group, lane);
  const std::int32_t row = position >= 0 ? order[position] : -1;
  row_of_lane[thread] = row;
  if (lane != 0) return;
  // The first row of a group is its longest.
  const std::int64_t lanes = table.classes.lanes[table.class_of_group(group)];
  const auto length = row_length(row_ptr, row);
  group_chunks[group] = static_cast<std::int32_t>((length + lanes - 1) / lanes);
}

// A warp a few neighbouring chunks, however long their rows are: the search for the first of their groups costs more
// than a chunk.
constexpr int chunks_of_warp = 8;

template <class T, class Offset>
__global__ void fill_kernel(CsrView<T> matrix, const Offset* row_ptr, WarpEllView ell, std::int64_t chunks,
                            std::int32_t* columns, T* values) {
  constexpr int in_flight = 4;
  const auto begin = cuda::global_thread() / group_lanes * chunks_of_warp;
  if (begin >= chunks) return;
  const int lane = lane_of_thread();
  const auto end = min(static_cast<long long>(begin + chunks_of_warp), static_cast<long long>(chunks));
  auto group = cuda::part_of_by_warp(ell.group_chunks, ell.groups, begin);
  for (auto chunk = begin; chunk < end;) {
    const std::int64_t first_chunk = ell.group_chunks[group];
    const auto last_chunk = min(static_cast<long long>(ell.group_chunks[group + 1]), end);
    const auto row = ell.row_of_lane[group * group_lanes + lane];
    const auto lanes = lanes_of_row(row, lane);
    const std::int64_t stop = row >= 0 ? static_cast<std::int64_t>(row_ptr[row + 1]) : 0;
    std::int64_t source = row >= 0 ? static_cast<std::int64_t>(row_ptr[row]) : 0;
    source += (chunk - first_chunk) * lanes.count() + (lane - lanes.first);
    for (; chunk < last_chunk; chunk += in_flight) {
      std::int32_t column[in_flight];
      T value[in_flight];
#pragma unroll
      for (int i = 0; i < in_flight; ++i, source += lanes.count()) {
        const bool inside = chunk + i < last_chunk && source < stop;
        column[i] = inside ? matrix.col_idx[source] : -1;
        value[i] = inside ? matrix.values[source] : T{0};
      }
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        if (chunk + i >= last_chunk) break;
        const auto slot = (chunk + i) * group_lanes + lane;
        if (columns != nullptr) columns[slot] = column[i];
        values[slot] = value[i];
      }
    }
    chunk = last_chunk;
    ++group;
  }
}

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
void find_classes(const CsrView<T>& matrix, const Array<std::int32_t>& order, ClassTable& table, Stream stream) {
  const auto count = static_cast<std::size_t>(table.classes.count);
  Array<std::int64_t> bounds(count + 2, order.place());
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    find_classes_kernel<<<cuda::grid_for(matrix.rows + 1), cuda::default_block, 0, stream.handle>>>(
        row_ptr, order.data(), matrix.rows, table.classes, bounds.data());
  });
  cuda::check_launch();
  const auto found = bounds.to_vector();
  for (std::size_t at = 0; at <= count; ++at) table.first_row[at] = found[at];
  table.longest = found[count + 1];
}

template <class T>
void assign_lanes(const CsrView<T>& matrix, const Array<std::int32_t>& order, const ClassTable& table, WarpEll<T>& ell,
                  Stream stream) {
  const auto grid = cuda::grid_for(ell.groups * group_lanes + 1);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    assign_lanes_kernel<<<grid, cuda::default_block, 0, stream.handle>>>(
        row_ptr, order.data(), table, ell.groups, ell.row_of_lane.data(), ell.group_chunks.data());
  });
  cuda::check_launch();
}

template <class T>
void fill(const CsrView<T>& matrix, const WarpEll<T>& ell, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream) {
  const auto warps = (ell.chunks + chunks_of_warp - 1) / chunks_of_warp;
  const auto grid = cuda::grid_for(warps * group_lanes);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    fill_kernel<<<grid, cuda::default_block, 0, stream.handle>>>(matrix, row_ptr, view_of(ell), ell.chunks,
                                                                 columns.data(), values.data());
  });
  cuda::check_launch();
}

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

#define AUTOSPMV_WARP_ELL(T)                                                                                         \
  template void find_classes(const CsrView<T>&, const Array<std::int32_t>&, ClassTable&, Stream);                    \
  template void assign_lanes(const CsrView<T>&, const Array<std::int32_t>&, const ClassTable&, WarpEll<T>&, Stream); \
  template void fill(const CsrView<T>&, const WarpEll<T>&, Array<std::int32_t>&, Array<T>&, Stream);                 \
  template void multiply(const WarpEll<T>&, T, const T*, T, T*, Stream);
AUTOSPMV_WARP_ELL(float)
AUTOSPMV_WARP_ELL(double)
#undef AUTOSPMV_WARP_ELL

}  // namespace autospmv::formats::cuda_steps
