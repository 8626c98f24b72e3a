// csr5: the nonzeros in tiles of 32 lanes x sigma, each lane with sigma nonzeros that follow each other, stored so that
// a warp reads a step of all lanes at once. Work is the same for every lane, whatever the lengths of rows.
//
//   a b .      2 lanes x sigma = 3     lanes   a b c | d e f     stored  a d | b e | c f
//   . c d      bit flags, where a row begins   1 0 1   0 1 0     tile_ptr 0   y_offset 0 2   seg_offset 1 0
//   e f .
//
// A lane adds up the nonzeros between two flags and stores each row that begins and ends in it: y_offset is how many
// rows begin in the lanes before it, tile_ptr the first row that begins in the tile. What lies before a lane's first
// flag belongs to a row that began in an earlier lane: a segmented sum over the lanes adds up these parts, and the lane
// in which the row begins finds its own seg_offset lanes on. Before the first flag of a tile they belong to a row of an
// earlier tile: the tile's carry, see formats/common/kernels/equal_shares.hpp. fixup = 2 is the paper's calibration by
// a second kernel.
//
// Departures from the paper: the first bit of a tile says whether a row begins there, not always 1; the segmented sum
// runs over lanes instead of subtracting prefix sums, which would spread infinities to other rows; rows without entries
// are left out of the numbering once (row_ids) instead of tile by tile (empty_offset); the last tile is filled up with
// padding, whose column is -1, instead of being left in CSR.
//
// Source: Liu, Vinter, "CSR5: an efficient storage format for cross-platform sparse matrix-vector multiplication",
// 2015, 3 (layout, Algorithms 2 to 4) and 4 (product, Algorithms 5 and 6).
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/machine/array.hpp"
#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"
#include "core/search.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/kernels/equal_shares.hpp"

namespace autospmv::formats::csr5 {

inline constexpr int lanes = 32;

/// Nonzeros of a tile.
constexpr std::int64_t tile_size(int sigma) { return std::int64_t{lanes} * sigma; }

template <class T>
struct Tiles {
  int sigma = 16;  ///< at most 32
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  std::int64_t count = 0;
  Array<std::int32_t> tile_ptr;    ///< the first row that begins in each tile or after it, numbered by row_ids
  Array<std::uint32_t> bit_flags;  ///< of each lane: bit i for its nonzero i
  Array<std::uint16_t> offsets;    ///< of each lane: y_offset x 32 + seg_offset
  Array<std::int32_t> row_ids;     ///< the rows that have entries; empty where all have some
  Array<std::int32_t> columns;     ///< -1: padding
  EncodedValues<T> values;
  EqualShares<T> shares;  ///< CUDA: the tiles as shares
  int block = 128;        ///< CUDA: threads a block
  int host_shares = 1;

  // As formats/common/operators.hpp has it.
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
  [[nodiscard]] bool refresh(const CsrView<T>& matrix, Place place, Stream stream);
  [[nodiscard]] bool takes_any_values() const { return values.in_full(); }
  [[nodiscard]] std::int64_t slots() const { return count * tile_size(sigma); }
  [[nodiscard]] std::int64_t bytes() const {
    return tile_ptr.bytes() + bit_flags.bytes() + offsets.bytes() + row_ids.bytes() + columns.bytes() + values.bytes() +
           shares.bytes();
  }
};

// ---- Steps that host and device share

/// Nonzero k of the matrix has this slot.
AUTOSPMV_HD constexpr std::int64_t slot_of(std::int64_t k, int sigma) {
  const std::int64_t tile = k / (std::int64_t{lanes} * sigma);
  const std::int64_t within = k % (std::int64_t{lanes} * sigma);
  return tile * lanes * sigma + within % sigma * lanes + within / sigma;
}

/// The offsets of rows that have entries.
template <class Offset>
struct FilledRows {
  const Offset* row_ptr;
  const std::int32_t* row_ids;  ///< nullptr: all
  std::int64_t count;

  [[nodiscard]] AUTOSPMV_HD std::int64_t first(std::int64_t row) const {
    return static_cast<std::int64_t>(row_ptr[row_ids == nullptr ? row : row_ids[row]]);
  }

  /// The first row that begins at this nonzero or after it; `count` where none does.
  [[nodiscard]] AUTOSPMV_HD std::int64_t beginning_from(std::int64_t nonzero) const {
    return partition_point(std::int64_t{0}, count, [&](std::int64_t row) { return first(row) < nonzero; });
  }
};

template <class Offset>
FilledRows(const Offset*, const std::int32_t*, std::int64_t) -> FilledRows<Offset>;

/// The flags of a lane whose nonzeros are [nonzero, nonzero + sigma); `row` is the first that begins there or later.
template <class Offset>
AUTOSPMV_HD inline std::uint32_t flags_of_lane(const FilledRows<Offset>& filled, std::int64_t row, std::int64_t nonzero,
                                               int sigma) {
  std::uint32_t flags = 0;
  for (; row < filled.count; ++row) {
    const std::int64_t at = filled.first(row) - nonzero;
    if (at >= sigma) break;
    flags |= std::uint32_t{1} << at;
  }
  return flags;
}

/// How many lanes after this one the row that is open at its end goes on; `flagged` has a bit for every lane in which a
/// row begins.
AUTOSPMV_HD inline int seg_offset(std::uint32_t flagged, int lane) {
  int last = lane;
  while (last + 1 < lanes) {
    ++last;
    if ((flagged >> last & 1U) != 0) break;
  }
  return last - lane;
}

AUTOSPMV_HD inline std::uint16_t pack_offsets(std::int64_t y_offset, int segment) {
  return static_cast<std::uint16_t>(y_offset * lanes + segment);
}

namespace device {

/// Everything but columns and values. Waits for the stream.
template <class T>
void describe(const CsrView<T>& matrix, Fixup fixup, Tiles<T>& tiles, Place place, Stream stream);

/// The nonzeros' values, or columns, in their slots, with padding past the last of them.
template <class V>
void transpose(const V* nonzeros, V padding, std::int64_t nnz, int sigma, Array<V>& slots, Stream stream);

template <class T>
void multiply(const Tiles<T>& tiles, int block, T alpha, const T* x, T beta, T* y, Stream stream);

}  // namespace device

}  // namespace autospmv::formats::csr5
