// What the formats on the sliced core have in common. Each keeps its own layout rule and parameters; admission,
// prediction and conversion are the same.
#pragma once

#include <algorithm>
#include <cmath>

#include "formats/common/operators.hpp"
#include "formats/common/predict/chunks.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/sliced/storage.hpp"

namespace autospmv::formats {

template <class T>
class SlicedFormat : public Format<T> {
 public:
  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const final {
    const auto layout = layout_of(params);
    if (auto refusal = refuse_layout(params, layout, device)) return *refusal;
    if (auto refusal = refuse_value_bits<T>(features, value_bits_of<T>(layout.value_bits))) return *refusal;
    const auto span = device.backend == Backend::host ? span_of_sorted(features, layout) : features.slice_span_max;
    if (auto refusal = refuse_column_bits(span, layout.column_bits)) return *refusal;
    Cost cost;
    cost.storage_bytes =
        sliced_bytes<T>(layout, features.rows, slots(features, layout), most_column_bits(layout, device.backend));
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    double column_bits = layout.column_bits;
    if (layout.column_bits == columns_by_chunk) {
      const bool sorts = layout.sort_window > 1;
      const auto strewn_over = sorts ? static_cast<double>(span_of_sorted(features, layout)) : features.slice_span_mean;
      column_bits = bits_by_chunk(features, sorts, strewn_over) + head_bits(layout, device.backend);
    }
    cost.bytes =
        sliced_bytes<T>(layout, features.rows, slots_read(features, layout), column_bits) + vector_bytes<T>(features);
    const auto threads = static_cast<double>(layout.threads * layout.split);
    if (device.backend == Backend::cuda) {
      cost.walk = walk_of_rows(features, threads, layout.sort_window > 1);
    } else {
      cost.work = work_on_host(features, layout);
      cost.imbalance = rows_of_last_slices(features, layout, device);
      const bool sorted = layout.sort_window >= features.rows && layout.sort_window > 1;
      // Of a slice of more rows than fill a cache line, each entry goes to another line.
      const double in_order = layout.slice_rows <= 16 ? 2 : 4;
      constexpr double by_windows = 2.5;
      cost.conversion = sorted ? conversion_by_sorting(features) : layout.sort_window > 1 ? by_windows : in_order;
      if (layout.value_bits == 8) cost.conversion += 1;
    }
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const final {
    const auto layout = layout_of(params);
    if (auto refusal = refuse_layout(params, layout, device)) return *refusal;
    return operator_or_refusal(build_sliced(matrix, layout, device), device);
  }

 protected:
  using Values = std::vector<std::int64_t>;

  /// Completes the layout, which has the block and the encodings, by parameters that are all there and allowed.
  virtual void lay_out(const Params& params, SlicedLayout& layout) const = 0;

  /// Allowed values that do not go together.
  [[nodiscard]] virtual std::optional<Refusal> refuse_combination(const Params& /*params*/) const {
    return std::nullopt;
  }

  /// A window of all rows, whatever their number, and how parameters name it.
  static constexpr std::int64_t all_rows = std::int64_t{1} << 31;
  static constexpr std::int64_t whole = 0;
  static std::int64_t window_of(std::int64_t sigma) { return sigma == whole ? all_rows : sigma; }

  /// Allowed bits of a column; hosts have columns by chunk instead of those in 8 bits, which were no faster.
  static Values all_column_bits(const Device& device) {
    return device.backend == Backend::host ? Values{16, full_column_bits} : Values{8, 16, full_column_bits};
  }
  /// Those worth trying.
  static Values column_bits(const Features& features, const Device& device) {
    if (device.backend == Backend::cuda) return column_bits_for(features.slice_span_max);
    return refuse_column_bits(features.slice_span_max, 16) ? Values{full_column_bits} : all_column_bits(device);
  }
  /// The same where columns may be by chunk: of slices of 8 or 16 rows on the host, of 32 on CUDA.
  static Values all_column_bits_or_chunks(const Device& device) {
    auto bits = all_column_bits(device);
    bits.insert(bits.begin(), columns_by_chunk);
    return bits;
  }
  static ParamSpace::Axis column_bits_or_chunks(const Features& features, const Device& device) {
    auto bits = column_bits(features, device);
    if (device.backend == Backend::cuda) return columns_or_chunks<T>(std::move(bits), features, device);
    bits.insert(bits.begin(), columns_by_chunk);
    return {"column_bits", std::move(bits)};
  }

 private:
  [[nodiscard]] std::optional<Refusal> refuse_layout(const Params& params, const SlicedLayout& layout,
                                                     const Device& device) const {
    if (layout.column_bits == columns_by_chunk) {
      if (device.backend == Backend::cuda && layout.slice_rows != chunk_slots) {
        return Refusal{"parameters: columns by chunk are of slices of 32 rows"};
      }
      if (device.backend == Backend::host && layout.slice_rows != 8 && layout.slice_rows != 16) {
        return Refusal{"parameters: columns by chunk are of slices of 8 or 16 rows"};
      }
    }
    return refuse_combination(params);
  }

  [[nodiscard]] SlicedLayout layout_of(const Params& params) const {
    SlicedLayout layout;
    layout.block = static_cast<int>(params.find("block").value_or(layout.block));
    layout.column_bits = static_cast<int>(params.find("column_bits").value_or(layout.column_bits));
    layout.value_bits = static_cast<int>(params.find("value_bits").value_or(layout.value_bits));
    lay_out(params, layout);
    return layout;
  }

  static double slots(const Features& features, const SlicedLayout& layout) {
    if (layout.slice_rows > 0) return static_cast<double>(features.nnz) * padding(features, layout);
    const auto chunks = (features.npr_max + layout.threads - 1) / layout.threads;
    return static_cast<double>(features.rows + 15) * static_cast<double>(chunks * layout.threads);
  }

  // Rows that end by their length leave padding unread, but for what lies in the same sector as an entry.
  static double slots_read(const Features& features, const SlicedLayout& layout) {
    const double stored = slots(features, layout);
    if (!layout.keep_lengths) return stored;
    return std::min(stored, static_cast<double>(features.nnz) * std::max(1.0, features.sliced_ell_padding[0]));
  }

  // Slices of 32 rows in their own order span slice_span_max. Sorting brings rows of a window together, which lie as
  // far apart as the diagonal runs in it: conversions of what spans more would come to nothing.
  static std::int64_t span_of_sorted(const Features& features, const SlicedLayout& layout) {
    if (layout.sort_window <= 1 || features.rows == 0) return features.slice_span_max;
    const auto window = static_cast<double>(std::min(layout.sort_window, features.rows));
    const double run = window * static_cast<double>(features.cols) / static_cast<double>(features.rows);
    return std::min(features.cols - 1, features.slice_span_max + static_cast<std::int64_t>(run));
  }

  static double runs_in(const Features& features, const SlicedLayout& layout) {
    return layout.column_bits == columns_by_chunk ? share_of_runs(features) : 0;
  }

  // Each thread has slices of its own, the last of which may hold few rows: of few rows, that is half of what it does.
  static double rows_of_last_slices(const Features& features, const SlicedLayout& layout, const Device& device) {
    if (layout.slice_rows <= 1 || features.rows == 0) return 1;
    const auto slice_rows = static_cast<double>(layout.slice_rows);
    const double rows = static_cast<double>(features.rows) / std::max(1, device.multiprocessors);
    return std::ceil(rows / slice_rows) * slice_rows / rows;
  }

  static double work_on_host(const Features& features, const SlicedLayout& layout) {
    const double read = slots_read(features, layout);
    double work = work_of_decoding(read, layout.column_bits, value_bits_of<T>(layout.value_bits));
    if (layout.sort_window >= features.rows && layout.sort_window > 1) {
      // Slices read rows ahead.
      work += (layout.slice_rows == 1 ? 1 : 0.3) * work_of_far_rows(features);
    }
    if (layout.slice_rows == 1) {
      // Rows in the order of their lengths, where few ends are not foreseen.
      const bool in_packs =
          layout.column_bits == full_column_bits && value_bits_of<T>(layout.value_bits) == full_value_bits<T>;
      return work + work_of_rows(features,
                                 in_packs ? LoopWork{.entry = 0.125, .row = 0.26, .unforeseen = 2.1}
                                          : LoopWork{.entry = 0.21, .row = 0.05, .unforeseen = unforeseen_when_sorted});
    }
    if (layout.threads > 1) {
      // Row by row; partial sums are added up, and what a row has left of them is summed up apart.
      const double row = 0.9 * static_cast<double>(std::min<std::int64_t>(layout.threads, 16));
      return work + work_of_rows(features, {.entry = 0.33, .row = row});
    }
    // Each entry of a slice of all rows comes from another page: more of them than are fetched ahead.
    const double pages =
        layout.slice_rows == 0 ? std::max(0.0, std::log2(static_cast<double>(features.npr_max) / 8)) : 0;
    const double arrays = layout.value_bits == 0 ? 1 : 2;
    // In runs, columns are neither decoded nor followed one by one.
    auto loop = work_in_packs(0.075 - 0.1 * runs_in(features, layout), layout.sort_window > 1 ? 0.85 : 0.4);
    if (layout.slice_rows == 0) loop = work_in_packs(arrays * (0.2 + 0.015 * pages), 0);
    return work + work_of_slots(features, read, loop);
  }

  // Slots over nonzeros. Sorting brings equal lengths together; what remains is rounding up to T.
  static double padding(const Features& features, const SlicedLayout& layout) {
    if (features.nnz == 0) return 0;
    if (layout.slice_rows == 1) return 1;
    const std::size_t nearest = layout.slice_rows <= 16   ? 0
                                : layout.slice_rows <= 32 ? 1
                                : layout.slice_rows <= 64 ? 2
                                                          : 3;
    const auto window = std::min<std::int64_t>(layout.sort_window, std::max<std::int64_t>(1, features.rows));
    const double sorted = 1 + (features.sliced_ell_padding[nearest] - 1) / std::sqrt(static_cast<double>(window));
    const double rounding = static_cast<double>(layout.threads - 1) / 2 / std::max(1.0, features.npr_mean);
    return sorted + rounding;
  }
};

}  // namespace autospmv::formats
