#include "formats/blocks/bsr/bsr.hpp"

#include <algorithm>
#include <cmath>

#include "formats/blocks/family.hpp"

namespace autospmv::formats::bsr {

namespace {

template <class T>
class Bsr final : public BlockFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "bsr",
        .version = 3,
        .summary = "blocked CSR: dense r x c blocks, one column index each",
        .paper =
            "Choi, Singh, Vuduc, \"Model-driven autotuning of sparse matrix-vector multiply on GPUs\", 2010: "
            "BCSR; in Muhammed, Mehmood, Albeshri, Katib, \"SURAA: a novel method and tool for loadbalanced and "
            "coalesced SpMV computations on GPUs\", 2019, 3"};
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

 private:
  [[nodiscard]] BlockKernel<T> kernel() const override {
    if constexpr (built_with_cuda) return device::multiply<T>;
    return nullptr;
  }

  [[nodiscard]] std::int64_t slice_of(const Params& /*params*/) const override { return 1; }

  [[nodiscard]] double slots(const Features& features, const BlockLayout& layout) const override {
    return block_count(features, layout.r, layout.c);
  }

  [[nodiscard]] Walk walk(const Features& features, const BlockLayout& layout, int threads) const override {
    const int lanes = lanes_of_row<T>(layout.r, layout.c, threads);
    const int at_once = lanes / lanes_of_block<T>(layout.r, layout.c);
    constexpr double steps_of_block = 1;
    return walk_of_blocks(features, layout, lanes, at_once, steps_of_block);
  }

  [[nodiscard]] std::vector<std::int64_t> threads() const override { return {AUTOSPMV_BSR_LANES}; }

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
};

}  // namespace

AUTOSPMV_FORMAT(Bsr);

}  // namespace autospmv::formats::bsr
