#include "formats/bell/bell.hpp"

#include <algorithm>
#include <cmath>

#include "formats/common/block_rules.hpp"

namespace autospmv::formats::bell {

namespace {

template <class T>
class Bell final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "bell",
        .version = 1,
        .summary = "blocked ELLPACK: dense r x c blocks, padded within slices of C block rows",
        .paper =
            "Choi, Singh, Vuduc, \"Model-driven autotuning of sparse matrix-vector multiply on GPUs\", 2010: "
            "BELLPACK; in Vazquez, Ortega, Fernandez, Garzon, \"Improving the performance of the sparse matrix vector "
            "product with GPUs\", 2010, III.D",
        .backends = {Backend::host, Backend::cuda},
        .deterministic = true,
        .baseline = false};
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

  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params,
                                     const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    const auto layout = layout_of(params);
    if (auto refusal = refuse_value_bits<T>(features, layout.value_bits)) return *refusal;
    auto cost = predict_blocks<T>(features, layout, slots(features, layout), device);
    if (cost && device.backend == Backend::cuda && features.nnz > 0) {
      // T threads a row, each of which takes a row of a block at a time.
      const auto threads = static_cast<double>(params["T"]);
      cost->walk = walk_of_blocks(features, layout, layout.r * threads, threads, layout.c);
    }
    return cost;
  }

  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    const BlockLaunch launch{static_cast<int>(params.find("T").value_or(1)),
                             static_cast<int>(params.find("block").value_or(256))};
    return BlockOperator<T>::make(matrix, layout_of(params), launch, kernel(), device);
  }

 private:
  // C = 0: one slice of all block rows, whatever their number.
  static constexpr std::int64_t whole = 0;

  static typename BlockOperator<T>::Kernel kernel() {
    if constexpr (built_with_cuda) return device::multiply<T>;
    return nullptr;
  }

  static BlockLayout layout_of(const Params& params) {
    return {static_cast<int>(params["r"]), static_cast<int>(params["c"]), params["C"],
            static_cast<int>(params.find("value_bits").value_or(full_value_bits<T>))};
  }

  // Blocks and padding blocks. A slice of C block rows is padded as one of C r rows, which blocks make alike.
  static double slots(const Features& features, const BlockLayout& layout) {
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

  static std::vector<Allowed> allowed(const Device& device) {
    std::vector<Allowed> allowed{{"r", block_sizes_allowed()}, {"c", block_sizes_allowed()}};
    allowed.push_back({"C", {4, 8, 16, 32, 64, 128, whole}});
    if (device.backend == Backend::cuda) {
      allowed.push_back({"T", {1, 2, 4, 8}});
      allowed.push_back({"block", {64, 128, 256, 512}});
      allowed.push_back({"value_bits", all_block_value_bits<T>()});
    }
    return allowed;
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const Bell<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::bell
