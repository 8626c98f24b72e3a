#include "formats/blocks/bell/bell.hpp"

#include <algorithm>
#include <cmath>

#include "formats/blocks/family.hpp"

namespace autospmv::formats::bell {

namespace {

template <class T>
class Bell final : public BlockFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "bell",
        .version = 1,
        .summary = "blocked ELLPACK: dense r x c blocks, padded within slices of C block rows",
        .paper =
            "Choi, Singh, Vuduc, \"Model-driven autotuning of sparse matrix-vector multiply on GPUs\", 2010: "
            "BELLPACK; in Vazquez, Ortega, Fernandez, Garzon, \"Improving the performance of the sparse matrix vector "
            "product with GPUs\", 2010, III.D"};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const auto sizes = block_sizes_worth_trying<T>(features);
    if (device.backend == Backend::host) return {{"r", sizes}, {"c", sizes}, {"C", {4, whole}}};
    // Few rows cannot fill the device with one thread each, and long rows keep one busy for too long.
    std::vector<std::int64_t> threads{1, 2};
    const double rows_wanted = 1024.0 * device.multiprocessors;
    if (features.npr_mean > 100 || static_cast<double>(features.rows) < rows_wanted) threads = {4, 2};
    return {{"r", sizes},       {"c", sizes},   {"value_bits", block_value_bits_for<T>(features)},
            {"C", {32, whole}}, {"T", threads}, {"block", {256}}};
  }

 private:
  // C = 0: one slice of all block rows, whatever their number.
  static constexpr std::int64_t whole = 0;

  [[nodiscard]] BlockKernel<T> kernel() const override {
    if constexpr (built_with_cuda) return device::multiply<T>;
    return nullptr;
  }

  [[nodiscard]] std::int64_t slice_of(const Params& params) const override { return params["C"]; }

  // T threads a row, each of which takes a row of a block at a time, and waits for one column of it.
  [[nodiscard]] Walk walk(const Features& features, const BlockLayout& layout, int threads) const override {
    constexpr double step = 0.6;
    return walk_of_blocks(features, layout, layout.r * static_cast<double>(threads), threads, step * layout.c);
  }

  // Blocks and padding blocks. A slice of C block rows is padded as one of C r rows, which blocks make alike.
  [[nodiscard]] double slots(const Features& features, const BlockLayout& layout) const override {
    const double blocks = block_count(features, layout.r, layout.c);
    if (layout.slice == whole) {
      const double fill = std::max(block_fill(features, layout.r, layout.c), 1.0 / layout.c);
      const double longest = std::min(static_cast<double>(features.npr_max) / (layout.c * fill),
                                      std::ceil(static_cast<double>(features.cols) / layout.c));
      return std::max(blocks, (block_rows_of(features, layout.r) + 15) * std::floor(longest));
    }
    const std::int64_t rows = layout.slice * layout.r;
    const auto larger =
        std::find_if(slice_sizes.begin(), slice_sizes.end() - 1, [&](int size) { return size >= rows; });
    return blocks * std::max(1.0, features.sliced_ell_padding[static_cast<std::size_t>(larger - slice_sizes.begin())]);
  }

  [[nodiscard]] std::vector<std::int64_t> threads() const override { return {1, 2, 4, 8}; }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    auto all = BlockFormat<T>::allowed(device);
    all.insert(all.begin() + 2, {"C", {4, 8, 16, 32, 64, 128, whole}});
    return all;
  }
};

}  // namespace

AUTOSPMV_FORMAT(Bell);

}  // namespace autospmv::formats::bell
