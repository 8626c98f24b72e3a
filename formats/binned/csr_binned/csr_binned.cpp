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
// Kernels: formats/binned/storage.hpp. Source: Hou, Feng, Che, "Auto-tuning strategies for parallelizing sparse
// matrix-vector (SpMV) multiplication on multi- and many-core processors", 2017, as surveyed in Muhammed, Mehmood,
// Albeshri, Katib, "SURAA: a novel method and tool for loadbalanced and coalesced SpMV computations on GPUs", 2019, 3.

#include <bit>
#include <cmath>

#include "formats/binned/family.hpp"
#include "formats/common/predict/host_work.hpp"

namespace autospmv::formats::csr_binned {

namespace {

template <class T>
class CsrBinned final : public BinnedFormat<T> {
 public:
  CsrBinned() : BinnedFormat<T>(false) {}

  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "csr_binned",
        .version = 1,
        .summary = "CSR in place, neighbouring rows binned together, threads a row by bin",
        .paper =
            "Hou, Feng, Che, \"Auto-tuning strategies for parallelizing sparse matrix-vector (SpMV) multiplication on "
            "multi- and many-core processors\", 2017",
        .offered = {},
        .deterministic = false};  // on CUDA, rows that blocks share are added up by atomics
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const std::vector<std::int64_t> granularity{8, 32, 128};
    if (device.backend == Backend::host) return {{"granularity", granularity}, {"T", {4, 8}}};
    return {{"value_bits", value_bits_for<T>(features)},  {"fused", {1, 0}},
            {"split", splits_for(features, usual_block)}, {"granularity", granularity},
            {"entries", {entries_for(features).front()}}, {"block", {usual_block}}};
  }

 private:
  [[nodiscard]] int log_granularity_of(const Params& params) const override {
    return std::countr_zero(static_cast<std::uint64_t>(params["granularity"]));
  }

  [[nodiscard]] std::vector<std::int64_t> floors(const Params& params, const Device& device) const override {
    return device.backend == Backend::host ? lane_floors() : this->rule_of(params).floors();
  }

  [[nodiscard]] double work(const Features& features) const override {
    return work_of_rows(features, {.entry = 0.18, .row = 2.6});
  }

  void add_walk(const Features& features, const Params& params, Cost& cost) const override {
    BinnedFormat<T>::add_walk(features, params, cost);
    // The longest row has no more threads than its virtual row's mean asks for.
    const auto granularity = static_cast<double>(params["granularity"]);
    const double mean = features.npr_mean + static_cast<double>(features.npr_max) / granularity;
    const int log_threads = this->rule_of(params).log_threads_of(static_cast<std::int64_t>(mean));
    cost.walk.longest = std::ldexp(static_cast<double>(features.npr_max), -log_threads);
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    auto all = BinnedFormat<T>::allowed(device);
    all.push_back({"granularity", {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}});
    return all;
  }
};

}  // namespace

AUTOSPMV_FORMAT(CsrBinned);

}  // namespace autospmv::formats::csr_binned
