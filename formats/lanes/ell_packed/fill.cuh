// How a matrix is written to the slots.
#pragma once

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/any_offsets.hpp"
#include "formats/common/encoding/writers.cuh"
#include "formats/lanes/device.cuh"
#include "formats/lanes/ell_packed/ell_packed.hpp"

namespace autospmv::formats::ell_packed::device {

namespace {

using namespace formats::device;

// A thread a lane, a warp a group.
template <class T, class Columns, class Values>
__global__ void fill_kernel(CsrView<T> matrix, AnyOffsets offsets, Layout layout, std::int64_t groups,
                            std::int64_t long_groups, const std::int32_t* part_of_group, const std::int32_t* group_rows,
                            const std::uint8_t* row_of_lane, Columns columns, Values values) {
  const auto group = cuda::global_thread() / group_lanes;
  if (group >= groups) return;
  const int lane = lane_of_thread();
  const int of_group = row_of_lane[group * group_lanes + lane];
  const auto lanes = lanes_of_row(of_group, lane);
  const auto row = of_group == no_row ? -1 : group_rows[group] + of_group;
  const std::int64_t source = row < 0 ? 0 : offsets[row];
  const std::int64_t length = row < 0 ? 0 : row_length(offsets, row);
  Deal deal{.count = lanes.count()};
  if (row >= 0 && group < long_groups) deal = Deal::of_long_row(layout, length, part_of_group[group]);
  const auto entry_of = [&](int at) { return deal.entry + at * deal.count + (lane - lanes.first); };
  const auto column_of = [&](std::int64_t entry) { return entry < length ? matrix.col_idx[source + entry] : -1; };
  const auto value_of = [&](std::int64_t entry) { return entry < length ? matrix.values[source + entry] : T{0}; };
  if constexpr (finds_base<Columns>) {
    unsigned least = no_column;
    for (int at = 0; at < layout.entries; ++at) least = min(least, static_cast<unsigned>(column_of(entry_of(at))));
    columns.open(group, least);
  }
  for (int at = 0; at < layout.entries; at += 2) {
    const auto slot = group * layout.group_slots() + slot_of(lane, at);
    const auto first = entry_of(at);
    const auto second = entry_of(at + 1);
    columns.put_two(slot, column_of(first), column_of(second));
    values.put_two(slot, value_of(first), value_of(second));
  }
}

template <class T, class Columns, class Values>
void launch_fill(const CsrView<T>& matrix, const PackedEll<T>& ell, const Columns& columns, const Values& values,
                 Stream stream) {
  fill_kernel<<<cuda::grid_for(ell.groups * group_lanes), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      matrix, AnyOffsets(matrix.row_ptr), ell.layout, ell.groups, ell.long_groups(), ell.part_of_group.data(),
      ell.group_rows.data(), ell.row_of_lane.data(), columns, values);
  cuda::check_launch();
}

}  // namespace

template <class T>
void fill(const CsrView<T>& matrix, const PackedEll<T>& ell, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream) {
  with_full_writers(columns, values, [&](const auto& to_columns, const auto& to_values) {
    launch_fill(matrix, ell, to_columns, to_values, stream);
  });
}

template <class T>
Fit store(const CsrView<T>& matrix, PackedEll<T>& ell, Place place, Stream stream) {
  Array<Misfits> misfits(1, place);
  fill_bytes(misfits.data(), 0, sizeof(Misfits), place, stream);
  const int value_bits = value_bits_of<T>(ell.layout.value_bits);
  const bool fits = with_value_writer(
      ell.values, matrix, ell.slots(), value_bits, misfits.data(), place, stream, [&](const auto& values) {
        with_column_writer(ell.columns, ell.slots(), ell.groups, ell.layout.column_bits, misfits.data(), place,
                           [&](const auto& columns) { launch_fill(matrix, ell, columns, values, stream); });
      });
  if (!fits) return Fit::not_values;
  return fit_of(misfits);
}

}  // namespace autospmv::formats::ell_packed::device
