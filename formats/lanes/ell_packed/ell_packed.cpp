#include "formats/lanes/ell_packed/ell_packed.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "formats/common/host/host_shares.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"

namespace autospmv::formats::ell_packed {

namespace host {

namespace {

// Calls body(row, first, last) for the lanes [first, last) of every row of a group; row is -1 for those without one.
template <class T, class Body>
void for_each_row(const PackedEll<T>& ell, std::int64_t group, const Body& body) {
  const std::uint8_t* rows = ell.row_of_lane.data() + group * group_lanes;
  const std::int64_t from = ell.group_rows[static_cast<std::size_t>(group)];
  for (int first = 0, last = 0; first < group_lanes; first = last) {
    while (last < group_lanes && rows[last] == rows[first]) ++last;
    body(rows[first] == no_row ? std::int64_t{-1} : from + rows[first], first, last);
  }
}

// Calls body(slot, entry) for the slots of the lanes [first, last) of a group and the row's entries that belong there.
template <class Body>
void for_each_slot(const Layout& layout, std::int64_t group, int first, int last, Deal deal, const Body& body) {
  const auto start = group * layout.group_slots();
  for (int at = 0; at < layout.entries; ++at) {
    for (int lane = first; lane < last; ++lane) {
      body(static_cast<std::size_t>(start + slot_of(lane, at)), deal.entry + at * deal.count + lane - first);
    }
  }
}

template <class T>
T sum_of_lanes(const PackedEll<T>& ell, std::int64_t group, int first, int last, const T* x) {
  T sum = 0;
  for_each_slot(ell.layout, group, first, last, {}, [&](std::size_t slot, std::int64_t /*entry*/) {
    const auto column = ell.columns.full[slot];
    if (column >= 0) sum += ell.values.full[slot] * x[column];
  });
  return sum;
}

template <class T>
std::vector<LongRow> find_long_rows(const CsrView<T>& matrix, const Layout& layout) {
  std::vector<LongRow> found;
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      const auto length = row_length(row_ptr, row);
      if (layout.is_long(length)) found.push_back(LongRow::of(layout, row, length));
    }
  });
  return found;
}

}  // namespace

template <class T>
Packing pack(const CsrView<T>& matrix, const Layout& layout) {
  const auto windows = windows_of(matrix.rows);
  Packing packing{.lane_of_row = Array<std::int32_t>(static_cast<std::size_t>(matrix.rows), Place{}),
                  .before = Array<WindowCounts>(static_cast<std::size_t>(windows), Place{})};
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_for(
        windows,
        [&](std::int64_t window) {
          Packer packer;
          const auto last = std::min(matrix.rows, (window + 1) * window_rows);
          for (auto row = window * window_rows; row < last; ++row) {
            const auto length = row_length(row_ptr, row);
            packing.lane_of_row[static_cast<std::size_t>(row)] =
                layout.is_long(length) ? -1 : static_cast<std::int32_t>(packer.place(layout.lanes_of(length)));
          }
          packing.before[static_cast<std::size_t>(window)] = WindowCounts::of(packer.units(), 0);
        },
        window_rows);
  });
  for (auto& of_window : packing.before.span()) {
    packing.groups += std::exchange(of_window, WindowCounts::of(packing.groups, 0)).groups();
  }
  packing.long_rows = find_long_rows(matrix, layout);
  return packing;
}

template <class T>
void assign_lanes(const CsrView<T>& matrix, const Packing& packing, PackedEll<T>& ell) {
  const auto lanes = ell.row_of_lane.span();
  const auto rows = ell.group_rows.span();
  std::ranges::fill(lanes, no_row);
  std::ranges::fill(rows, -1);
  std::ranges::fill(ell.part_of_group.span(), 0);
  for (const auto& row : ell.long_rows) {
    std::fill_n(rows.begin() + row.first_group, row.groups, row.row);
    std::fill_n(lanes.begin() + row.first_group * group_lanes, std::int64_t{row.groups} * group_lanes, std::uint8_t{0});
    auto* const parts = ell.part_of_group.data() + row.first_group;
    std::iota(parts, parts + row.groups, 0);
  }
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      const auto lane = packing.lane_of_row[static_cast<std::size_t>(row)];
      if (lane < 0) continue;
      const auto first = ell.long_groups() + packing.before[static_cast<std::size_t>(row / window_rows)].groups();
      rows[static_cast<std::size_t>(first + lane / group_lanes)] =
          static_cast<std::int32_t>(row / window_rows * window_rows);
      std::fill_n(lanes.begin() + first * group_lanes + lane, ell.layout.lanes_of(row_length(row_ptr, row)),
                  static_cast<std::uint8_t>(row % window_rows));
    }
  });
}

template <class T>
void fill(const CsrView<T>& matrix, const PackedEll<T>& ell, Array<std::int32_t>& columns, Array<T>& values) {
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_for(
        ell.groups,
        [&](std::int64_t group) {
          for_each_row(ell, group, [&](std::int64_t row, int first, int last) {
            const std::int64_t source = row < 0 ? 0 : static_cast<std::int64_t>(row_ptr[row]);
            const std::int64_t length = row < 0 ? 0 : row_length(row_ptr, row);
            Deal deal{.count = last - first};
            if (row >= 0 && group < ell.long_groups()) {
              deal = Deal::of_long_row(ell.layout, length, ell.part_of_group[static_cast<std::size_t>(group)]);
            }
            for_each_slot(ell.layout, group, first, last, deal, [&](std::size_t slot, std::int64_t entry) {
              const bool inside = entry < length;
              if (!columns.empty()) columns[slot] = inside ? matrix.col_idx[source + entry] : -1;
              values[slot] = inside ? matrix.values[source + entry] : T{0};
            });
          });
        },
        ell.layout.group_slots());
  });
}

template <class T>
void multiply(const PackedEll<T>& ell, T alpha, const T* x, T beta, T* y) {
  parallel_for(
      ell.groups - ell.long_groups(),
      [&](std::int64_t short_group) {
        const auto group = ell.long_groups() + short_group;
        for_each_row(ell, group, [&](std::int64_t row, int first, int last) {
          if (row >= 0) formats::host::store_row(y, row, alpha, sum_of_lanes(ell, group, first, last, x), beta);
        });
      },
      ell.layout.group_slots());
  for (const auto& row : ell.long_rows) {
    const T sum = parallel_reduce(
        row.groups, T{0},
        [&](Share share) {
          T part = 0;
          for (auto group = share.first; group < share.last; ++group) {
            part += sum_of_lanes(ell, row.first_group + group, 0, group_lanes, x);
          }
          return part;
        },
        [](T a, T b) { return a + b; }, ell.layout.group_slots());
    formats::host::store_row(y, row.row, alpha, sum, beta);
  }
}

}  // namespace host

namespace {

// Rows of several groups: where these lie, and which blocks of threads take them. Rows of more than a block come first,
// for they take longest.
struct LongPlan {
  std::vector<LongRow> rows;
  std::vector<LongBlock> blocks;
  std::int64_t groups = 0;  // those included that fill blocks up

  [[nodiscard]] bool shares_rows() const {
    return std::any_of(blocks.begin(), blocks.end(), [](const LongBlock& block) { return block.parts > 1; });
  }
};

// Steps of a row's blocks where it has several: as many blocks as keep the device busy.
int steps_of_parts(const std::vector<LongRow>& rows, const Layout& layout, const Device& device) {
  constexpr std::int64_t blocks_of_multiprocessor = 4;
  std::int64_t rounds = 0;
  for (const auto& row : rows) {
    const auto of_row = row.groups / layout.warps();
    if (of_row > most_steps) rounds += of_row;
  }
  const auto blocks = blocks_of_multiprocessor * std::max(1, device.multiprocessors);
  return static_cast<int>(std::clamp<std::int64_t>(rounds / blocks, 1, most_steps));
}

LongPlan plan_long_rows(std::vector<LongRow> rows, const Layout& layout, const Device& device) {
  LongPlan plan;
  const std::int64_t warps = layout.warps();
  const std::int64_t steps_of_part = steps_of_parts(rows, layout, device);
  const auto in_one_block = [&](const LongRow& row) { return row.groups < 2 * warps; };
  const auto first_short = std::stable_partition(rows.begin(), rows.end(), std::not_fn(in_one_block));
  for (auto row = rows.begin(); row != first_short; ++row) {
    row->first_group = plan.groups;
    plan.groups += row->groups;
    const auto steps = row->groups / warps;
    const auto of_block = steps <= most_steps ? steps : steps_of_part;
    const auto first_block = static_cast<std::int32_t>(plan.blocks.size());
    for (std::int64_t step = 0; step < steps; step += of_block) {
      plan.blocks.push_back({.first_group = static_cast<std::int32_t>(row->first_group + step * warps),
                             .steps = static_cast<std::int32_t>(std::min(of_block, steps - step)),
                             .parts = static_cast<std::int32_t>((steps + of_block - 1) / of_block),
                             .first_block = first_block});
    }
  }
  const auto first_packed = plan.groups;
  Packer packer{.size = warps};
  for (auto row = first_short; row != rows.end(); ++row) {
    row->first_group = first_packed + packer.place(row->groups);
  }
  for (std::int64_t block = 0; block < packer.units(); ++block) {
    plan.blocks.push_back({.first_group = static_cast<std::int32_t>(first_packed + block * warps)});
  }
  plan.groups += packer.units() * warps;
  plan.rows = std::move(rows);
  return plan;
}

template <class T>
double packed_bytes(const Layout& layout, double groups) {
  const double bits = layout.column_bits + value_bits_of<T>(layout.value_bits);
  const double bases = layout.column_bits < full_column_bits ? 4 : 0;
  return groups * (static_cast<double>(layout.group_slots()) * bits / 8 + group_lanes + 4 + bases);
}

template <class T>
void fill(const CsrView<T>& matrix, const PackedEll<T>& ell, Array<std::int32_t>& columns, Array<T>& values,
          Place place, [[maybe_unused]] Stream stream) {
  on_backend(
      place, [&] { host::fill(matrix, ell, columns, values); },
      [&] { device::fill(matrix, ell, columns, values, stream); });
}

// Sets where every row lies.
template <class T>
void lay_out(const CsrView<T>& matrix, const Device& device, [[maybe_unused]] Stream stream, PackedEll<T>& ell) {
  const auto& layout = ell.layout;
  const Place place = device;
  auto packing = on_backend(
      place, [&] { return host::pack(matrix, layout); }, [&] { return device::pack(matrix, layout, place, stream); });
  auto plan = plan_long_rows(std::move(packing.long_rows), layout, device);
  ell.groups = plan.groups + packing.groups;
  ell.long_rows = std::move(plan.rows);
  ell.part_of_group = Array<std::int32_t>(static_cast<std::size_t>(plan.groups), place);
  ell.group_rows = Array<std::int32_t>(static_cast<std::size_t>(ell.groups), place);
  ell.row_of_lane = Array<std::uint8_t>(static_cast<std::size_t>(ell.groups * group_lanes), place);
  on_backend(
      place, [&] { host::assign_lanes(matrix, packing, ell); },
      [&] { device::assign_lanes(matrix, packing, ell, stream); });
  if (device.backend == Backend::host) return;
  ell.long_blocks = Array<LongBlock>(plan.blocks.size(), place);
  ell.long_blocks.assign(plan.blocks, stream);
  if (!plan.shares_rows()) return;
  ell.parts = std::make_unique<Scratch<PartSums<T>>>(
      place, [count = plan.blocks.size(), place] { return make_part_sums<T>(count, place, setup_stream(place)); });
}

// On the host, columns and values have all their bits.
template <class T>
Fit store_on_host(const CsrView<T>& matrix, PackedEll<T>& ell) {
  const auto slots = static_cast<std::size_t>(ell.slots());
  ell.columns.full = Array<std::int32_t>(slots, Place{});
  ell.values.full = Array<T>(slots, Place{});
  host::fill(matrix, ell, ell.columns.full, ell.values.full);
  return Fit::all;
}

template <class T>
Result<PackedEll<T>> build(const CsrView<T>& matrix, const Layout& layout, const Device& device) {
  const DeviceScope scope(device);
  const Place place = device;
  const auto stream = setup_stream(device);
  PackedEll<T> ell;
  ell.rows = matrix.rows;
  ell.cols = matrix.cols;
  ell.layout = layout;
  if (matrix.rows == 0) return ell;
  lay_out(matrix, device, stream, ell);
  if (ell.groups > std::numeric_limits<std::int32_t>::max()) return Refusal{"memory: more than 2^31 groups of lanes"};
  if (auto refusal = refuse_allocation(packed_bytes<T>(layout, static_cast<double>(ell.groups)), matrix, device)) {
    return *refusal;
  }
  const auto fit = on_backend(
      place, [&] { return store_on_host(matrix, ell); }, [&] { return device::store(matrix, ell, place, stream); });
  if (fit == Fit::not_values) return refuse_encoding(value_bits_of<T>(layout.value_bits));
  if (fit == Fit::not_columns) {
    return refuse_columns("group", layout.column_bits);
  }
  return ell;
}

template <class T>
class EllPacked final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "ell_packed",
        .summary = "ELLPACK of a few entries a lane, rows packed into warps in their own order",
        .paper = "Heller, Oberhuber, \"Adaptive row-grouped CSR format for storing of sparse matrices on GPU\", 2012",
        .offered = {Backend::cuda}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    // On the host, rows in slices do the same without padding.
    if (device.backend == Backend::host) return {{"entries", {4}, {8}}};
    return {{"entries", entries_for(features)},
            {"block", {256, 128}},
            {"column_bits", column_bits_for(std::min(features.cols - 1, features.slice_span_max))},
            {"value_bits", value_bits_for<T>(features)}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    const auto layout = layout_of(params);
    if (auto refusal = refuse_value_bits<T>(features, value_bits_of<T>(layout.value_bits))) return *refusal;
    // Of slices of 32 rows, more than a group has; they begin elsewhere, so conversion may find it to be more.
    const auto span = std::min(features.cols - 1, features.slice_span_max);
    if (auto refusal = refuse_column_bits(span, layout.column_bits)) return *refusal;
    const double lanes = lanes_taken(features, layout);
    const double groups = lanes / group_lanes + static_cast<double>(features.rows) / window_rows / 2;
    Cost cost;
    cost.storage_bytes = packed_bytes<T>(layout, groups);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    cost.bytes = cost.storage_bytes + vector_bytes<T>(features);
    if (device.backend == Backend::host) {
      const double slots = groups * static_cast<double>(layout.group_slots());
      cost.work = work_of_slots(features, std::max(slots, static_cast<double>(features.nnz)), {.entry = 1, .row = 2});
    } else {
      const double rounds =
          std::ceil(static_cast<double>(features.npr_max) / static_cast<double>(layout.entries * layout.block));
      // All that a lane has of a group is loaded at once.
      cost.walk = {.threads = lanes, .steps = 1, .longest = std::clamp(rounds, 1.0, static_cast<double>(most_steps))};
    }
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    return operator_or_refusal(build(matrix, layout_of(params), device), device);
  }

 private:
  static Layout layout_of(const Params& params) {
    Layout layout{.entries = static_cast<int>(params["entries"])};
    layout.block = static_cast<int>(params.find("block").value_or(layout.block));
    layout.column_bits = static_cast<int>(params.find("column_bits").value_or(layout.column_bits));
    layout.value_bits = static_cast<int>(params.find("value_bits").value_or(layout.value_bits));
    return layout;
  }

  // Of two slots, lanes load too little at once, but where those of four would be padding to more than a third.
  static std::vector<std::int64_t> entries_for(const Features& features) {
    std::vector<std::int64_t> entries{8, 4};
    constexpr Layout of_four{.entries = 4};
    const double slots = lanes_taken(features, of_four) * of_four.entries;
    if (slots > 1.5 * static_cast<double>(features.nnz)) entries.push_back(2);
    return entries;
  }

  static double lanes_taken(const Features& features, const Layout& layout) {
    return sum_over_rows(features, [&](double length) { return lanes_taken(length, layout); }) +
           static_cast<double>(features.empty_rows);
  }
  // By a row: its own, and those that rows like it leave over at the ends of groups, or of blocks.
  static double lanes_taken(double length, const Layout& layout) {
    const double lanes = std::ceil(length / layout.entries);
    if (lanes <= group_lanes) return lanes * group_lanes / (group_lanes - (lanes - 1) / 2);
    const double of_block = layout.warps();
    const double groups = std::ceil(lanes / group_lanes);
    const double taken =
        groups < of_block ? of_block / std::floor(of_block / groups) : of_block * std::ceil(groups / of_block);
    return group_lanes * taken;
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    std::vector<Allowed> all{{"entries", {2, 4, 8}}};
    if (device.backend == Backend::host) return all;
    all.push_back({"block", {128, 256}});
    all.push_back({"column_bits", {8, 16, 32}});
    all.push_back({"value_bits", all_value_bits<T>()});
    return all;
  }
};

}  // namespace

template <class T>
bool PackedEll<T>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  if (groups == 0) return true;
  return refill_slots(
      values, columns, slots(), place, stream,
      [&](Array<std::int32_t>& again, Array<T>& to, Stream on) { fill(matrix, *this, again, to, place, on); });
}

template <class T>
void PackedEll<T>::multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const {
  if (groups == 0) return;
  on_backend(
      place, [&] { host::multiply(*this, alpha, x, beta, y); },
      [&] { device::multiply(*this, alpha, x, beta, y, stream); });
}

template struct PackedEll<float>;
template struct PackedEll<double>;

AUTOSPMV_FORMAT(EllPacked);

}  // namespace autospmv::formats::ell_packed
