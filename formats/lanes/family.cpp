#include "formats/lanes/family.hpp"

#include <algorithm>
#include <cmath>

#include "formats/common/operators.hpp"
#include "formats/common/predict/chunks.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"

namespace autospmv::formats {

template <class T>
ParamSpace LanesFormat<T>::params(const Features& features, const Device& device) const {
  auto axes = own_params(features, device);
  if (device.backend == Backend::cuda) {
    axes.push_back(columns_or_chunks<T>(column_bits_for(features.cols - 1), features, device));
    axes.push_back({"value_bits", value_bits_for<T>(features)});
  }
  return ParamSpace(std::move(axes));
}

template <class T>
std::vector<Allowed> LanesFormat<T>::allowed(const Device& device) const {
  auto all = own_allowed();
  if (device.backend == Backend::cuda) {
    all.push_back({"column_bits", {columns_by_chunk, 8, 16, full_column_bits}});
    all.push_back({"value_bits", all_value_bits<T>()});
  }
  return all;
}

template <class T>
LanesLayout LanesFormat<T>::layout_of(const Params& params, std::int64_t nnz, const Device& device) const {
  LanesLayout layout{.classes = classes_of(params, nnz, device)};
  layout.column_bits = static_cast<int>(params.find("column_bits").value_or(layout.column_bits));
  layout.value_bits = static_cast<int>(params.find("value_bits").value_or(layout.value_bits));
  return layout;
}

namespace {

// Rows are sorted by length, those of one length in their own order: the rows of a group come from about as many times
// 32 rows as there are lengths.
double mean_column_bits(const Features& features) {
  const double lengths = 1 + 3 * std::sqrt(features.npr_variance);
  const double apart = group_lanes * (lengths - 1) * static_cast<double>(features.cols) /
                       static_cast<double>(std::max<std::int64_t>(1, features.rows));
  const double strewn_over = std::min(static_cast<double>(features.cols), features.slice_span_mean + apart);
  const bool sorts = lengths > 2;
  return bits_by_chunk(features, sorts, strewn_over) + head_bits_on_cuda;
}

}  // namespace

template <class T>
Result<Cost> LanesFormat<T>::cost(const Features& features, const Params& params, const Device& device) const {
  const auto layout = layout_of(params, features.nnz, device);
  const auto& classes = layout.classes;
  if (features.npr_max <= classes.height) return Refusal{why_no_row_is_shared()};
  if (auto refusal = refuse_value_bits<T>(features, value_bits_of<T>(layout.value_bits))) return *refusal;
  // The rows of a group come from anywhere, and so do their columns.
  if (auto refusal = refuse_column_bits(features.cols - 1, layout.column_bits)) return *refusal;
  // A row is padded to a multiple of its lanes, half of which it misses on average; lanes that no row of the group can
  // use are padding too. That rows of a group differ in length does not count: they are sorted.
  double groups = classes.count;
  double long_groups = 0;
  double entries = 0;
  double slots = 0;
  for (int bin = 1; bin < npr_bins; ++bin) {
    const auto rows = static_cast<double>(features.npr_histogram[static_cast<std::size_t>(bin)]);
    const double length = std::min(1.5 * least_of_bin(bin), static_cast<double>(features.npr_max));
    const int at = classes.class_of(std::llround(length));
    const double lanes = classes.lanes[at];
    const double lanes_taken = static_cast<double>(group_lanes) / static_cast<double>(classes.rows_of_group(at));
    entries += rows * length;
    slots += rows * (length + (lanes - 1) / 2) * lanes_taken / lanes;
    groups += rows * lanes_taken / group_lanes;
    if (at == 0) long_groups += rows;
  }
  groups += static_cast<double>(features.empty_rows) / group_lanes;
  // The rows of a bin are not all as long as its middle, but what is padded is about the same share of them.
  slots *= static_cast<double>(features.nnz) / std::max(1.0, entries);

  Cost cost;
  cost.storage_bytes = warp_ell_bytes<T>(layout, groups, slots, most_column_bits(layout));
  if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
  const bool by_chunk = layout.column_bits == columns_by_chunk;
  const double column_bits = by_chunk ? mean_column_bits(features) : layout.column_bits;
  cost.bytes = warp_ell_bytes<T>(layout, groups, slots, column_bits) + vector_bytes<T>(features);
  const auto longest = static_cast<double>(features.npr_max);
  if (device.backend == Backend::host) {
    cost.imbalance = longest_walk(features, longest, device);
    cost.conversion = conversion_by_sorting(features);
    cost.work = work_of_slots(features, std::max(slots, static_cast<double>(features.nnz)), {.entry = 0.5, .row = 1});
  } else {
    // Each of the long rows has the threads of a block.
    const double more = block_for(features.npr_max, classes) - group_lanes;
    const double threads = std::max(1.0, groups * group_lanes + long_groups * more);
    cost.walk = {.threads = threads,
                 .steps = slots / threads,
                 .longest = std::max(std::min(longest, static_cast<double>(classes.height)), longest / largest_block)};
  }
  return cost;
}

template <class T>
Built<T> LanesFormat<T>::convert(const CsrView<T>& matrix, const Params& params, const Device& device) const {
  return operator_or_refusal(build_warp_ell(matrix, layout_of(params, matrix.nnz, device), device), device);
}

template class LanesFormat<float>;
template class LanesFormat<double>;

}  // namespace autospmv::formats
