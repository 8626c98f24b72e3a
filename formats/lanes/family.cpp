#include "formats/lanes/family.hpp"

#include <algorithm>
#include <cmath>

#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"

namespace autospmv::formats {

template <class T>
Result<Cost> LanesFormat<T>::cost(const Features& features, const Params& params, const Device& device) const {
  const auto classes = classes_of(params, features.nnz, device);
  if (features.npr_max <= classes.height) return Refusal{why_no_row_is_shared()};
  // A row is padded to a multiple of its lanes, half of which it misses on average; lanes that no row of the group can
  // use are padding too. That rows of a group differ in length does not count: they are sorted.
  double groups = classes.count;
  double long_groups = 0;
  double entries = 0;
  double slots = 0;
  for (int bin = 1; bin < npr_bins; ++bin) {
    const auto rows = static_cast<double>(features.npr_histogram[static_cast<std::size_t>(bin)]);
    const double length = std::min(1.5 * std::ldexp(1.0, bin - 1), static_cast<double>(features.npr_max));
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
  cost.storage_bytes = warp_ell_bytes<T>(groups, slots);
  if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
  cost.bytes = cost.storage_bytes + vector_bytes<T>(features);
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
  return operator_or_refusal(build_warp_ell(matrix, classes_of(params, matrix.nnz, device), device), device);
}

template class LanesFormat<float>;
template class LanesFormat<double>;

}  // namespace autospmv::formats
