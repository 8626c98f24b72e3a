#include "formats/bsr/bsr.hpp"

#include <algorithm>
#include <cmath>

#include "formats/common/block_rules.hpp"

namespace autospmv::formats::bsr {

namespace {

template <class T>
class Bsr final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "bsr",
        .version = 3,
        .summary = "blocked CSR: dense r x c blocks, one column index each",
        .paper =
            "Choi, Singh, Vuduc, \"Model-driven autotuning of sparse matrix-vector multiply on GPUs\", 2010: "
            "BCSR; in Muhammed, Mehmood, Albeshri, Katib, \"SURAA: a novel method and tool for loadbalanced and "
            "coalesced SpMV computations on GPUs\", 2019, 3",
        .backends = {Backend::host, Backend::cuda},
        .deterministic = true,
        .baseline = false};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const auto sizes = block_sizes_worth_trying<T>(features);
    if (device.backend == Backend::host) return {{"r", sizes}, {"c", sizes}};
    return {{"r", sizes},
            {"c", sizes},
            {"value_bits", block_value_bits_for<T>(features)},
            {"T", lanes_worth_trying(features, static_cast<int>(sizes.front()), device)},
            {"block", {128}}};
  }

  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params,
                                     const Device& device) const override {
    if (auto refusal = refuse(params, device)) return *refusal;
    const auto layout = layout_of(params);
    if (auto refusal = refuse_value_bits<T>(features, layout.value_bits)) return *refusal;
    auto cost = predict_blocks<T>(features, layout, block_count(features, layout.r, layout.c), device);
    if (cost && device.backend == Backend::cuda && features.nnz > 0) {
      const int lanes = lanes_of_row<T>(layout.r, layout.c, static_cast<int>(params["T"]));
      constexpr double steps_of_block = 2;
      const int at_once = lanes / lanes_of_block<T>(layout.r, layout.c);
      cost->walk = walk_of_blocks(features, layout, lanes, at_once, steps_of_block);
    }
    return cost;
  }

  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const override {
    if (auto refusal = refuse(params, device)) return *refusal;
    const BlockLaunch launch{static_cast<int>(params.find("T").value_or(1)),
                             static_cast<int>(params.find("block").value_or(256))};
    return BlockOperator<T>::make(matrix, layout_of(params), launch, kernel(), device);
  }

 private:
  static typename BlockOperator<T>::Kernel kernel() {
    if constexpr (built_with_cuda) return device::multiply<T>;
    return nullptr;
  }

  static BlockLayout layout_of(const Params& params) {
    return {static_cast<int>(params["r"]), static_cast<int>(params["c"]), 1,
            static_cast<int>(params.find("value_bits").value_or(full_value_bits<T>))};
  }

  // Those that differ for blocks of the likeliest size, best guess first: few lanes a block row, unless there are too
  // few block rows to keep the device busy, or such uneven ones that those of a warp would wait for the longest.
  static std::vector<std::int64_t> lanes_worth_trying(const Features& features, int size, const Device& device) {
    std::vector<std::int64_t> all;
    for (const int threads : {AUTOSPMV_BSR_LANES}) {
      const int lanes = lanes_of_row<T>(size, size, threads);
      if (all.empty() || lanes != lanes_of_row<T>(size, size, static_cast<int>(all.back()))) all.push_back(threads);
    }
    constexpr double enough = 32;  // block rows a multiprocessor
    const bool few_rows = block_rows_of(features, size) < enough * device.multiprocessors;
    const bool uneven = features.npr_variance > features.npr_mean * features.npr_mean / 9;
    if (few_rows || uneven) std::reverse(all.begin(), all.end());
    return all;
  }

  static std::optional<Refusal> refuse(const Params& params, const Device& device) {
    std::vector<Allowed> allowed{{"r", block_sizes_allowed()}, {"c", block_sizes_allowed()}};
    if (device.backend == Backend::cuda) {
      allowed.push_back({"T", {AUTOSPMV_BSR_LANES}});
      allowed.push_back({"block", {64, 128, 256, 512}});
      allowed.push_back({"value_bits", all_block_value_bits<T>()});
    }
    return refuse_params(params, allowed);
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const Bsr<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::bsr
