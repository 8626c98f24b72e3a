// acsr: CSR as it is, and a list of its rows by length. A bin has the rows of up to `entries`, 2 entries, 4 entries,
// ... nonzeros, and each of its rows 1, 2, 4, ... threads, so that none has more than `entries` nonzeros to add up.
//
//   entries = 2     bin of 4 threads: rows of 5 to 8 nonzeros     lengths   1 7 3 2 6 0
//                   bin of 2 threads: rows of 3 and 4             rows      1 4 | 2 | 0 3 5
//                   bin of 1 thread:  rows of up to 2
//
// Nothing of the matrix moves: the setup is a sort of the row numbers by a few bits, and new values cost nothing.
//   fused = 0              a kernel a bin, side by side, as in the paper; 1: one launch for all of them
//   max_child_threads > 0  the bins of the longest rows that hold so many rows together, and none of less than 32
//                          nonzeros, are left to dynamic parallelism, a child kernel a row, as in the paper, which lets
//                          2048 of them wait. Bins then go on by powers of two past a block of threads. 0: no row is
//   split > 0              rows of more than split nonzeros a thread of a block are shared by several blocks (atomics)
// On the host all lengths up to 127 are bins of their own: what costs there is a loop whose end is not foreseen. T is
// the number of partial sums of long rows.
//
// Kernels: formats/binned/storage.hpp. Source: Ashari, Sedaghati, Eisenlohr, Parthasarathy, Sadayappan, "Fast
// sparse matrix-vector multiplication on GPUs for graph applications", 2014, as surveyed in Muhammed, Mehmood,
// Albeshri, Katib, "SURAA: a novel method and tool for loadbalanced and coalesced SpMV computations on GPUs", 2019, 3.

#include <vector>

#include "formats/binned/family.hpp"
#include "formats/common/predict/host_work.hpp"

namespace autospmv::formats::acsr {

namespace {

// Rows of more nonzeros than this share a bin.
constexpr std::int64_t longest_binned = std::int64_t{1} << 30;

template <class T>
class Acsr final : public BinnedFormat<T> {
 public:
  Acsr() : BinnedFormat<T>(false) {}

  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "acsr",
        .version = 2,
        .summary = "CSR in place, rows binned by length, threads a row by bin",
        .paper =
            "Ashari, Sedaghati, Eisenlohr, Parthasarathy, Sadayappan, \"Fast sparse matrix-vector multiplication on "
            "GPUs for graph applications\", 2014",
        .offered = {Backend::cuda},
        .deterministic = false};  // on CUDA, rows that blocks share are added up by atomics
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    if (device.backend == Backend::host) return {{"T", {4, 8}}};
    return {{"value_bits", value_bits_for<T>(features)},  {"fused", {1, 0}},
            {"split", splits_for(features, usual_block)}, child_limits_for(features),
            {"entries", entries_for(features)},           {"block", {usual_block}}};
  }

 private:
  [[nodiscard]] double work(const Features& features) const override {
    return work_of_rows(features, {.entry = 0.24, .row = 2.5});
  }

  [[nodiscard]] std::vector<std::int64_t> floors(const Params& params, const Device& device) const override {
    const auto floors = BinnedFormat<T>::floors(params, device);
    return child_limit_of(params) > 0 ? with_longer_bins(floors) : floors;
  }

  std::optional<Refusal> set_bins(const RowBins& rows, const std::vector<std::int64_t>& floors, const Params& params,
                                  BinnedShape& shape) const override {
    shape.bins = bins_by_rule(rows, floors, this->rule_of(params), 0);
    shape.most_children = child_limit_of(params);
    if (shape.most_children == 0) return std::nullopt;
    shape.dynamic_bins = bins_of_children(rows, floors, shape.most_children);
    if (shape.dynamic_bins > 0) return std::nullopt;
    return Refusal{"dynamic: no bin of long rows is within max_child_threads"};
  }

  // By powers of two past the one that a whole block is given to.
  static std::vector<std::int64_t> with_longer_bins(const std::vector<std::int64_t>& floors) {
    std::vector<std::int64_t> all;
    for (auto floor = longest_binned; floor > floors.front(); floor /= 2) all.push_back(floor);
    all.insert(all.end(), floors.begin(), floors.end());
    return all;
  }

  // Whole bins, of those that hold any rows.
  static int bins_of_children(const RowBins& rows, const std::vector<std::int64_t>& floors, std::int64_t most) {
    int filled = 0;
    for (std::size_t bin = 0; floors[bin] + 1 >= least_of_child && rows.first[bin + 1] <= most; ++bin) {
      filled += rows.first[bin] < rows.first[bin + 1] ? 1 : 0;
    }
    return filled;
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    auto all = BinnedFormat<T>::allowed(device);
    if (device.backend == Backend::cuda) all.push_back(allowed_child_limits());
    return all;
  }
};

}  // namespace

AUTOSPMV_FORMAT(Acsr);

}  // namespace autospmv::formats::acsr
