// coo: sorted triplets, `items` of them a thread: a warp sums items x 32 neighbouring entries by a segmented scan, rows
// of any length alike.
//
//   a . b     rows     0 0 | 1 2 | 2       shares of a warp, here of two entries: rows 0 and 1 are stored by the warp
//   . c .     columns  0 2 | 1 0 | 1       that has them, row 2 is put together from two
//   d e .     values   a b | c d | e
//
// The triplets, their product and how rows are put together: formats/triplets/storage.hpp, equal_shares.hpp. fixup = 2
// is the paper's: carries are written down and a second kernel adds them. On the host each thread has a share.

#include <algorithm>

#include "formats/common/predict/rules.hpp"
#include "formats/triplets/family.hpp"

namespace autospmv::formats::coo {

namespace {

template <class T>
class Coo final : public TripletsFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "coo",
        .version = 1,
        .summary = "sorted triplets, segmented reduction",
        .paper =
            "Bell, Garland, \"Implementing sparse matrix-vector multiplication on throughput-oriented "
            "processors\", 2009, 4.3",
        .offered = {},
        .deterministic = false};  // with fixup = 1, rows that span shares are added up by atomics
    return info;
  }

 protected:
  [[nodiscard]] std::optional<ParamSpace::Axis> own_param(const Features& features,
                                                          const Device& device) const override {
    if (device.backend == Backend::host) return std::nullopt;
    // Longer shares cut fewer rows; but first every multiprocessor wants enough warps to hide the loads behind.
    constexpr double threads_wanted = 32.0 * 32;
    const double wanted = threads_wanted * std::max(1, device.multiprocessors);
    const auto items = power_of_two_above(static_cast<double>(features.nnz) / wanted, 8);
    std::vector<std::int64_t> values{items};
    if (items > 1) values.push_back(items / 2);
    values.push_back(items * 2);
    return ParamSpace::Axis{"items", values};
  }

  [[nodiscard]] std::optional<Allowed> whole_own_param(const Device& device) const override {
    if (device.backend == Backend::host) return std::nullopt;
    return Allowed{"items", {1, 2, 4, 8, 16, 32}};
  }

  [[nodiscard]] std::int64_t share(const Params& params, std::int64_t entries, const Device& device) const override {
    if (const auto items = params.find("items")) return *items * 32;
    const std::int64_t threads = std::max(1, device.multiprocessors);
    return std::max<std::int64_t>(1, (entries + threads - 1) / threads);
  }
};

}  // namespace

AUTOSPMV_FORMAT(Coo);

}  // namespace autospmv::formats::coo
