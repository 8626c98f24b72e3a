#include "features/cuda/second_pass.hpp"

#include <bit>
#include <cstddef>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/machine/array.hpp"
#include "core/search.hpp"
#include "features/cuda/block_tally.cuh"
#include "features/cuda/blocks.cuh"
#include "features/cuda/rows.cuh"
#include "features/cuda/shares.cuh"

namespace autospmv::cuda::reading {

namespace {

/// The spans for columns in any order.
template <class Offset>
__global__ void __launch_bounds__(default_block) read_unsorted_spans(Pattern<Offset> pattern, Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  const BlockTally block(shared);
  const Part part{blockIdx.x, gridDim.x};
  SpanCounts spans;
  for (std::int64_t first = part.warp() * span_slice; first < pattern.rows; first += part.warps() * span_slice) {
    const std::int64_t end = pattern.row_ptr[min(first + span_slice, pattern.rows)];
    Span span;
    for (std::int64_t k = pattern.row_ptr[first] + lane(); k < end; k += warp_size) span.include(pattern.col_idx[k]);
    __syncwarp();
    spans.count(span);
  }
  spans.add_to(block);
  block.add_to(*tally);
}

template <class Offset>
__global__ void __launch_bounds__(default_block)
    count_groups(Pattern<Offset> pattern, RowSample sample, std::int64_t most_steps, const std::int64_t* long_groups,
                 Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  __shared__ std::int64_t offsets[RowSample::group_rows + 1];
  const BlockTally block(shared);
  BlockCounter<Offset> counter(pattern, sample, most_steps, offsets);
  for (Count at = 0; at < fresh(tally->sums.long_groups); ++at) {
    counter.open(long_groups[at]);
    counter.count(blockIdx.x, gridDim.x);
  }
  counter.add_to(block);
  block.add_to(*tally);
}

template <class Offset>
__global__ void __launch_bounds__(default_block)
    count_sorted_blocks(Pattern<Offset> pattern, RowSample sample, std::int64_t* long_groups, Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  const BlockTally block(shared);
  count_blocks(pattern, sample, pattern.nnz, long_groups, {blockIdx.x, gridDim.x}, block, *tally);
  block.add_to(*tally);
}

template <class Offset>
__global__ void sampled_lengths(RowSample sample, std::int64_t sample_rows, const Offset* row_ptr, Offset* lengths) {
  const std::int64_t position = cuda::global_thread();
  if (position > sample_rows) return;
  const std::int64_t i = position < sample_rows ? sample.row(position) : 0;
  lengths[position] = position < sample_rows ? row_ptr[i + 1] - row_ptr[i] : Offset{0};
}

/// The sampled nonzeros as keys that sort by row, then column, and as columns.
template <class Offset>
__global__ void __launch_bounds__(default_block)
    gather_sample(RowSample sample, std::int64_t sample_rows, const Offset* offsets, Pattern<Offset> pattern,
                  std::uint64_t* keys, std::int32_t* columns) {
  std::int64_t position = 0;
  const WarpShare share = share_of_warp(offsets[sample_rows], {blockIdx.x, gridDim.x});
  for (std::int64_t at = share.first + lane(); at < share.last; at += warp_size) {
    position = part_near(offsets, position, sample_rows, at);
    const std::int32_t column = pattern.col_idx[pattern.row_ptr[sample.row(position)] + (at - offsets[position])];
    keys[at] = static_cast<std::uint64_t>(position) << 32 | static_cast<std::uint64_t>(column);
    columns[at] = column;
  }
}

/// Counts the blocks of a matrix with unsorted columns: sorts a copy of the sample.
template <class Offset>
void count_unsorted_blocks(const Pattern<Offset>& pattern, Workspace& work) {
  const auto place = work.place();
  const auto stream = work.stream();
  const auto sample = RowSample::of(pattern.rows, pattern.nnz);
  const std::int64_t rows = sample.size();
  Array<Offset> offsets(static_cast<std::size_t>(rows + 1), place);
  sampled_lengths<<<grid_for(rows + 1), default_block, 0, InTurn(stream)>>>(sample, rows, pattern.row_ptr,
                                                                            offsets.data());
  check_launch();
  exclusive_scan(offsets.data(), offsets.data(), rows + 1, place, stream);
  const std::int64_t nnz = read(offsets.data() + rows, stream);
  if (nnz == 0) return;
  Array<std::uint64_t> keys(static_cast<std::size_t>(nnz), place);
  Array<std::int32_t> columns(static_cast<std::size_t>(nnz), place);
  gather_sample<<<blocks_for_shares(nnz), default_block, 0, InTurn(stream)>>>(sample, rows, offsets.data(), pattern,
                                                                              keys.data(), columns.data());
  check_launch();
  sort_pairs(keys, columns, 32 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))), stream);
  const Pattern<Offset> sorted{rows, pattern.cols, nnz, offsets.data(), columns.data()};
  const auto all = RowSample::all_of(rows);
  count_sorted_blocks<<<blocks_for_sample(all), default_block, 0, InTurn(stream)>>>(sorted, all, work.long_groups(),
                                                                                    work.tally());
  check_launch();
  count_long_groups(sorted, all, nnz, work);
}

}  // namespace

template <class Offset>
void count_long_groups(const Pattern<Offset>& pattern, const RowSample& sample, std::int64_t most_steps,
                       Workspace& work) {
  count_groups<<<enough_blocks, default_block, 0, InTurn(work.stream())>>>(pattern, sample, most_steps,
                                                                           work.long_groups(), work.tally());
  check_launch();
}

template <class Offset>
void read_unsorted(const Pattern<Offset>& pattern, Workspace& work) {
  auto* const tally = work.tally();
  const auto clear = [&](auto* counts) { fill_bytes(counts, 0, sizeof *counts, work.place(), work.stream()); };
  clear(&tally->sums.sampled_nnz);
  clear(&tally->sums.blocks);
  clear(&tally->sums.long_groups);
  clear(&tally->sums.span);
  clear(&tally->sums.spanned_slices);
  clear(&tally->maxima.span);
  read_unsorted_spans<<<blocks_for_warps((pattern.rows + span_slice - 1) / span_slice), default_block, 0,
                        InTurn(work.stream())>>>(pattern, tally);
  check_launch();
  count_unsorted_blocks(pattern, work);
}

#define AUTOSPMV_SECOND_PASS(Offset)                                                                   \
  template void count_long_groups(const Pattern<Offset>&, const RowSample&, std::int64_t, Workspace&); \
  template void read_unsorted(const Pattern<Offset>&, Workspace&);
AUTOSPMV_SECOND_PASS(std::int32_t)
AUTOSPMV_SECOND_PASS(std::int64_t)
#undef AUTOSPMV_SECOND_PASS

}  // namespace autospmv::cuda::reading
