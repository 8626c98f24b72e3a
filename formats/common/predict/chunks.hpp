// What columns by chunk take, from the features: on the host (formats/sliced/column_chunks.hpp) and on CUDA
// (formats/common/encoding/encoding.hpp).
#pragma once

#include <algorithm>
#include <cmath>

#include "core/machine/device.hpp"
#include "core/params.hpp"
#include "features/features.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/sizes.hpp"

namespace autospmv::formats {

/// The share of chunks whose columns count up: of rows that keep to as many diagonals as they have entries. Where these
/// lie in full blocks, rows of a block meet the same columns, unless all entries lie on a few diagonals.
inline double share_of_runs(const Features& features) {
  if (features.slice_diagonals_mean > static_cast<double>(slice_diagonals_cap)) return 0;
  constexpr double full = 0.75;
  const bool in_blocks = std::max(features.block_fill[0], features.block_fill[1]) > full;
  if (in_blocks && features.diagonals > features.npr_max) return 0;
  return std::clamp((1.3 - features.slice_diagonals_mean / std::max(1.0, features.npr_mean)) / 0.2, 0.0, 1.0);
}

/// Bits of a column, without the head of its chunk. Rows that keep to a few diagonals meet neighbouring columns, unless
/// they are sorted by length. Of others, columns that are strewn over the span of a slice differ in a chunk as order
/// statistics do.
inline double bits_by_chunk(const Features& features, bool sorts, double strewn_over) {
  const double npr = std::max(1.0, features.npr_mean);
  const bool counted = features.slice_diagonals_mean <= static_cast<double>(slice_diagonals_cap);
  const double along = sorts || !counted ? 0 : std::clamp((3.5 - features.slice_diagonals_mean / npr) / 2.5, 0.0, 1.0);
  const double apart = std::max(1.0, 1.75 * strewn_over / std::sqrt(npr));
  const double in_full = std::clamp(std::log2(apart / 65536) / 1.75, 0.0, 1.0);
  const double in_octets = std::min(1 - in_full, std::clamp(1 - 0.23 * std::log2(apart / 128), 0.3, 1.0));
  const double strewn = 8 * in_octets + 16 * (1 - in_octets - in_full) + 32 * in_full;
  const double apart_from_runs = along * 9 + (1 - along) * strewn;
  return (1 - share_of_runs(features)) * apart_from_runs;
}

/// The axis of column_bits on CUDA of formats that have columns by chunk beside those of so many bits. Every column
/// then waits for a load more, which a matrix that stays in the L2 feels more than its bytes.
template <class T>
ParamSpace::Axis columns_or_chunks(std::vector<std::int64_t> bits, const Features& features, const Device& device) {
  const bool from_memory = 2 * csr_bytes<T>(features.rows, features.nnz) > static_cast<double>(device.cache_bytes);
  if (!from_memory || bits.front() == 8) return {"column_bits", std::move(bits), {columns_by_chunk}};
  bits.insert(bits.begin(), columns_by_chunk);
  return {"column_bits", std::move(bits)};
}

}  // namespace autospmv::formats
