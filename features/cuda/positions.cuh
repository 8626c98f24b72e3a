// Where nonzeros stand: diagonals, bandwidths, order and symmetry.
#pragma once

#include <cstdint>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/cuda/warp_search.cuh"
#include "core/search.hpp"
#include "features/cuda/block_tally.cuh"
#include "features/cuda/shares.cuh"
#include "features/tally.hpp"

namespace autospmv::cuda::reading {

/// The diagonals met so far, a bit for each.
class Diagonals {
 public:
  __device__ explicit Diagonals(unsigned* bits) : bits_(bits) {}

  /// Whether this lane is the first of all to meet its diagonal, which is -1 where it looks for none. Called by all
  /// lanes of a warp.
  __device__ bool meet(std::int64_t diagonal) const {
    // Most are met again and again: a look spares the rest. One from a cache may be old, and stay so.
    unsigned* const word = bits_ + max(diagonal, std::int64_t{0}) / 32;
    const bool unseen = diagonal >= 0 && !is_met(*word, diagonal) && !is_met(__ldcg(word), diagonal);
    if (!__any_sync(cuda::all_lanes, unseen)) return false;
    // Neighbours often meet the same one, and atomics on the same word wait for each other.
    const unsigned alike = __match_any_sync(cuda::all_lanes, unseen ? diagonal : std::int64_t{-1});
    return unseen && lane() == __ffs(static_cast<int>(alike)) - 1 && !is_met(atomicOr(word, bit(diagonal)), diagonal);
  }

 private:
  __device__ static unsigned bit(std::int64_t diagonal) { return 1U << (diagonal % 32); }
  __device__ static bool is_met(unsigned word, std::int64_t diagonal) { return (word & bit(diagonal)) != 0; }

  unsigned* bits_;
};

/// What one lane learns from its nonzeros.
struct LaneCounts {
  Count descents = 0;
  Count asymmetry = 0;
  Count lower_bandwidth = 0;
  Count upper_bandwidth = 0;

  /// Of row i and column j; the nonzero before it in its row has column `before`, -1 where there is none.
  template <class Offset>
  __device__ void read(const Pattern<Offset>& pattern, std::int64_t i, std::int64_t j, std::int32_t before) {
    if (before >= j) ++descents;
    if (pattern.rows == pattern.cols) asymmetry += asymmetry_of(i, j);
    if (i > j) lower_bandwidth = max(lower_bandwidth, static_cast<Count>(i - j));
    if (j > i) upper_bandwidth = max(upper_bandwidth, static_cast<Count>(j - i));
  }

  __device__ void add_to(const BlockTally& block) const {
    add(block.sums().descents, descents);
    add(block.sums().asymmetry, asymmetry);
    raise(block.maxima().lower_bandwidth, lower_bandwidth);
    raise(block.maxima().upper_bandwidth, upper_bandwidth);
  }
};

template <class Offset>
__device__ void read_nonzeros(const Pattern<Offset>& pattern, unsigned* diagonal_bits, Part part,
                              const BlockTally& block, Tally& tally) {
  constexpr int at_once = 4;  // nonzeros of a lane, whose loads do not wait for each other
  const Diagonals diagonals(diagonal_bits);
  LaneCounts counts;
  bool few_diagonals = __any_sync(cuda::all_lanes, fresh(tally.sums.diagonals) <= diagonals_cap);
  const WarpShare share = share_of_warp(pattern.nnz, part);
  std::int64_t i = share.first < share.last ? part_of_by_warp(pattern.row_ptr, pattern.rows, share.first) : 0;
  for (std::int64_t step = share.first + lane(); step - lane() < share.last; step += at_once * warp_size) {
    std::int32_t columns[at_once];
    std::int32_t before[at_once];
#pragma unroll
    for (int at = 0; at < at_once; ++at) {
      const std::int64_t k = step + at * warp_size;
      columns[at] = k < share.last ? pattern.col_idx[k] : -1;
      before[at] = k < share.last && k > 0 ? pattern.col_idx[k - 1] : -1;
    }
#pragma unroll
    for (int at = 0; at < at_once; ++at) {
      const std::int64_t k = step + at * warp_size;
      std::int64_t diagonal = -1;
      if (k < share.last) {
        i = part_near(pattern.row_ptr, i, pattern.rows, k);
        counts.read(pattern, i, columns[at], k > pattern.row_ptr[i] ? before[at] : -1);
        diagonal = columns[at] - i + pattern.rows - 1;
      }
      if (!few_diagonals) continue;
      const int found = __popc(__ballot_sync(cuda::all_lanes, diagonals.meet(diagonal)));
      if (found == 0) continue;
      // Counted at once, so that all warps hear of it when there are too many.
      if (lane() == 0) atomicAdd(&tally.sums.diagonals, static_cast<Count>(found));
      few_diagonals = __any_sync(cuda::all_lanes, fresh(tally.sums.diagonals) <= diagonals_cap);
    }
  }
  counts.add_to(block);
}

}  // namespace autospmv::cuda::reading
