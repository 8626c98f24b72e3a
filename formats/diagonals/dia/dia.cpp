// dia: the diagonals that hold nonzeros, each stored in full beside its offset. No column is stored or read, so a
// matrix of few dense diagonals moves a third fewer bytes than CSR; a symmetric one, stored in half, fewer still. The
// layouts are those of formats/diagonals/storage.hpp, one hack of all rows, and of symmetric.hpp. Source: Bell,
// Garland, "Implementing sparse matrix-vector multiplication on throughput-oriented processors", 2009, 3.1 and 4.1.

#include <algorithm>

#include "formats/common/operators.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/diagonals/dia/symmetric.hpp"
#include "formats/diagonals/storage.hpp"

namespace autospmv::formats::dia {

namespace {

// Of the cache between the cores and memory, what the rows between the two looks at a value may fill.
constexpr double usable_cache = 0.5;

double stored_diagonals(const Features& features, bool symmetric) {
  const auto all = static_cast<double>(features.diagonals);
  return symmetric ? (all + 1) / 2 : all;
}

template <class T>
double moved_bytes(const Features& features, bool symmetric, const Device& device) {
  const auto full = diagonal_bytes<T>(features.rows, stored_diagonals(features, false)) + vector_bytes<T>(features);
  if (!symmetric) return full;
  const double stored = stored_diagonals(features, true);
  const auto half = diagonal_bytes<T>(features.rows, stored) + vector_bytes<T>(features);
  const double between = static_cast<double>(features.upper_bandwidth) * stored * sizeof(T);
  if (between > usable_cache * static_cast<double>(device.cache_bytes)) return full;
  return half;
}

// Of a symmetric matrix a device looks at each value twice. The second look takes this much of what a byte of memory
// takes, unless the rows of a block of threads reach from one look to the other, as those of many rows often do.
double cost_of_second_look(const Params& params) {
  constexpr double cost = 0.3;
  constexpr double few_rows = 512;
  return cost * std::min(1.0, few_rows / static_cast<double>(params["block"] * params["rows"]));
}

template <class T>
class Dia final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "dia",
        .version = 6,
        .summary = "diagonals and their offsets, no column indices; symmetric ones stored once",
        .paper =
            "Bell, Garland, \"Implementing sparse matrix-vector multiplication on throughput-oriented "
            "processors\", 2009, 4.1; Barbieri, Cardellini, Fanfarillo, Filippone, \"Three storage formats for "
            "sparse matrices on GPGPUs\", 2015, 3.3"};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    // Whether the values are symmetric too is found out by building.
    const bool may_be_symmetric = features.symmetric_pattern && features.sorted_columns;
    const auto symmetric = may_be_symmetric ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0};
    if (device.backend == Backend::host) return {{"symmetric", symmetric}};
    return {{"block", {256, 128, 512}}, {"rows", {1, 2, 4}}, {"symmetric", symmetric}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_offsets(features.rows, features.cols)) return *refusal;
    if (features.diagonals > diagonals_cap) {
      return Refusal{"diagonals: more than " + std::to_string(diagonals_cap)};
    }
    const bool symmetric = params["symmetric"] == 1;
    if (symmetric && !features.symmetric_pattern) return Refusal{"pattern: not symmetric"};
    if (symmetric && !features.sorted_columns) return Refusal{"columns: not in order"};
    Cost cost;
    cost.storage_bytes = diagonal_bytes<T>(features.rows, stored_diagonals(features, symmetric));
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    cost.bytes = moved_bytes<T>(features, symmetric, device);
    if (device.backend == Backend::cuda) {
      if (symmetric) cost.bytes *= 1 + cost_of_second_look(params);
      constexpr double step = 0.2;
      cost.walk = walk_of_diagonals(features, static_cast<double>(features.diagonals), params["rows"], step, device);
    } else {
      cost.work = (symmetric ? 0.25 : 0.08) * cost.bytes / sizeof(T);
      cost.conversion = symmetric ? 2 : 1.5;
    }
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    DiagonalLayout layout;
    layout.rows = static_cast<int>(params.find("rows").value_or(1));
    layout.block = static_cast<int>(params.find("block").value_or(256));
    if (params["symmetric"] == 1) return operator_or_refusal(build_symmetric(matrix, layout, device), device);
    return operator_or_refusal(build_diagonals(matrix, layout, device), device);
  }

 private:
  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {{"symmetric", {0, 1}}};
    return {{"symmetric", {0, 1}}, {"rows", {1, 2, 4}}, {"block", {128, 256, 512}}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(Dia);

}  // namespace autospmv::formats::dia
