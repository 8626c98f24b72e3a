#include <array>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/staged/row_walk.hpp"

namespace autospmv::formats::cuda_steps {

namespace {

static_assert(most_blocks_of_piece <= cuda::warp_size);

__device__ std::int64_t warp_of_thread() { return cuda::global_thread() / cuda::warp_size; }

__device__ int lane_of_thread() { return static_cast<int>(threadIdx.x) % cuda::warp_size; }

// For whole warps, all lanes with the same range.
template <class FarEnough>
__device__ std::int64_t first_where(std::int64_t low, std::int64_t high, const FarEnough& far_enough) {
  WarpSearch search{low, high};
  while (!search.done()) {
    const std::int64_t probe = search.probe(lane_of_thread());
    const bool is_short = probe < search.high && !far_enough(probe);
    search.narrow(__popc(__ballot_sync(cuda::all_lanes, is_short)));
  }
  return search.low;
}

// A warp a piece, a lane a block of it: `first_rows` has the first row of each, -1 for lanes without one; `counts` the
// parts of all, and behind the place of their total whether any row is cut.
template <class Offset>
__global__ void walk_kernel(RowWalk<Offset> walk, std::int64_t* first_rows, std::int64_t* counts) {
  const auto piece = warp_of_thread();
  const auto pieces = walk.pieces();
  if (piece >= pieces) return;
  const int lane = lane_of_thread();
  const auto first_row = [&](std::int64_t of) {
    return first_where(0, walk.rows, [&](std::int64_t row) { return walk.reaches(row, of); });
  };
  const std::int64_t end = first_row(piece + 1);
  std::int64_t mine = -1;
  int block = 0;
  for (std::int64_t row = first_row(piece); row < end; ++block) {
    if (lane == block) mine = row;
    const std::int64_t limit = walk.entry_limit(row);
    const auto past = [&](std::int64_t last) { return static_cast<std::int64_t>(walk.row_ptr[last]) > limit; };
    const std::int64_t next = first_where(row + 1, walk.row_limit(row, end) + 1, past) - 1;
    row = next > row ? next : row + 1;
  }
  std::int64_t count = mine < 0 ? 0 : walk.parts_of(mine);
  if (count > 1) counts[pieces + 1] = 1;
  for (int lanes = cuda::warp_size / 2; lanes > 0; lanes /= 2) count += __shfl_down_sync(cuda::all_lanes, count, lanes);
  if (lane == 0) counts[piece] = count;
  first_rows[piece * cuda::warp_size + lane] = mine;
}

// A warp a piece, again. Cut rows are written by all lanes, one after another: there may be many parts to one.
template <class Offset>
__global__ void write_kernel(RowWalk<Offset> walk, const std::int64_t* first_rows, const std::int64_t* firsts,
                             BlockStart* starts) {
  const auto piece = warp_of_thread();
  const auto pieces = walk.pieces();
  if (piece >= pieces) return;
  const int lane = lane_of_thread();
  const std::int64_t mine = first_rows[piece * cuda::warp_size + lane];
  const std::int64_t parts = mine < 0 ? 0 : walk.parts_of(mine);
  std::int64_t last = parts;
  for (int distance = 1; distance < cuda::warp_size; distance *= 2) {
    const std::int64_t before = __shfl_up_sync(cuda::all_lanes, last, distance);
    if (lane >= distance) last += before;
  }
  const std::int64_t at = firsts[piece] + last - parts;
  const std::int64_t entry = mine < 0 ? 0 : static_cast<std::int64_t>(walk.row_ptr[mine]);
  if (parts == 1) starts[at] = {mine, entry};
  for (unsigned cut = __ballot_sync(cuda::all_lanes, parts > 1); cut != 0; cut &= cut - 1) {
    const int from = __ffs(static_cast<int>(cut)) - 1;
    const std::int64_t row = __shfl_sync(cuda::all_lanes, mine, from);
    const std::int64_t row_parts = __shfl_sync(cuda::all_lanes, parts, from);
    const std::int64_t row_at = __shfl_sync(cuda::all_lanes, at, from);
    const std::int64_t row_entry = __shfl_sync(cuda::all_lanes, entry, from);
    for (std::int64_t part = lane; part < row_parts; part += cuda::warp_size) {
      starts[row_at + part] = {row, row_entry + part * walk.limits.part};
    }
  }
  if (piece == 0 && lane == 0) starts[firsts[pieces]] = {walk.rows, walk.nnz};
}

template <class Offset>
RowBlocks blocks_of(const RowWalk<Offset>& walk, Place place, Stream stream) {
  const std::int64_t pieces = walk.pieces();
  const auto grid = cuda::grid_for(pieces * cuda::warp_size);
  Array<std::int64_t> first_rows(static_cast<std::size_t>(pieces * cuda::warp_size), place);
  Array<std::int64_t> counts(static_cast<std::size_t>(pieces) + 2, place);
  fill_bytes(counts.data() + pieces, 0, 2 * sizeof(std::int64_t), place, stream);
  walk_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(walk, first_rows.data(), counts.data());
  cuda::check_launch();
  cuda::exclusive_scan(counts.data(), counts.data(), pieces + 1, place, stream);
  std::array<std::int64_t, 2> found{};  // how many blocks, and whether any is a part of a row
  copy_bytes(found.data(), counts.data() + pieces, sizeof found, Place{}, stream);
  RowBlocks blocks;
  blocks.limits = walk.limits;
  blocks.split = found[1] != 0;
  blocks.starts = Array<BlockStart>(static_cast<std::size_t>(found[0]) + 1, place);
  write_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(walk, first_rows.data(), counts.data(),
                                                                       blocks.starts.data());
  cuda::check_launch();
  return blocks;
}

}  // namespace

RowBlocks make_row_blocks(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, const RowBlockLimits& limits,
                          Place place, Stream stream) {
  return with_offsets(row_ptr, [&](const auto* offsets) {
    return blocks_of(RowWalk{offsets, rows, nnz, limits}, place, stream);
  });
}

}  // namespace autospmv::formats::cuda_steps
