// hdia: DIA in hacks of a multiple of 32 rows, each of which stores only the diagonals that it meets. It suits where
// diagonals are many in all but few in any one place: grids of several blocks, bands that wander, matrices assembled of
// parts. The layout is that of formats/diagonals/storage.hpp.
// Source: Barbieri, Cardellini, Fanfarillo, Filippone, "Three storage formats for sparse matrices on GPGPUs",
// 2015, 3.3.

#include <algorithm>

#include "formats/common/operators.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/diagonals/hdia/constants.hpp"
#include "formats/diagonals/storage.hpp"

namespace autospmv::formats::hdia {

namespace {

// Slots of a row: at least those of ELLPACK in slices of as many rows, since no row meets a diagonal twice.
double fewest_diagonals(const Features& features, std::int64_t hack) {
  double padding = features.sliced_ell_padding.front();
  for (std::size_t i = 0; i < slice_sizes.size(); ++i) {
    if (slice_sizes[i] <= hack) padding = std::max(padding, features.sliced_ell_padding[i]);
  }
  return features.npr_mean * padding;
}

// At most the matrix's own, one for each nonzero of the hack, or all within its columns' span.
double most_diagonals(const Features& features, std::int64_t hack) {
  double most = std::min(features.npr_mean, static_cast<double>(features.cols)) * static_cast<double>(hack);
  most = std::min(most, features.slice_span_mean + static_cast<double>(hack));
  if (features.diagonals <= diagonals_cap) most = std::min(most, static_cast<double>(features.diagonals));
  return most;
}

// Different values beyond which a matrix is not one of constant coefficients.
constexpr std::int64_t most_constants = 64;

// Of the diagonals of such a matrix, those that are not constant within a hack.
constexpr double expected_full = 0.05;

constexpr std::int64_t most_rows_in_full = 4;

// CUDA: a matrix has no empty slots to speak of that has nonzeros in so many of them.
constexpr double full_share = 0.9;

// A slice of 32 rows tells how many diagonals each row adds to those of the first.
double expected_diagonals(const Features& features, std::int64_t hack) {
  const double fewest = fewest_diagonals(features, hack);
  const double most = std::max(fewest, most_diagonals(features, hack));
  constexpr double rows_added = 31;
  const double added = std::max(0.0, features.slice_diagonals_mean - features.npr_mean) / rows_added;
  return std::clamp(features.npr_mean + added * static_cast<double>(hack - 1), fewest, most);
}

// CUDA: refuses so many rows a thread as there is no kernel for, and those of a warp that lie in several hacks.
std::optional<Refusal> refuse_rows(const Params& params) {
  const auto rows = params.find("rows").value_or(1);
  const auto hack = params["hack"];
  if (params["constants"] == 0 && rows > most_rows_in_full) {
    return Refusal{"rows: at most " + std::to_string(most_rows_in_full) + " where diagonals are in full"};
  }
  if (hack % (rows * hack_unit) == 0) return std::nullopt;
  return Refusal{"rows: " + std::to_string(rows) + " times 32 do not divide a hack of " + std::to_string(hack)};
}

template <class T>
class Hdia final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "hdia",
        .version = 5,
        .summary = "diagonals in hacks of rows, no column indices; constant ones stored as one value",
        .paper =
            "Barbieri, Cardellini, Fanfarillo, Filippone, \"Three storage formats for sparse matrices on GPGPUs\", "
            "2015, 3.3"};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    // Whether the few values lie on diagonals of their own is found out by building.
    const bool may_be_constant = features.distinct_values <= most_constants;
    const auto constants = may_be_constant ? std::vector<std::int64_t>{1, 0} : std::vector<std::int64_t>{0};
    if (device.backend == Backend::host) return {{"constants", constants}, {"hack", {256, 1024, 64}}};
    if (may_be_constant) {
      return {{"rows", {8, 4, 2, 1}}, {"constants", constants}, {"hack", {256, 128, 64, 32}}, {"block", {128, 256}}};
    }
    return {{"rows", {1, 2}}, {"constants", constants}, {"hack", {64, 32, 256, 128}}, {"block", {256}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_offsets(features.rows, features.cols)) return *refusal;
    const auto hack = params["hack"];
    const bool constants = params["constants"] == 1;
    if (auto refusal = refuse_rows(params)) return *refusal;
    const std::int64_t hacks = (features.rows + hack - 1) / hack;
    Cost cost;
    const double diagonals = expected_diagonals(features, hack);
    const double all = static_cast<double>(hacks) * diagonals;
    if (constants && features.distinct_values > distinct_values_cap) return Refusal{"values: too many different ones"};
    cost.storage_bytes = constants ? constants_bytes<T>(features.rows, hack, all, expected_full * all)
                                   : hack_bytes<T>(features.rows, hack, all);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    cost.bytes = cost.storage_bytes + vector_bytes<T>(features);
    if (device.backend == Backend::cuda) {
      // A constant diagonal takes a thread as long for several rows as for one. Of the others, many empty slots are as
      // many elements of x that are read for nothing.
      const auto rows = params["rows"];
      const double in_full = features.npr_mean < full_share * diagonals ? 0.4 : 0.2;
      const double step = constants ? 1.2 / static_cast<double>(rows) : in_full;
      cost.walk = walk_of_diagonals(features, diagonals, rows, step, device);
    } else {
      const auto nnz = static_cast<double>(features.nnz);
      // Where slices have more diagonals than are counted, there may be as many as fit.
      const bool uncounted = features.slice_diagonals_mean > static_cast<double>(slice_diagonals_cap);
      const double walked = uncounted ? std::max(diagonals, most_diagonals(features, hack)) : diagonals;
      const double empty = std::max(0.0, walked * static_cast<double>(features.rows) - nnz);
      cost.work = constants ? 0.075 * nnz + 0.3 * empty : 0.12 * nnz;
      cost.conversion = 3.2;
    }
    return cost;
  }

  [[nodiscard]] Params for_any_values(const Params& params) const override {
    auto in_full = Format<T>::for_any_values(params);
    if (const auto rows = params.find("rows")) in_full.set("rows", std::min(*rows, most_rows_in_full));
    return in_full;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_rows(params)) return *refusal;
    DiagonalLayout layout;
    layout.hack = params["hack"];
    layout.rows = static_cast<int>(params.find("rows").value_or(1));
    layout.block = static_cast<int>(params.find("block").value_or(256));
    if (params["constants"] == 1) return operator_or_refusal(build_constants(matrix, layout, device), device);
    return operator_or_refusal(build_diagonals(matrix, layout, device), device);
  }

 private:
  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    std::vector<Allowed> all{{"constants", {0, 1}}, {"hack", {hack_unit, largest_hack}, hack_unit}};
    if (device.backend == Backend::cuda) {
      all.push_back({"rows", {1, 2, 4, 8}});
      all.push_back({"block", {128, 256, 512}});
    }
    return all;
  }
};

}  // namespace

AUTOSPMV_FORMAT(Hdia);

}  // namespace autospmv::formats::hdia
