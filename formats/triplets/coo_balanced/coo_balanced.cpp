// coo_balanced: sorted triplets in as many equal shares as the device runs warps at once, or `oversubscription` times
// as many. Few long shares cut few rows, so that there are few additions to the same element of y; more of them than
// run at once even out what the gathers from x take.
//
//   a . b     rows     0 0 1 | 2 2       two shares, whatever the number of entries
//   . c .     columns  0 2 1 | 0 1
//   d e .     values   a b c | d e
//
// The triplets, their product and how rows are put together: formats/triplets/storage.hpp, equal_shares.hpp. fixup = 1
// is the paper's: atomics where a share ends within a row. On the host, oversubscription is the number of shares a
// thread.

#include <algorithm>

#include "formats/common/predict/rules.hpp"
#include "formats/triplets/family.hpp"

namespace autospmv::formats::coo_balanced {

namespace {

constexpr int warp = 32;

// Warps that a multiprocessor issues instructions of at once: what the paper counts in, as cores over 32.
constexpr std::int64_t issuing_warps = 4;

std::int64_t workers(const Device& device) {
  const std::int64_t processors = std::max(1, device.multiprocessors);
  return device.backend == Backend::host ? processors : processors * issuing_warps;
}

template <class T>
class CooBalanced final : public TripletsFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "coo_balanced",
        .version = 1,
        .summary = "sorted triplets in equal shares, a multiple of the warps that run at once",
        .paper =
            "Flegar, Anzt, \"Overcoming load imbalance for irregular sparse matrices\", 2017, 3: balanced COO with "
            "warp-level segmented scan and oversubscription",
        .offered = {},
        .deterministic = false};  // with fixup = 1, rows that span shares are added up by atomics
    return info;
  }

 protected:
  [[nodiscard]] std::optional<ParamSpace::Axis> own_param(const Features& features,
                                                          const Device& device) const override {
    if (device.backend == Backend::host) return ParamSpace::Axis{"oversubscription", {4, 1}};
    // 16 is what a multiprocessor holds; from there on shares of about 512 entries, and others around.
    const double shares = static_cast<double>(features.nnz) / (512.0 * static_cast<double>(workers(device)));
    const auto middle = std::max<std::int64_t>(16, power_of_two_above(shares, 512));
    return ParamSpace::Axis{"oversubscription", {middle, middle / 2, middle * 2}};
  }

  [[nodiscard]] std::optional<Allowed> whole_own_param(const Device& /*device*/) const override {
    return Allowed{"oversubscription", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}};
  }

  [[nodiscard]] std::int64_t share(const Params& params, std::int64_t entries, const Device& device) const override {
    const auto shares = params["oversubscription"] * workers(device);
    const std::int64_t unit = device.backend == Backend::host ? 1 : warp;
    return std::max<std::int64_t>(1, (entries + shares * unit - 1) / (shares * unit)) * unit;
  }
};

}  // namespace

AUTOSPMV_FORMAT(CooBalanced);

}  // namespace autospmv::formats::coo_balanced
