// ell_warp_split: rows sorted by length and stored in groups of a warp, column by column within each group, where a row
// of more than `threshold` entries is halved, and its halves again, until no thread has more than that. The parts of a
// row lie side by side in its warp and are added up by shuffles, so that the result is the same every time.
//
//   threshold = 2, 4 lanes a group     row 0: a b c d e f g   ->  4 parts     group 0: a b c d | e f g .
//                                      row 1: h i j           ->  2 parts     group 1: h i k l | j . m .
//                                      row 2: k m, row 3: l   ->  1 part
//
// The paper's survey says when a row is subdivided, not where its parts go. The reading chosen: entries are dealt out
// among the parts in turn rather than cut in contiguous halves, so that neighbouring threads read neighbouring entries
// of x; a row has 32 parts at most, and one that is still over the threshold is read by a whole block of up to 1024
// threads, in the same order of storage.
//
// Groups of lanes: formats/lanes/storage.hpp. Source: Wong, Kuhl, Darve, "A new sparse matrix vector multiplication
// graphics processing unit algorithm designed for finite element problems", 2015: ELL-WARP v2 (K2), WPK2 in Muhammed,
// Mehmood, Albeshri, Katib, "SURAA: a novel method and tool for loadbalanced and coalesced SpMV computations on GPUs",
// 2019, 3.

#include "formats/lanes/family.hpp"

namespace autospmv::formats::ell_warp_split {

namespace {

template <class T>
class EllWarpSplit final : public LanesFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "ell_warp_split",
        .version = 3,
        .summary = "ELLPACK in warps of sorted rows, rows over a threshold halved among threads",
        .paper =
            "Wong, Kuhl, Darve, \"A new sparse matrix vector multiplication graphics processing unit algorithm "
            "designed for finite element problems\", 2015: ELL-WARP v2"};
    return info;
  }

 private:
  using Axes = typename LanesFormat<T>::Axes;

  static constexpr std::int64_t least = 4;
  static constexpr std::int64_t most = 512;

  [[nodiscard]] Axes own_params(const Features& features, const Device& device) const override {
    // Most rows whole and the tail split, or every row split where rows are long: then few threads would be busy.
    const auto near_mean = std::max<std::int64_t>(least, power_of_two_above(features.npr_mean, 64));
    std::vector<std::int64_t> tried{2 * near_mean, near_mean / 2, near_mean, 8 * near_mean};
    if (device.backend == Backend::host) tried = {8 * near_mean, near_mean};
    std::vector<std::int64_t> thresholds;
    for (const auto threshold : tried) {
      const bool splits = threshold >= least && threshold <= most && threshold < features.npr_max;
      if (splits) thresholds.push_back(threshold);
    }
    if (thresholds.empty()) thresholds.push_back(least);
    return {{"threshold", thresholds}};
  }

  [[nodiscard]] std::vector<Allowed> own_allowed() const override {
    return {{"threshold", {4, 8, 16, 32, 64, 128, 256, 512}}};
  }

  [[nodiscard]] const char* why_no_row_is_shared() const override {
    return "threshold: no row is over it, so this is the format without splitting";
  }

  [[nodiscard]] LaneClasses classes_of(const Params& params, std::int64_t /*nnz*/,
                                       const Device& /*device*/) const override {
    return {.height = params["threshold"], .count = 7, .lanes = {32, 32, 16, 8, 4, 2, 1}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(EllWarpSplit);

}  // namespace autospmv::formats::ell_warp_split
