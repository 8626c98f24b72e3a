// What blocked formats have in common when they admit, refuse and predict.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "features/features.hpp"
#include "formats/blocks/storage.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/rules.hpp"

namespace autospmv::formats {

/// Blocks of more bytes than so many times the CSR arrays hold too many zeros to be worth a trial. Of recorded runs of
/// 147 matrices on an H200, in double and in float, one beyond this came within a tenth of the best, and was not it. A
/// processor, which saves the loading of columns, can afford more.
inline double largest_block_growth(const Device& device) { return device.backend == Backend::cuda ? 1.1 : 1.5; }

/// Refuses so many block slots, whatever their values may be encoded in: what takes fewer bits here does so elsewhere.
template <class T>
std::optional<Refusal> refuse_fill(BlockLayout layout, double block_rows, double block_slots, double bytes_of_csr,
                                   const Device& device) {
  if (device.any_padding) return std::nullopt;
  layout.value_bits = full_value_bits<T>;
  const double bytes = block_bytes<T>(layout, block_rows, block_slots);
  if (bytes <= small_storage_bytes || bytes <= largest_block_growth(device) * bytes_of_csr) return std::nullopt;
  return Refusal{"padding: blocks of " + megabytes(bytes) + " where CSR has " + megabytes(bytes_of_csr)};
}

/// Share of the elements of r x c blocks that are nonzeros: measured where r = c is among block_sizes, else estimated.
double block_fill(const Features& features, int r, int c);

/// Blocks that hold nonzeros, by that share.
double block_count(const Features& features, int r, int c);

inline double block_rows_of(const Features& features, int r) {
  return std::max(1.0, std::ceil(static_cast<double>(features.rows) / r));
}

/// Values for r and c alike, best guess first: the square blocks of fewest bytes, and where those are 2, 4 or 8 the
/// next best of these too, for the rectangles between them.
template <class T>
std::vector<std::int64_t> block_sizes_worth_trying(const Features& features);

inline std::vector<std::int64_t> block_sizes_allowed() { return {AUTOSPMV_BLOCK_SIZES}; }

/// The rows of a block lie side by side in a register, where they fit one.
inline double work_of_blocks(const BlockLayout& layout, double block_slots) {
  constexpr std::array of_entry = {0.6, 0.37, 0.15, 0.1};  // of blocks of 1 to 4 rows
  const auto r = static_cast<std::size_t>(layout.r);
  // In one slice of all, the next block of a row is on another page.
  const double of_page = layout.slice == 0 ? 0.3 : 0;
  const double of_larger = layout.r % 2 == 0 ? 0.05 : 0.25;
  return block_slots * layout.r * layout.c * (of_page + (r <= of_entry.size() ? of_entry[r - 1] : of_larger));
}

/// The cost of a layout with so many block slots, or a refusal.
template <class T>
Result<Cost> predict_blocks(const Features& features, const BlockLayout& layout, double block_slots,
                            const Device& device) {
  Cost cost;
  cost.storage_bytes = block_bytes<T>(layout, block_rows_of(features, layout.r), block_slots);
  const double csr = csr_bytes<T>(features.rows, features.nnz);
  if (auto refusal = refuse_fill<T>(layout, block_rows_of(features, layout.r), block_slots, csr, device)) {
    return *refusal;
  }
  if (auto refusal = refuse_storage(cost.storage_bytes, csr, device)) return *refusal;
  cost.bytes = cost.storage_bytes + vector_bytes<T>(features);
  if (device.backend == Backend::host) {
    cost.work = work_of_blocks(layout, block_slots);
    cost.conversion = 3.7;
  }
  return cost;
}

/// So many threads a block row, which take `at_once` of its blocks at a time, in so many steps.
inline Walk walk_of_blocks(const Features& features, const BlockLayout& layout, double threads, double at_once,
                           double steps_of_block) {
  const double block_rows = block_rows_of(features, layout.r);
  const double blocks = block_count(features, layout.r, layout.c) / block_rows;
  const double longest = std::max(blocks, static_cast<double>(features.npr_max) / layout.c);
  return {.threads = block_rows * threads,
          .steps = steps_of_block * std::ceil(std::max(1.0, blocks) / at_once),
          .longest = steps_of_block * std::ceil(std::max(1.0, longest) / at_once)};
}

/// value_bits of blocks: absent slots keep a matrix from being one constant. The fewest bits come first.
template <class T>
std::vector<std::int64_t> block_value_bits_for(const Features& features) {
  auto bits = value_bits_for<T>(features);
  std::replace(bits.begin(), bits.end(), std::int64_t{0}, std::int64_t{8});
  return bits;
}

template <class T>
std::vector<std::int64_t> all_block_value_bits() {
  auto bits = all_value_bits<T>();
  std::erase(bits, 0);
  return bits;
}

/// What bsr and bell have in common: blocks of r x c, on CUDA by a kernel of their own of T threads and so many a
/// block.
template <class T>
class BlockFormat : public Format<T> {
 public:
  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const final {
    const auto layout = layout_of(params);
    if (auto refusal = refuse_value_bits<T>(features, layout.value_bits)) return *refusal;
    auto cost = predict_blocks<T>(features, layout, slots(features, layout), device);
    if (cost && device.backend == Backend::cuda && features.nnz > 0) {
      cost->walk = walk(features, layout, static_cast<int>(params["T"]));
    }
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const final {
    auto blocks = build_blocks(matrix, layout_of(params), device);
    if (blocks) {
      blocks->launch.threads = static_cast<int>(params.find("T").value_or(blocks->launch.threads));
      blocks->launch.block = static_cast<int>(params.find("block").value_or(blocks->launch.block));
      blocks->kernel = kernel();
    }
    return operator_or_refusal(std::move(blocks), device);
  }

 protected:
  /// Threads that CUDA kernels may be given, beside what there is on the host.
  [[nodiscard]] virtual std::vector<std::int64_t> threads() const = 0;
  /// C.
  [[nodiscard]] virtual std::int64_t slice_of(const Params& params) const = 0;
  [[nodiscard]] virtual double slots(const Features& features, const BlockLayout& layout) const = 0;
  [[nodiscard]] virtual Walk walk(const Features& features, const BlockLayout& layout, int threads) const = 0;
  /// nullptr without CUDA.
  [[nodiscard]] virtual BlockKernel<T> kernel() const = 0;

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    std::vector<Allowed> all{{"r", block_sizes_allowed()}, {"c", block_sizes_allowed()}};
    if (device.backend == Backend::cuda) {
      all.push_back({"T", threads()});
      all.push_back({"block", {64, 128, 256, 512}});
      all.push_back({"value_bits", all_block_value_bits<T>()});
    }
    return all;
  }

 private:
  [[nodiscard]] BlockLayout layout_of(const Params& params) const {
    return {static_cast<int>(params["r"]), static_cast<int>(params["c"]), slice_of(params),
            static_cast<int>(params.find("value_bits").value_or(full_value_bits<T>))};
  }
};

}  // namespace autospmv::formats
