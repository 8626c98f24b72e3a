// What formats of rows in bins have in common when they offer parameters and predict.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/common/binned_rows.hpp"
#include "formats/common/encoding.hpp"
#include "formats/common/rules.hpp"

namespace autospmv::formats {

inline constexpr std::int64_t usual_block = 256;

/// Nonzeros a thread past which rows are shared by blocks, where they are.
inline constexpr std::int64_t usual_split = 16;

/// Nonzeros past which the device is busy with threads of more nonzeros, which then spare launches and shuffles.
inline constexpr std::int64_t busy_nnz = 4'000'000;

/// Rows are shared by blocks where any is long enough; first, as one long row keeps the others' product waiting.
inline std::vector<std::int64_t> splits_for(const Features& features, std::int64_t block) {
  if (features.npr_max > usual_split * block) return {usual_split, 0};
  return {0};
}

inline std::vector<std::int64_t> entries_for(const Features& features) {
  if (features.nnz > busy_nnz) return {8, 4};
  return {4, 2};
}

template <class T>
std::vector<Allowed> allowed_of_bins() {
  return {{"value_bits", all_value_bits<T>()},
          {"fused", {0, 1}},
          {"split", {0, 16, 32, 64}},
          {"entries", {1, 2, 4, 8, 16}},
          {"block", {128, 256, 512}}};
}

/// Lists of rows are of 32-bit numbers.
inline std::optional<Refusal> refuse_rows(std::int64_t rows) {
  if (rows <= std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return Refusal{"size: more than 2^31 rows cannot be listed"};
}

/// Kernels of one product, without dynamic parallelism; shared rows are scaled first.
inline int launches(const Features& features, const ThreadRule& rule, bool fused) {
  const bool shares = rule.split > 0 && features.npr_max > static_cast<std::int64_t>(rule.split) * rule.block;
  return (fused ? 1 : std::max(1, bins_present(features, rule))) + (shares ? 1 : 0);
}

/// What the parent and so many children cost, in launches from the host.
inline int launches_of_children(std::int64_t children) {
  return 1 + static_cast<int>(std::min<std::int64_t>(children, 1 << 20) / children_of_launch);
}

}  // namespace autospmv::formats
