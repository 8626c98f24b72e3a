#include "formats/staged/row_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "core/search.hpp"
#include "formats/staged/row_walk.hpp"

namespace autospmv::formats {

namespace host {

namespace {

// Calls visit(first row) for every block of a piece.
template <class Offset, class Visit>
void walk_piece(const RowWalk<Offset>& walk, std::int64_t piece, const Visit& visit) {
  const auto first_row = [&](std::int64_t of) {
    return partition_point(std::int64_t{0}, walk.rows, [&](std::int64_t row) { return !walk.reaches(row, of); });
  };
  const std::int64_t end = first_row(piece + 1);
  for (std::int64_t row = first_row(piece); row < end;) {
    visit(row);
    const std::int64_t limit = walk.entry_limit(row);
    const auto fits = [&](std::int64_t last) { return static_cast<std::int64_t>(walk.row_ptr[last]) <= limit; };
    row = std::max(row + 1, partition_point(row + 1, walk.row_limit(row, end) + 1, fits) - 1);
  }
}

template <class Offset>
RowBlocks blocks_of(const RowWalk<Offset>& walk, Place place) {
  RowBlocks blocks;
  blocks.limits = walk.limits;
  const std::int64_t pieces = walk.pieces();
  std::vector<std::int64_t> first_of_piece(static_cast<std::size_t>(pieces) + 1, 0);
  const auto for_pieces = [&](const auto& body) {
    const std::int64_t work = walk.work_before(walk.rows);
    parallel_region(work, [&](int thread, int threads) {
      const auto share = share_of(pieces, thread, threads);
      for (auto piece = share.first; piece < share.last; ++piece) body(piece);
    });
  };
  for_pieces([&](std::int64_t piece) {
    auto& count = first_of_piece[static_cast<std::size_t>(piece)];
    walk_piece(walk, piece, [&](std::int64_t row) { count += walk.parts_of(row); });
  });
  std::int64_t count = 0;
  for (auto& first : first_of_piece) count += std::exchange(first, count);
  blocks.starts = Array<BlockStart>(static_cast<std::size_t>(count) + 1, place);
  for_pieces([&](std::int64_t piece) {
    auto at = static_cast<std::size_t>(first_of_piece[static_cast<std::size_t>(piece)]);
    walk_piece(walk, piece, [&](std::int64_t row) {
      const std::int64_t parts = walk.parts_of(row);
      for (std::int64_t part = 0; part < parts; ++part) {
        blocks.starts[at++] = {row, static_cast<std::int64_t>(walk.row_ptr[row]) + part * walk.limits.part};
      }
    });
  });
  blocks.starts[static_cast<std::size_t>(count)] = {walk.rows, walk.nnz};
  const auto starts = blocks.starts.span();
  const auto same_row = [](BlockStart a, BlockStart b) { return a.row == b.row; };
  blocks.split = std::adjacent_find(starts.begin(), starts.end(), same_row) != starts.end();
  return blocks;
}

}  // namespace

RowBlocks make_row_blocks(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, const RowBlockLimits& limits,
                          Place place) {
  return with_offsets(row_ptr, [&]<class Offset>(const Offset* offsets) {
    return blocks_of(RowWalk<Offset>{offsets, rows, nnz, limits}, place);
  });
}

}  // namespace host

RowBlocks make_row_blocks(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, const RowBlockLimits& limits,
                          Place place, [[maybe_unused]] Stream stream) {
  if (rows == 0) return {};
  return on_backend(
      place, [&] { return host::make_row_blocks(row_ptr, rows, nnz, limits, place); },
      [&] { return cuda_steps::make_row_blocks(row_ptr, rows, nnz, limits, place, stream); });
}

// Rows too long to share a block are taken to be as long as the middle of their bin of the histogram; the others hold
// what is left. Blocks of these are full up to half a row; a piece ends in one that is half full.
double expected_row_blocks(const Features& features, const RowBlockLimits& limits) {
  const auto most_entries = static_cast<double>(limits.entries);
  const auto most_rows = static_cast<double>(limits.rows);
  double blocks_of_long = 0;
  auto rows = static_cast<double>(features.rows);
  auto entries = static_cast<double>(features.nnz);
  for (int bin = 1; bin < npr_bins; ++bin) {
    const double shortest = least_of_bin(bin);
    const double length = (shortest + std::min(2 * shortest - 1, static_cast<double>(features.npr_max))) / 2;
    if (length <= most_entries) continue;
    const auto long_rows = static_cast<double>(features.npr_histogram[static_cast<std::size_t>(bin)]);
    blocks_of_long += long_rows * (limits.part > 0 ? std::ceil(length / static_cast<double>(limits.part)) : 1);
    rows -= long_rows;
    entries = std::max(0.0, entries - long_rows * length);
  }
  const double half_row = std::min(most_entries, entries / std::max(1.0, rows)) / 2;
  const double blocks = std::max(rows / most_rows, entries / (most_entries - half_row));
  const double pieces = (entries / most_entries + rows / most_rows) / blocks_of_piece;
  return std::ceil(blocks_of_long + blocks + pieces / 2);
}

}  // namespace autospmv::formats
