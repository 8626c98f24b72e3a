#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/cuda/warp_search.cuh"
#include "formats/lanes/convert.hpp"
#include "formats/lanes/device.cuh"

namespace autospmv::formats::cuda_steps {

namespace {

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

}  // namespace

template <class T>
void find_classes(const CsrView<T>& matrix, const Array<std::int32_t>& order, ClassTable& table, Stream stream) {
  const auto count = static_cast<std::size_t>(table.classes.count);
  Array<std::int64_t> bounds(count + 2, order.place());
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    find_classes_kernel<<<cuda::grid_for(matrix.rows + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
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
    assign_lanes_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(
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
    fill_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(matrix, row_ptr, view_of(ell), ell.chunks,
                                                                        columns.data(), values.data());
  });
  cuda::check_launch();
}

#define AUTOSPMV_WARP_ELL(T)                                                                                         \
  template void find_classes(const CsrView<T>&, const Array<std::int32_t>&, ClassTable&, Stream);                    \
  template void assign_lanes(const CsrView<T>&, const Array<std::int32_t>&, const ClassTable&, WarpEll<T>&, Stream); \
  template void fill(const CsrView<T>&, const WarpEll<T>&, Array<std::int32_t>&, Array<T>&, Stream);
AUTOSPMV_WARP_ELL(float)
AUTOSPMV_WARP_ELL(double)
#undef AUTOSPMV_WARP_ELL

}  // namespace autospmv::formats::cuda_steps
