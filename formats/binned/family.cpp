#include "formats/binned/family.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "formats/common/predict/walks.hpp"

namespace autospmv::formats {

namespace {

// Nonzeros a thread past which rows are shared by blocks, where they are.
constexpr std::int64_t usual_split = 16;

// Nonzeros past which the device is busy with threads of more nonzeros, which then spare launches and shuffles.
constexpr std::int64_t busy_nnz = 4'000'000;

constexpr std::int64_t usual_child_limit = 2048;

// Child grids that are worth one launch from the host: an H200 takes 0.18 us for each of 8192.
constexpr std::int64_t children_of_launch = 5;

// Smallest unit of device memory that is read or written.
constexpr double sector_bytes = 32;

// The share of rows whose next one is in another bin, where the order of rows says nothing of their lengths.
double share_of_changes(const Features& features) {
  double same = 0;
  for (const auto rows : features.npr_histogram) {
    const double share = static_cast<double>(rows) / std::max(1.0, static_cast<double>(features.rows));
    same += share * share;
  }
  return 1 - std::min(1.0, same);
}

// What a product moves: what is stored, CSR's arrays where they are read instead, the vectors; and what neighbouring
// rows of different bins share, as it is read or written for each of them: sectors of y, and of the matrix where it
// stays in place.
template <class T>
double product_bytes(const Features& features, bool stored, int log_granularity, std::int64_t value_bits) {
  const double bits = static_cast<double>(std::min<std::int64_t>(value_bits, full_value_bits<T>));
  const double list = std::ldexp(static_cast<double>(features.rows), -log_granularity) * 4;
  const double matrix =
      csr_bytes<T>(features.rows, features.nnz) - static_cast<double>(features.nnz) * (full_value_bits<T> - bits) / 8;
  const double changes = std::ldexp(static_cast<double>(features.rows) * share_of_changes(features), -log_granularity);
  // At the end of a row in place, a sector of the columns and one of the values.
  const double sectors = stored ? 1 : 3;
  // Rows share no more than there is of them.
  const double shared = std::min(changes * sectors * sector_bytes, matrix + vector_bytes<T>(features));
  return list + matrix + vector_bytes<T>(features) + shared;
}

// The number of bins of that rule that rows of the matrix are in.
int bins_present(const Features& features, const ThreadRule& rule) {
  std::int64_t seen = 0;
  for (int bin = 0; bin < npr_bins; ++bin) {
    if (features.npr_histogram[static_cast<std::size_t>(bin)] == 0) continue;
    const std::int64_t length = bin == 0 ? 0 : (std::int64_t{3} << bin) / 4;
    seen |= std::int64_t{1} << rule.log_threads_of(std::min(length, features.npr_max));
  }
  int count = 0;
  for (; seen != 0; seen &= seen - 1) ++count;
  return count;
}

// How many rows have at least so many nonzeros, from the histogram; whole bins of it, those in doubt counted.
std::int64_t rows_of_at_least(const Features& features, std::int64_t nonzeros) {
  std::int64_t rows = 0;
  for (int bin = 0; bin < npr_bins; ++bin) {
    const std::int64_t longest = (std::int64_t{1} << bin) - 1;
    if (longest >= nonzeros) rows += features.npr_histogram[static_cast<std::size_t>(bin)];
  }
  return features.npr_max >= nonzeros ? rows : 0;
}

// What the parent and the children cost, in launches from the host; 0 where there are none.
int launches_of_children(const Features& features, const Params& params) {
  const auto children = std::min(child_limit_of(params), rows_of_at_least(features, least_of_child));
  return children == 0 ? 0 : 1 + static_cast<int>(children / children_of_launch);
}

// 1 where a format has one launch for all bins, and no other.
bool is_fused(const Params& params) { return params.find("fused").value_or(1) != 0; }

}  // namespace

std::vector<std::int64_t> splits_for(const Features& features, std::int64_t block) {
  if (features.npr_max > usual_split * block) return {usual_split, 0};
  return {0};
}

std::vector<std::int64_t> entries_for(const Features& features) {
  if (features.nnz > busy_nnz) return {8, 4};
  return {4, 2};
}

ParamSpace::Axis child_limits_for(const Features& features) {
  ParamSpace::Axis axis{child_limit, {0}};
  const auto rows = rows_of_at_least(features, least_of_child);
  if (rows == 0) return axis;
  const auto* const guess = std::find_if(child_limits.begin(), child_limits.end() - 1, [&](std::int64_t limit) {
    return limit >= usual_child_limit && limit >= rows;
  });
  axis.values.push_back(*guess);
  std::copy_if(child_limits.begin(), child_limits.end(), std::back_inserter(axis.others),
               [&](std::int64_t limit) { return limit != *guess; });
  return axis;
}

Allowed allowed_child_limits() {
  Allowed allowed{child_limit, {0}};
  allowed.values.insert(allowed.values.end(), child_limits.begin(), child_limits.end());
  return allowed;
}

template <class T>
bool BinnedFormat<T>::deterministic(const Params& params, const Device& device) const {
  return device.backend == Backend::host || (params.find("split") == 0 && child_limit_of(params) == 0);
}

template <class T>
bool BinnedFormat<T>::capturable(const Params& params, const Device& /*device*/) const {
  return child_limit_of(params) == 0;
}

template <class T>
std::vector<Allowed> BinnedFormat<T>::allowed(const Device& device) const {
  if (device.backend == Backend::host) return {{"T", {4, 8}}};
  return {{"value_bits", all_value_bits<T>()},
          {"fused", {0, 1}},
          {"split", {0, 16, 32, 64}},
          {"entries", {1, 2, 4, 8, 16}},
          {"block", {128, 256, 512}}};
}

template <class T>
std::vector<std::int64_t> BinnedFormat<T>::floors(const Params& params, const Device& device) const {
  return device.backend == Backend::host ? fine_floors() : rule_of(params).floors();
}

template <class T>
std::optional<Refusal> BinnedFormat<T>::set_bins(const RowBins& rows, const std::vector<std::int64_t>& floors,
                                                 const Params& params, BinnedShape& shape) const {
  shape.bins = bins_by_rule(rows, floors, rule_of(params), shape.log_granularity);
  return std::nullopt;
}

template <class T>
void BinnedFormat<T>::add_walk(const Features& features, const Params& params, Cost& cost) const {
  cost.walk = walk_of_shared_rows(features, static_cast<double>(params["entries"]));
}

template <class T>
int BinnedFormat<T>::launches(const Features& features, const Params& params) const {
  const auto rule = rule_of(params);
  const bool shares = rule.split > 0 && features.npr_max > static_cast<std::int64_t>(rule.split) * rule.block;
  return (is_fused(params) ? 1 : std::max(1, bins_present(features, rule))) + (shares ? 1 : 0);
}

template <class T>
std::optional<Refusal> BinnedFormat<T>::refuse(std::int64_t rows, const Params& params) {
  // The papers launch children beside a kernel a bin, and share no row among blocks.
  if (child_limit_of(params) > 0 && (params["fused"] != 0 || params["split"] != 0)) {
    return Refusal{"parameters: max_child_threads above 0 takes fused=0 and split=0"};
  }
  // Lists of rows are of 32-bit numbers.
  if (rows <= std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return Refusal{"size: more than 2^31 rows cannot be listed"};
}

template <class T>
Result<Cost> BinnedFormat<T>::cost(const Features& features, const Params& params, const Device& device) const {
  if (auto refusal = refuse(features.rows, params)) return *refusal;
  const bool on_host = device.backend == Backend::host;
  const auto value_bits = on_host ? full_value_bits<T> : params["value_bits"];
  if (auto refusal = refuse_value_bits<T>(features, value_bits)) return *refusal;
  const int log_granularity = log_granularity_of(params);
  Cost cost;
  cost.bytes = product_bytes<T>(features, stored_, log_granularity, value_bits);
  cost.storage_bytes = binned_storage_bytes<T>(features.rows, features.nnz, stored_, log_granularity, value_bits);
  if (stored_) {
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
  }
  if (on_host) {
    cost.work = work(features);
  } else {
    add_walk(features, params, cost);
    cost.launches = launches(features, params) + launches_of_children(features, params);
  }
  return cost;
}

template <class T>
Built<T> BinnedFormat<T>::convert(const CsrView<T>& matrix, const Params& params, const Device& device) const {
  if (auto refusal = refuse(matrix.rows, params)) return *refusal;
  const DeviceScope scope(device);
  BinnedShape shape;
  shape.stored = stored_;
  shape.log_granularity = log_granularity_of(params);
  const auto binned_by = floors(params, device);
  auto rows = bin_rows(matrix.row_ptr, matrix.rows, binned_by, shape.log_granularity, device);
  if (device.backend == Backend::host) {
    shape.bins = bins_of_host(rows, binned_by, static_cast<int>(params["T"]), shape.log_granularity);
  } else {
    shape.fused = is_fused(params);
    shape.block = static_cast<int>(params["block"]);
    shape.value_bits = static_cast<int>(params["value_bits"]);
    if (auto refusal = set_bins(rows, binned_by, params, shape)) return *refusal;
  }
  return make_binned_rows(matrix, std::move(rows), std::move(shape), device);
}

template class BinnedFormat<float>;
template class BinnedFormat<double>;

}  // namespace autospmv::formats
