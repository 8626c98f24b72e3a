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
            {"form", all_forms()},
            {"T", lanes_worth_trying(features, sizes)},
            {"block", {128}}};
  }

  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params,
                                     const Device& device) const override {
    if (auto refusal = refuse(params, device)) return *refusal;
    const auto layout = layout_of(params);
    if (auto refusal = refuse_value_bits<T>(features, layout.value_bits)) return *refusal;
    auto cost = predict_blocks<T>(features, layout, block_count(features, layout.r, layout.c), device);
    if (cost && device.backend == Backend::cuda && features.nnz > 0) {
      const std::int64_t at_once = params["T"] / lanes_of_block<T>(layout.r, layout.c);
      const auto blocks = static_cast<double>(at_once);
      const double idle = std::max(1.0, blocks / mean_blocks(features, layout.r, layout.c));
      const double steps = static_cast<double>(features.npr_max) / (layout.c * blocks);
      cost->imbalance = idle * longest_walk(features, steps, device);
    }
    return cost;
  }

  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const override {
    if (auto refusal = refuse(params, device)) return *refusal;
    const BlockLaunch launch{static_cast<int>(params.find("T").value_or(1)),
                             static_cast<int>(params.find("block").value_or(256)),
                             static_cast<int>(params.find("form").value_or(0))};
    return BlockOperator<T>::make(matrix, layout_of(params), launch, kernel(), device);
  }

 private:
  // Best guess first.
  static std::vector<std::int64_t> all_forms() {
    return {static_cast<int>(Form::checked), static_cast<int>(Form::handed), static_cast<int>(Form::ahead),
            static_cast<int>(Form::whole)};
  }

  static typename BlockOperator<T>::Kernel kernel() {
    if constexpr (built_with_cuda) return device::multiply<T>;
    return nullptr;
  }

  static BlockLayout layout_of(const Params& params) {
    return {static_cast<int>(params["r"]), static_cast<int>(params["c"]), 1,
            static_cast<int>(params.find("value_bits").value_or(full_value_bits<T>))};
  }

  // Of a block row.
  static double mean_blocks(const Features& features, int r, int c) {
    return std::max(1.0, block_count(features, r, c) / block_rows_of(features, r));
  }

  // A round of eight steps a block row; twice and half as many lanes are worth a look.
  static std::vector<std::int64_t> lanes_worth_trying(const Features& features,
                                                      const std::vector<std::int64_t>& sizes) {
    const auto size = static_cast<int>(sizes.front());
    constexpr double steps = 8;
    const double lanes = mean_blocks(features, size, size) / steps * lanes_of_block<T>(size, size);
    const auto fewest = power_of_two_above(lanes_of_block<T>(size, size), 32);
    const auto middle = std::max(fewest, power_of_two_above(lanes, 32));
    std::vector<std::int64_t> all{middle};
    for (const auto other : {middle * 2, middle / 2}) {
      if (other >= fewest && other <= 32) all.push_back(other);
    }
    return all;
  }

  static std::optional<Refusal> refuse(const Params& params, const Device& device) {
    std::vector<Allowed> allowed{{"r", block_sizes_allowed()}, {"c", block_sizes_allowed()}};
    if (device.backend == Backend::cuda) {
      allowed.push_back({"form", all_forms()});
      allowed.push_back({"T", {1, 2, 4, 8, 16, 32}});
      allowed.push_back({"block", {64, 128, 256, 512}});
      allowed.push_back({"value_bits", all_block_value_bits<T>()});
    }
    if (auto refusal = refuse_params(params, allowed)) return refusal;
    const auto r = static_cast<int>(params["r"]);
    const auto c = static_cast<int>(params["c"]);
    if (params.find("T") && params["T"] < lanes_of_block<T>(r, c)) {
      return Refusal{"parameters: T is too few for a block of " + std::to_string(r) + " x " + std::to_string(c)};
    }
    return std::nullopt;
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
