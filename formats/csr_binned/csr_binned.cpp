// csr_binned: CSR as it is, in virtual rows of `granularity` neighbouring rows that are dealt out to bins by the work
// in them. Rows of a bin all get the same number of threads, as their mean length asks for; neighbours stay together,
// so x and y are read and written as by plain CSR, and the list of virtual rows is short.
//
//   granularity = 2   lengths         1 3 | 9 7 | 2 0 | 8 6      2 threads a row: virtual rows 1 3   (rows 2 3 6 7)
//   entries = 4       mean lengths    2     8     1     7        1 thread a row:  virtual rows 0 2   (rows 0 1 4 5)
//
// The paper trains a decision tree to choose the granularity of a matrix and the kernel of a bin: here trials choose
// the first, and `entries` nonzeros a thread, 8, 4 or 2, the second.
//   fused = 0    a kernel a bin, side by side, as in the paper; 1: one launch for all of them
//   split > 0    virtual rows of more than split nonzeros a thread of a block and row get several blocks a row
//   (atomics)
// On the host, T is the number of partial sums of a row in bins of long rows.
//
// Kernels: formats/common/binned_rows.hpp. Source: Hou, Feng, Che, "Auto-tuning strategies for parallelizing sparse
// matrix-vector (SpMV) multiplication on multi- and many-core processors", 2017, as surveyed in Muhammed, Mehmood,
// Albeshri, Katib, "SURAA: a novel method and tool for loadbalanced and coalesced SpMV computations on GPUs", 2019, 3.

#include <bit>
#include <cmath>

#include "formats/common/binned_rows.hpp"
#include "formats/common/binned_rules.hpp"
#include "formats/common/host_work.hpp"
#include "formats/common/walks.hpp"

namespace autospmv::formats::csr_binned {

namespace {

template <class T>
class CsrBinned final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "csr_binned",
        .version = 1,
        .summary = "CSR in place, neighbouring rows binned together, threads a row by bin",
        .paper =
            "Hou, Feng, Che, \"Auto-tuning strategies for parallelizing sparse matrix-vector (SpMV) multiplication on "
            "multi- and many-core processors\", 2017",
        .backends = {Backend::host, Backend::cuda},
        .deterministic = false,  // on CUDA, rows that blocks share are added up by atomics
        .baseline = false};
    return info;
  }

  [[nodiscard]] bool deterministic(const Params& params, const Device& device) const override {
    return device.backend == Backend::host || params.find("split") == 0;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const std::vector<std::int64_t> granularity{8, 32, 128};
    if (device.backend == Backend::host) return {{"granularity", granularity}, {"T", {4, 8}}};
    return {{"value_bits", value_bits_for<T>(features)},  {"fused", {1, 0}},
            {"split", splits_for(features, usual_block)}, {"granularity", granularity},
            {"entries", {entries_for(features).front()}}, {"block", {usual_block}}};
  }

  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params,
                                     const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    if (auto refusal = refuse_rows(features.rows)) return *refusal;
    const int log_granularity = log_granularity_of(params);
    const bool on_host = device.backend == Backend::host;
    const auto value_bits = on_host ? full_value_bits<T> : params["value_bits"];
    if (auto refusal = refuse_value_bits<T>(features, value_bits)) return *refusal;
    Cost cost;
    cost.bytes = binned_product_bytes<T>(features, false, log_granularity, value_bits);
    cost.storage_bytes = binned_storage_bytes<T>(features, false, log_granularity, value_bits);
    if (on_host) {
      cost.work = work_of_rows(features, {.entry = 0.26, .row = 3.1});
      return cost;
    }
    const auto rule = rule_of(params);
    cost.walk = walk_of_shared_rows(features, static_cast<double>(params["entries"]));
    // The longest row has no more threads than its virtual row's mean asks for.
    const auto granularity = static_cast<double>(params["granularity"]);
    const double mean = features.npr_mean + static_cast<double>(features.npr_max) / granularity;
    const int log_threads = rule.log_threads_of(static_cast<std::int64_t>(mean));
    cost.walk.longest = std::ldexp(static_cast<double>(features.npr_max), -log_threads);
    cost.launches = launches(features, rule, params["fused"] != 0);
    return cost;
  }

  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    if (auto refusal = refuse_rows(matrix.rows)) return *refusal;
    const DeviceScope scope(device);
    BinnedShape shape;
    shape.log_granularity = log_granularity_of(params);
    const bool on_host = device.backend == Backend::host;
    const auto rule = on_host ? ThreadRule{} : rule_of(params);
    const auto floors = on_host ? lane_floors() : rule.floors();
    auto rows = bin_rows(matrix.row_ptr, matrix.rows, floors, shape.log_granularity, device);
    if (on_host) {
      shape.bins = bins_of_host(rows, floors, static_cast<int>(params["T"]), shape.log_granularity);
    } else {
      shape.fused = params["fused"] != 0;
      shape.block = rule.block;
      shape.value_bits = static_cast<int>(params["value_bits"]);
      shape.bins = bins_by_rule(rows, floors, rule, shape.log_granularity);
    }
    return make_binned_rows(matrix, std::move(rows), std::move(shape), device);
  }

 private:
  static ThreadRule rule_of(const Params& params) {
    return {static_cast<int>(params["entries"]), static_cast<int>(params["block"]), static_cast<int>(params["split"])};
  }

  static int log_granularity_of(const Params& params) {
    return std::countr_zero(static_cast<std::uint64_t>(params["granularity"]));
  }

  static std::vector<Allowed> allowed(const Device& device) {
    const Allowed granularity{"granularity", {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}};
    if (device.backend == Backend::host) return {granularity, {"T", {4, 8}}};
    auto all = allowed_of_bins<T>();
    all.push_back(granularity);
    return all;
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const CsrBinned<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::csr_binned
