#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/any_offsets.hpp"
#include "formats/common/kernels/dispatch.hpp"
#include "formats/lanes/device.cuh"
#include "formats/lanes/ell_packed/ell_packed.hpp"

namespace autospmv::formats::ell_packed::device {

namespace {

using namespace formats::device;

// A warp a window: it loads 32 lengths at a time, and every lane follows where each of their rows goes. Long rows are
// counted. One window more, without rows, gets the number of all when windows are added up.
__global__ void pack_kernel(AnyOffsets offsets, std::int64_t rows, Layout layout, std::int64_t windows,
                            std::int32_t* lane_of_row, WindowCounts* counts) {
  const auto window = cuda::global_thread() / cuda::warp_size;
  if (window > windows) return;
  const int lane = lane_of_thread();
  Packer packer;
  int long_count = 0;
  const auto last = min(static_cast<long long>(rows), static_cast<long long>((window + 1) * window_rows));
  for (auto first = window * window_rows; first < last; first += cuda::warp_size) {
    const auto row = first + lane;
    const auto length = row < last ? row_length(offsets, row) : 0;
    const bool is_long = layout.is_long(length);
    const int lanes = row < last && !is_long ? layout.lanes_of(length) : 0;
    long_count += __popc(__ballot_sync(cuda::all_lanes, is_long));
    std::int64_t mine = -1;
    for (int other = 0; other < cuda::warp_size; ++other) {
      const int of_other = __shfl_sync(cuda::all_lanes, lanes, other);
      if (of_other == 0) continue;
      const auto place = packer.place(of_other);
      if (other == lane) mine = place;
    }
    if (row < last) lane_of_row[row] = static_cast<std::int32_t>(mine);
  }
  if (lane == 0) counts[window] = WindowCounts::of(packer.units(), long_count);
}

// A warp a window, whose long rows come after so many others.
__global__ void list_long_kernel(AnyOffsets offsets, std::int64_t rows, Layout layout, std::int64_t windows,
                                 const WindowCounts* before, LongRow* found) {
  const auto window = cuda::global_thread() / cuda::warp_size;
  if (window >= windows) return;
  const int lane = lane_of_thread();
  std::int64_t next = before[window].long_rows();
  if (next == before[window + 1].long_rows()) return;
  const auto last = min(static_cast<long long>(rows), static_cast<long long>((window + 1) * window_rows));
  for (auto first = window * window_rows; first < last; first += cuda::warp_size) {
    const auto row = first + lane;
    const auto length = row < last ? row_length(offsets, row) : 0;
    const unsigned are_long = __ballot_sync(cuda::all_lanes, layout.is_long(length));
    if (layout.is_long(length)) {
      found[next + __popc(are_long & ((1U << lane) - 1))] = LongRow::of(layout, row, length);
    }
    next += __popc(are_long);
  }
}

// A block a row.
__global__ void assign_long_kernel(const LongRow* rows, std::int32_t* group_rows, std::uint8_t* row_of_lane,
                                   std::int32_t* part_of_group) {
  const auto row = rows[blockIdx.x];
  for (std::int64_t lane = threadIdx.x; lane < std::int64_t{row.groups} * group_lanes; lane += blockDim.x) {
    row_of_lane[row.first_group * group_lanes + lane] = 0;
    if (lane % group_lanes == 0) {
      const auto group = lane / group_lanes;
      group_rows[row.first_group + group] = row.row;
      part_of_group[row.first_group + group] = static_cast<std::int32_t>(group);
    }
  }
}

// A thread a short row. Lanes that the last row of a group leaves over have none.
__global__ void assign_kernel(AnyOffsets offsets, std::int64_t rows, Layout layout, const std::int32_t* lane_of_row,
                              const WindowCounts* before, std::int32_t* group_rows, std::uint8_t* row_of_lane) {
  const auto row = cuda::global_thread();
  if (row >= rows || lane_of_row[row] < 0) return;
  const auto of_window = row % window_rows;
  const auto first_row = row - of_window;
  const auto first_group = before[row / window_rows].groups();
  auto* const lanes = row_of_lane + first_group * group_lanes;
  const int first = lane_of_row[row];
  const int behind = first + layout.lanes_of(row_length(offsets, row));
  // A group begins with a row.
  if (first % group_lanes == 0) group_rows[first_group + first / group_lanes] = static_cast<std::int32_t>(first_row);
  for (int lane = first; lane < behind; ++lane) lanes[lane] = static_cast<std::uint8_t>(of_window);
  const auto last = min(static_cast<long long>(rows), static_cast<long long>(first_row + window_rows));
  auto next = row + 1;
  while (next < last && lane_of_row[next] < 0) ++next;
  if (next < last && lane_of_row[next] == behind) return;
  for (int lane = behind; lane % group_lanes != 0; ++lane) lanes[lane] = no_row;
}

}  // namespace

template <class T>
Packing pack(const CsrView<T>& matrix, const Layout& layout, Place place, Stream stream) {
  const auto windows = windows_of(matrix.rows);
  const auto count = windows + 1;
  Packing packing{.lane_of_row = Array<std::int32_t>(static_cast<std::size_t>(matrix.rows), place),
                  .before = Array<WindowCounts>(static_cast<std::size_t>(count), place)};
  auto* const before = packing.before.data();
  pack_kernel<<<cuda::grid_for(count * cuda::warp_size), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      AnyOffsets(matrix.row_ptr), matrix.rows, layout, windows, packing.lane_of_row.data(), before);
  cuda::check_launch();
  cuda::exclusive_scan(&before->both, &before->both, count, place, stream);
  const WindowCounts all{cuda::read(&before[windows].both, stream)};
  packing.groups = all.groups();
  if (all.long_rows() == 0) return packing;
  Array<LongRow> found(static_cast<std::size_t>(all.long_rows()), place);
  list_long_kernel<<<cuda::grid_for(windows * cuda::warp_size), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      AnyOffsets(matrix.row_ptr), matrix.rows, layout, windows, before, found.data());
  cuda::check_launch();
  packing.long_rows = found.to_vector();
  return packing;
}

template <class T>
void assign_lanes(const CsrView<T>& matrix, const Packing& packing, PackedEll<T>& ell, Stream stream) {
  if (!ell.long_rows.empty()) {
    // Some of their groups may have no row: they fill blocks up.
    const auto place = ell.row_of_lane.place();
    const auto groups = static_cast<std::size_t>(ell.long_groups());
    fill_bytes(ell.part_of_group.data(), 0, groups * sizeof(std::int32_t), place, stream);
    fill_bytes(ell.group_rows.data(), 0xff, groups * sizeof(std::int32_t), place, stream);
    fill_bytes(ell.row_of_lane.data(), no_row, groups * group_lanes, place, stream);
    Array<LongRow> rows(ell.long_rows.size(), place);
    rows.assign(ell.long_rows, stream);
    assign_long_kernel<<<static_cast<unsigned>(rows.size()), 4 * cuda::warp_size, 0, cuda::InTurn(stream)>>>(
        rows.data(), ell.group_rows.data(), ell.row_of_lane.data(), ell.part_of_group.data());
    cuda::check_launch();
  }
  assign_kernel<<<cuda::grid_for(matrix.rows), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      AnyOffsets(matrix.row_ptr), matrix.rows, ell.layout, packing.lane_of_row.data(), packing.before.data(),
      ell.group_rows.data() + ell.long_groups(), ell.row_of_lane.data() + ell.long_groups() * group_lanes);
  cuda::check_launch();
}

template <class T>
void multiply(const PackedEll<T>& ell, T alpha, const T* x, T beta, T* y, Stream stream) {
  dispatch<2, 4, 8>(ell.layout.entries,
                    [&](auto entries) { multiply_entries<entries()>(ell, alpha, x, beta, y, stream); });
}

#define AUTOSPMV_PACKED_ELL(T)                                                          \
  template Packing pack(const CsrView<T>&, const Layout&, Place, Stream);               \
  template void assign_lanes(const CsrView<T>&, const Packing&, PackedEll<T>&, Stream); \
  template void multiply(const PackedEll<T>&, T, const T*, T, T*, Stream);
AUTOSPMV_PACKED_ELL(float)
AUTOSPMV_PACKED_ELL(double)
#undef AUTOSPMV_PACKED_ELL

}  // namespace autospmv::formats::ell_packed::device
