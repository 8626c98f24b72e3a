// What a sample of the rows holds of blocks, one for each nonzero that is the first of its block, and of diagonals.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/cuda/launch.hpp"
#include "core/search.hpp"
#include "features/cuda/block_tally.cuh"
#include "features/cuda/shares.cuh"
#include "features/cuda/value_table.cuh"
#include "features/cuda/workspace.hpp"
#include "features/tally.hpp"

namespace autospmv::cuda::reading {

static_assert(block_sizes == std::array<int, 4>{2, 3, 4, 8});

/// Rows above a row that may share a block with it.
inline constexpr int most_above = block_sizes.back() - 1;

/// What the rows above hold of the blocks that a nonzero lies in, from the leftmost column of those blocks on.
class Above {
 public:
  static constexpr int width = 12;  // blocks of 3 may stick out by 2 columns on either side of a block of 8

  /// `row` counts from the first of its group, whose `offsets` are given; columns are sorted in every row, and at most
  /// `most_steps` entries of a row lie in the blocks: `width`, where none are stored twice.
  __device__ Above(const std::int64_t* offsets, const std::int32_t* col_idx, int row, std::int32_t column,
                   std::int64_t most_steps)
      : left_(min(column / 8 * 8, column / 3 * 3)) {
    const int above = max(row % 8, row % 3);
    std::int64_t low[most_above];
    std::int64_t high[most_above];
#pragma unroll
    for (int d = 0; d < most_above; ++d) {
      low[d] = d < above ? offsets[row - 1 - d] : 0;
      high[d] = d < above ? offsets[row - d] : 0;
    }
    // Where the blocks begin in each row: all searches side by side, or each would wait for the loads of the others.
    for (bool searching = above > 0; searching;) {
      searching = false;
#pragma unroll
      for (int d = 0; d < most_above; ++d) {
        if (low[d] == high[d]) continue;
        const std::int64_t middle = low[d] + (high[d] - low[d]) / 2;
        const bool before = col_idx[middle] < left_;
        low[d] = before ? middle + 1 : low[d];
        high[d] = before ? high[d] : middle;
        searching = true;
      }
    }
#pragma unroll
    for (int d = 0; d < most_above; ++d) {
      const std::int64_t end = d < above ? offsets[row - d] : 0;
      for (std::int64_t k = low[d]; k < min(end, low[d] + most_steps); ++k) {
        const std::int32_t column_of_block = col_idx[k] - left_;
        if (column_of_block < 0 || column_of_block >= width) break;
        held_[d] |= 1U << column_of_block;
      }
    }
  }

  /// Whether a row above of the same block row holds a nonzero of the b x b block at column `start`.
  template <int b>
  [[nodiscard]] __device__ bool hold(int row, std::int32_t start) const {
    const unsigned columns = ((1U << b) - 1) << (start - left_);
    unsigned held = 0;
#pragma unroll
    for (int d = 0; d < b - 1; ++d) held |= d < row % b ? held_[d] : 0U;
    return (held & columns) != 0;
  }

 private:
  std::int32_t left_;
  unsigned held_[most_above] = {};
};

/// Counts the blocks of a sample, each at its first nonzero.
template <class Offset>
class BlockCounter {
 public:
  /// At most `most_steps` entries of a row lie in the blocks of one nonzero.
  __device__ BlockCounter(const Pattern<Offset>& pattern, const RowSample& sample, std::int64_t most_steps,
                          std::int64_t* offsets)
      : pattern_(pattern), sample_(sample), most_steps_(most_steps), offsets_(offsets) {}

  /// Called by all threads of a block, and so is count.
  __device__ void open(std::int64_t group) {
    __syncthreads();
    const std::int64_t first_row = sample_.row(group * RowSample::group_rows);
    rows_ = static_cast<int>(min(RowSample::group_rows, pattern_.rows - first_row));
    for (int row = static_cast<int>(threadIdx.x); row <= rows_; row += default_block) {
      offsets_[row] = pattern_.row_ptr[first_row + row];
    }
    __syncthreads();
  }

  [[nodiscard]] __device__ std::int64_t nnz() const { return offsets_[rows_] - offsets_[0]; }

  /// One of so many pieces of the open group.
  __device__ void count(std::int64_t piece, std::int64_t pieces) {
    const std::int64_t end = offsets_[0] + nnz() * (piece + 1) / pieces;
    for (std::int64_t k = offsets_[0] + nnz() * piece / pieces + threadIdx.x; k < end; k += default_block) count(k);
  }

  __device__ void add_to(const BlockTally& block) const {
    __syncwarp();
    for (std::size_t s = 0; s < block_sizes.size(); ++s) add(block.sums().blocks[s], blocks_[s]);
  }

 private:
  __device__ void count(std::int64_t k) {
    const int row = static_cast<int>(part_near(offsets_, std::int64_t{0}, std::int64_t{rows_}, k));
    const std::int32_t column = pattern_.col_idx[k];
    const std::int32_t before = k > offsets_[row] ? pattern_.col_idx[k - 1] : -1;
    const Above above(offsets_, pattern_.col_idx, row, column, most_steps_);
    const auto count_first = [&](auto size, Count& blocks) {
      const std::int32_t start = column / size.value * size.value;
      if (before < start && !above.template hold<size.value>(row, start)) ++blocks;
    };
    count_first(std::integral_constant<int, 2>{}, blocks_[0]);
    count_first(std::integral_constant<int, 3>{}, blocks_[1]);
    count_first(std::integral_constant<int, 4>{}, blocks_[2]);
    count_first(std::integral_constant<int, 8>{}, blocks_[3]);
  }

  const Pattern<Offset>& pattern_;
  const RowSample& sample_;
  std::int64_t most_steps_;
  std::int64_t* offsets_;  // of the open group, in shared memory
  int rows_ = 0;
  Count blocks_[block_sizes.size()] = {};
};

/// Several blocks of threads share a group of rows, but leave long ones to count_long_groups.
template <class Offset>
__device__ void count_blocks(const Pattern<Offset>& pattern, const RowSample& sample, std::int64_t most_steps,
                             std::int64_t* long_groups, Part part, const BlockTally& block, Tally& tally) {
  __shared__ std::int64_t offsets[RowSample::group_rows + 1];
  const auto group = static_cast<std::int64_t>(part.block) % sample.taken;
  const std::int64_t piece = part.block / sample.taken;
  const std::int64_t pieces = (part.blocks - 1 - group) / sample.taken + 1;
  BlockCounter<Offset> counter(pattern, sample, most_steps, offsets);
  counter.open(group);
  const bool is_long = counter.nnz() > long_group * pieces;
  if (piece == 0 && threadIdx.x == 0) {
    block.sums().sampled_nnz = static_cast<Count>(counter.nnz());
    if (is_long) long_groups[atomicAdd(&tally.sums.long_groups, Count{1})] = group;
  }
  if (!is_long) counter.count(piece, pieces);
  counter.add_to(block);
}

/// A block of threads takes a slice of the sampled rows after another.
template <class Offset>
__device__ void count_slice_diagonals(const Pattern<Offset>& pattern, const RowSample& sample, Part part,
                                      const BlockTally& block) {
  __shared__ BlockValueTable met;
  for (std::int64_t slice = part.block; slice < sample.taken * RowSample::group_slices; slice += part.blocks) {
    const std::int64_t first = sample.row(slice * span_slice);
    if (first >= pattern.rows) break;
    met.clear();
    const std::int64_t end = pattern.row_ptr[min(first + span_slice, pattern.rows)];
    std::int64_t i = first;
    for (std::int64_t k = pattern.row_ptr[first] + threadIdx.x; k < end; k += default_block) {
      i = part_near(pattern.row_ptr, i, pattern.rows, k);
      if (!met.insert(diagonal_key(pattern.rows, i, pattern.col_idx[k]))) break;
    }
    __syncthreads();
    if (threadIdx.x == 0 && met.found() > 0) {
      block.sums().slice_diagonals += min(Count{met.found()}, Count{slice_diagonals_cap + 1});
      ++block.sums().met_slices;
    }
    __syncthreads();
  }
}

/// Blocks of threads that count a sample: enough to fill the device.
inline constexpr std::int64_t enough_blocks = 528;

inline unsigned blocks_for_sample(const RowSample& sample) {
  return static_cast<unsigned>(sample.taken *
                               std::max<std::int64_t>(1, enough_blocks / std::max<std::int64_t>(1, sample.taken)));
}

inline unsigned blocks_for_slices(const RowSample& sample) {
  return static_cast<unsigned>(std::min(enough_blocks, sample.taken * RowSample::group_slices));
}

}  // namespace autospmv::cuda::reading
