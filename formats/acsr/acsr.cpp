// acsr: CSR as it is, and a list of its rows by length. A bin has the rows of up to `entries`, 2 entries, 4 entries,
// ... nonzeros, and each of its rows 1, 2, 4, ... threads, so that none has more than `entries` nonzeros to add up.
//
//   entries = 2     bin of 4 threads: rows of 5 to 8 nonzeros     lengths   1 7 3 2 6 0
//                   bin of 2 threads: rows of 3 and 4             rows      1 4 | 2 | 0 3 5
//                   bin of 1 thread:  rows of up to 2
//
// Nothing of the matrix moves: the setup is a sort of the row numbers by a few bits, and new values cost nothing.
//   fused = 0    a kernel a bin, side by side, as in the paper; 1: one launch for all of them
//   tail > 0     the bins of rows of more than so many nonzeros are left to dynamic parallelism, a child kernel a row,
//                as long as they hold no more rows than the device runtime lets wait by default; 0: none is. The
//                paper's own form, to be chosen by hand: suraa.cpp says why it is not offered
//   split > 0    rows of more than split nonzeros a thread of a block are shared by several blocks (atomics)
// On the host all lengths up to 127 are bins of their own: what costs there is a loop whose end is not foreseen. T is
// the number of partial sums of long rows.
//
// Kernels: formats/common/binned_rows.hpp. Source: Ashari, Sedaghati, Eisenlohr, Parthasarathy, Sadayappan, "Fast
// sparse matrix-vector multiplication on GPUs for graph applications", 2014, as surveyed in Muhammed, Mehmood,
// Albeshri, Katib, "SURAA: a novel method and tool for loadbalanced and coalesced SpMV computations on GPUs", 2019, 3.

#include <algorithm>
#include <functional>

#include "formats/common/binned_rows.hpp"
#include "formats/common/binned_rules.hpp"
#include "formats/common/host_work.hpp"
#include "formats/common/walks.hpp"

namespace autospmv::formats::acsr {

namespace {

// Rows that may go to child kernels: launches that may wait where nobody has raised their limit.
constexpr std::int64_t most_children = 2048;

template <class T>
class Acsr final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "acsr",
        .version = 1,
        .summary = "CSR in place, rows binned by length, threads a row by bin",
        .paper =
            "Ashari, Sedaghati, Eisenlohr, Parthasarathy, Sadayappan, \"Fast sparse matrix-vector multiplication on "
            "GPUs for graph applications\", 2014",
        .backends = {Backend::host, Backend::cuda},
        .deterministic = false,  // on CUDA, rows that blocks share are added up by atomics
        .baseline = false};
    return info;
  }

  [[nodiscard]] bool deterministic(const Params& params, const Device& device) const override {
    return device.backend == Backend::host || (params.find("split") == 0 && params.find("tail") == 0);
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    if (device.backend == Backend::host) return {{"T", {4, 8}}};
    return {{"value_bits", value_bits_for<T>(features)},  {"fused", {1, 0}},
            {"split", splits_for(features, usual_block)}, {"tail", {0}},
            {"entries", entries_for(features)},           {"block", {usual_block}}};
  }

  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params,
                                     const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    if (auto refusal = refuse_rows(features.rows)) return *refusal;
    if (device.backend == Backend::host) {
      return Cost{.bytes = binned_product_bytes<T>(features, false, 0, full_value_bits<T>),
                  .storage_bytes = binned_storage_bytes<T>(features, false, 0, full_value_bits<T>),
                  .work = work_of_rows(features, {.entry = 0.27, .row = 3.2})};
    }
    if (auto refusal = refuse_value_bits<T>(features, params["value_bits"])) return *refusal;
    const auto rule = rule_of(params);
    Cost cost;
    cost.bytes = binned_product_bytes<T>(features, false, 0, params["value_bits"]);
    cost.storage_bytes = binned_storage_bytes<T>(features, false, 0, params["value_bits"]);
    cost.walk = walk_of_shared_rows(features, static_cast<double>(params["entries"]));
    cost.launches = launches(features, rule, params["fused"] != 0);
    if (params["tail"] > 0) cost.launches += launches_of_children(rows_of_at_least(features, params["tail"] + 1));
    return cost;
  }

  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    if (auto refusal = refuse_rows(matrix.rows)) return *refusal;
    const DeviceScope scope(device);
    BinnedShape shape;
    if (device.backend == Backend::host) {
      const auto floors = fine_floors();
      auto rows = bin_rows(matrix.row_ptr, matrix.rows, floors, 0, device);
      shape.bins = bins_of_host(rows, floors, static_cast<int>(params["T"]), 0);
      return make_binned_rows(matrix, std::move(rows), std::move(shape), device);
    }
    const auto rule = rule_of(params);
    const auto floors = with_tail(rule.floors(), params["tail"]);
    auto rows = bin_rows(matrix.row_ptr, matrix.rows, floors, 0, device);
    shape.fused = params["fused"] != 0;
    shape.block = rule.block;
    shape.value_bits = static_cast<int>(params["value_bits"]);
    shape.bins = bins_by_rule(rows, floors, rule, 0);
    if (params["tail"] > 0) {
      shape.dynamic_bins = bins_of_tail(rows, floors, params["tail"]);
      shape.most_children = most_children;
      if (shape.dynamic_bins == 0) return Refusal{"dynamic: no row, or too many of them, in the bins past the tail"};
    }
    return make_binned_rows(matrix, std::move(rows), std::move(shape), device);
  }

 private:
  static ThreadRule rule_of(const Params& params) {
    return {static_cast<int>(params["entries"]), static_cast<int>(params["block"]), static_cast<int>(params["split"])};
  }

  // The bin that the tail begins in, cut there.
  static std::vector<std::int64_t> with_tail(std::vector<std::int64_t> floors, std::int64_t tail) {
    const auto at = std::lower_bound(floors.begin(), floors.end(), tail, std::greater<>());
    if (tail > 0 && *at != tail) floors.insert(at, tail);
    return floors;
  }

  // Whole bins, those that begin past the tail: how many of them hold any rows; 0 where they hold too many.
  static int bins_of_tail(const RowBins& rows, const std::vector<std::int64_t>& floors, std::int64_t tail) {
    int filled = 0;
    std::size_t bin = 0;
    for (; bin < floors.size() && floors[bin] >= tail; ++bin) filled += rows.first[bin] < rows.first[bin + 1] ? 1 : 0;
    return rows.first[bin] <= most_children ? filled : 0;
  }

  static std::vector<Allowed> allowed(const Device& device) {
    if (device.backend == Backend::host) return {{"T", {4, 8}}};
    auto all = allowed_of_bins<T>();
    all.push_back({"tail", {0, 512, 1024, 2048, 4096}});
    return all;
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const Acsr<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::acsr
