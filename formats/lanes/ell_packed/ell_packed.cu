#include <algorithm>
#include <array>
#include <type_traits>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/encoding/writers.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/dispatch.hpp"
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

// A warp a window: it loads 32 lengths at a time, and every lane follows where each of their rows goes. Long rows are
// counted.
template <class Offset>
__global__ void pack_kernel(const Offset* row_ptr, std::int64_t rows, Layout layout, std::int64_t windows,
                            std::int32_t* lane_of_row, std::int32_t* groups, std::int32_t* long_rows,
                            std::int32_t* all_long_rows) {
  const auto window = cuda::global_thread() / cuda::warp_size;
  if (window > windows) return;
  const int lane = lane_of_thread();
  Packer packer;
  int long_count = 0;
  const auto last = min(static_cast<long long>(rows), static_cast<long long>((window + 1) * window_rows));
  for (auto first = window * window_rows; first < last; first += cuda::warp_size) {
    const auto row = first + lane;
    const auto length = row < last ? row_length(row_ptr, row) : 0;
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
  if (lane > 0) return;
  groups[window] = static_cast<std::int32_t>(packer.units());
  long_rows[window] = long_count;
  if (long_count > 0) atomicAdd(all_long_rows, long_count);
}

// A warp a window, whose long rows come after so many others.
template <class Offset>
__global__ void list_long_kernel(const Offset* row_ptr, std::int64_t rows, Layout layout, std::int64_t windows,
                                 const std::int32_t* before, LongRow* found) {
  const auto window = cuda::global_thread() / cuda::warp_size;
  if (window >= windows) return;
  const int lane = lane_of_thread();
  std::int64_t next = before[window];
  if (next == before[window + 1]) return;
  const auto last = min(static_cast<long long>(rows), static_cast<long long>((window + 1) * window_rows));
  for (auto first = window * window_rows; first < last; first += cuda::warp_size) {
    const auto row = first + lane;
    const auto length = row < last ? row_length(row_ptr, row) : 0;
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

template <class Offset>
__global__ void assign_kernel(const Offset* row_ptr, std::int64_t rows, Layout layout, const std::int32_t* lane_of_row,
                              const std::int32_t* first_group, std::int32_t* group_rows, std::uint8_t* row_of_lane) {
  const auto row = cuda::global_thread();
  if (row >= rows || lane_of_row[row] < 0) return;
  const auto first = std::int64_t{first_group[row / window_rows]} * group_lanes + lane_of_row[row];
  const auto of_window = row % window_rows;
  // A group begins with a row.
  if (first % group_lanes == 0) group_rows[first / group_lanes] = static_cast<std::int32_t>(row - of_window);
  const int lanes = layout.lanes_of(row_length(row_ptr, row));
  for (int lane = 0; lane < lanes; ++lane) row_of_lane[first + lane] = static_cast<std::uint8_t>(of_window);
}

// A thread a lane, a warp a group.
template <class T, class Offset, class Columns, class Values>
__global__ void fill_kernel(CsrView<T> matrix, const Offset* row_ptr, Layout layout, std::int64_t groups,
                            std::int64_t long_groups, const std::int32_t* part_of_group, const std::int32_t* group_rows,
                            const std::uint8_t* row_of_lane, Columns columns, Values values) {
  const auto group = cuda::global_thread() / group_lanes;
  if (group >= groups) return;
  const int lane = lane_of_thread();
  const int of_group = row_of_lane[group * group_lanes + lane];
  const auto lanes = lanes_of_row(of_group, lane);
  const auto row = of_group == no_row ? -1 : group_rows[group] + of_group;
  const std::int64_t source = row < 0 ? 0 : static_cast<std::int64_t>(row_ptr[row]);
  const std::int64_t length = row < 0 ? 0 : row_length(row_ptr, row);
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
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    fill_kernel<<<cuda::grid_for(ell.groups * group_lanes), cuda::default_block, 0, stream.handle>>>(
        matrix, row_ptr, ell.layout, ell.groups, ell.long_groups(), ell.part_of_group.data(), ell.group_rows.data(),
        ell.row_of_lane.data(), columns, values);
  });
  cuda::check_launch();
}

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

template <class T>
Packing pack(const CsrView<T>& matrix, const Layout& layout, Place place, Stream stream) {
  const auto windows = windows_of(matrix.rows);
  const auto count = windows + 1;
  // Behind the groups of all windows how many long rows there are, and behind that those of each window.
  Packing packing{.lane_of_row = Array<std::int32_t>(static_cast<std::size_t>(matrix.rows), place),
                  .first_group = Array<std::int32_t>(static_cast<std::size_t>(2 * count + 1), place)};
  auto* const groups = packing.first_group.data();
  auto* const all_long_rows = groups + count;
  auto* const long_rows = all_long_rows + 1;
  fill_bytes(all_long_rows, 0, sizeof(std::int32_t), place, stream);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    pack_kernel<<<cuda::grid_for(count * cuda::warp_size), cuda::default_block, 0, stream.handle>>>(
        row_ptr, matrix.rows, layout, windows, packing.lane_of_row.data(), groups, long_rows, all_long_rows);
  });
  cuda::check_launch();
  cuda::exclusive_scan(groups, groups, count, place, stream);
  std::array<std::int32_t, 2> totals{};
  copy_bytes(totals.data(), groups + windows, sizeof totals, place, stream);
  synchronize(place, stream);
  packing.groups = totals[0];
  if (totals[1] == 0) return packing;
  cuda::exclusive_scan(long_rows, long_rows, count, place, stream);
  Array<LongRow> found(static_cast<std::size_t>(totals[1]), place);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    list_long_kernel<<<cuda::grid_for(windows * cuda::warp_size), cuda::default_block, 0, stream.handle>>>(
        row_ptr, matrix.rows, layout, windows, long_rows, found.data());
  });
  cuda::check_launch();
  packing.long_rows = found.to_vector();
  return packing;
}

template <class T>
void assign_lanes(const CsrView<T>& matrix, const Packing& packing, PackedEll<T>& ell, Stream stream) {
  if (!ell.long_rows.empty()) {
    const auto rows = Array<LongRow>::copy_of(ell.long_rows, ell.row_of_lane.place());
    assign_long_kernel<<<static_cast<unsigned>(rows.size()), 4 * cuda::warp_size, 0, stream.handle>>>(
        rows.data(), ell.group_rows.data(), ell.row_of_lane.data(), ell.part_of_group.data());
    cuda::check_launch();
  }
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    assign_kernel<<<cuda::grid_for(matrix.rows), cuda::default_block, 0, stream.handle>>>(
        row_ptr, matrix.rows, ell.layout, packing.lane_of_row.data(), packing.first_group.data(),
        ell.group_rows.data() + ell.long_groups(), ell.row_of_lane.data() + ell.long_groups() * group_lanes);
  });
  cuda::check_launch();
}

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

template <class T>
void multiply(const PackedEll<T>& ell, T alpha, const T* x, T beta, T* y, Stream stream) {
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
    const auto launch_kernel = [&](auto entries, auto at_once) {
      const auto groups_of_block = std::int64_t{ell.layout.warps()} * at_once();
      const auto blocks = long_block_count + (short_groups + groups_of_block - 1) / groups_of_block;
      with_columns(ell.columns, [&](auto columns) {
        with_values(ell.values, [&](auto values) {
          cuda::launch_early(multiply_kernel<entries(), at_once(), T, decltype(columns), decltype(values)>,
                             cuda::grid_for(blocks * ell.layout.block, ell.layout.block), ell.layout.block, 0, stream,
                             view, columns, values);
        });
      });
    };
    dispatch<2, 4, 8>(ell.layout.entries, [&](auto entries) {
      // Of two slots a lane, one group is too little for a warp to have under way.
      if constexpr (entries() == 2) {
        if (short_groups >= many_groups) return launch_kernel(entries, std::integral_constant<int, 2>{});
      }
      launch_kernel(entries, std::integral_constant<int, 1>{});
    });
  };
  if (!ell.parts) return launch({nullptr, nullptr});
  ell.parts->use(stream, [&](PartSums<T>& parts) { launch({parts.sums.data(), parts.finished.data()}); });
}

#define AUTOSPMV_PACKED_ELL(T)                                                                         \
  template Packing pack(const CsrView<T>&, const Layout&, Place, Stream);                              \
  template void assign_lanes(const CsrView<T>&, const Packing&, PackedEll<T>&, Stream);                \
  template void fill(const CsrView<T>&, const PackedEll<T>&, Array<std::int32_t>&, Array<T>&, Stream); \
  template Fit store(const CsrView<T>&, PackedEll<T>&, Place, Stream);                                 \
  template void multiply(const PackedEll<T>&, T, const T*, T, T*, Stream);
AUTOSPMV_PACKED_ELL(float)
AUTOSPMV_PACKED_ELL(double)
#undef AUTOSPMV_PACKED_ELL

}  // namespace autospmv::formats::ell_packed::device
