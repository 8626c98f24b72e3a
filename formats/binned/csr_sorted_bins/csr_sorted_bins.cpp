// csr_sorted_bins: CSR stored again in the order of bins, all of which one launch multiplies. A bin has the rows of up
// to `entries`, 2 entries, 4 entries, ... nonzeros, and each of its rows 1, 2, 4, ... threads, so that none has more
// than `entries` nonzeros to add up.
//
//   entries = 2     bin of 4 threads: rows of 5 to 8 nonzeros     rows      0: a    1: b c d e f    2: g h i    3: j k
//                   bin of 2 threads: rows of 3 and 4             order     1 2 0 3
//                   bin of 1 thread:  rows of up to 2             stored    b c d e f | g h i | a j k
//
// Rows are sorted only as far as their number of threads says, for the others keep y and x in order. Neighbouring
// threads read neighbouring entries, whatever rows they work for.
//   split > 0    rows of more than split nonzeros a thread of a block are shared by several blocks (atomics)
//
// Bins by powers of two are ACSR's, which leaves the matrix in place and gives each bin a kernel. Rows stored in the
// order of their lengths are SURAA's, which cuts them by the distribution of these lengths and gives each segment a
// kernel. That a block of threads finds its bin in a table among the kernel's arguments, so that one launch is enough,
// is ours: where products take microseconds, launches are most of what several kernels take. On the host, acsr and
// suraa tell more lengths apart than these bins do.
//
// Kernels: formats/binned/storage.hpp. Sources: Ashari, Sedaghati, Eisenlohr, Parthasarathy, Sadayappan, "Fast
// sparse matrix-vector multiplication on GPUs for graph applications", 2014; Muhammed, Mehmood, Albeshri, Katib,
// "SURAA: a novel method and tool for loadbalanced and coalesced SpMV computations on GPUs", 2019, 4.1.

#include "formats/binned/family.hpp"

namespace autospmv::formats::csr_sorted_bins {

namespace {

template <class T>
class CsrSortedBins final : public BinnedFormat<T> {
 public:
  CsrSortedBins() : BinnedFormat<T>(true) {}

  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "csr_sorted_bins",
        .version = 1,
        .summary = "CSR sorted into bins of row length by powers of two, in one launch",
        .paper =
            "bins of Ashari, Sedaghati, Eisenlohr, Parthasarathy, Sadayappan, \"Fast sparse matrix-vector "
            "multiplication on GPUs for graph applications\", 2014; sorted storage of Muhammed, Mehmood, Albeshri, "
            "Katib, \"SURAA: a novel method and tool for loadbalanced and coalesced SpMV computations on GPUs\", 2019",
        .backends = {Backend::cuda},
        .deterministic = false};  // rows that blocks share are added up by atomics
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& /*device*/) const override {
    return {{"value_bits", value_bits_for<T>(features)},
            {"entries", {entries_for(features).front()}},
            {"split", splits_for(features, usual_block)},
            {"block", {usual_block}}};
  }

 private:
  [[nodiscard]] double work(const Features& /*features*/) const override { return 0; }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    auto all = BinnedFormat<T>::allowed(device);
    std::erase_if(all, [](const Allowed& one) { return one.name == "fused"; });
    return all;
  }
};

}  // namespace

AUTOSPMV_FORMAT(CsrSortedBins);

}  // namespace autospmv::formats::csr_sorted_bins
