// sell_cached: columns in blocks, each of as many as the shared memory of a multiprocessor has room for elements of x.
// A block is a matrix of its own: sliced ELLPACK, rows sorted by length within windows, T threads a row. A block of
// threads has slices of one such matrix, or of a few that are neighbours. It copies that part of x once and finds every
// element there, however scattered columns are, where each would else be another sector of the L2.
//
//   width = 3               block 0      block 1         sums of rows    block 0  block 1
//   row 0: a b . | c . .      a b          c                             a, b     c
//   row 1: . . . | d e f                   d e f                                  d, e, f
//   row 2: g . h | . . i      g h          i                             g, h     i
//
// Columns count from the first of their block, in 16 bits; padding has the first that the block has not, where shared
// memory holds a 0. The sums of all blocks are written down and added up by a second kernel, in their order: the same
// bits every time. A single block writes y by itself. Two slots of a thread lie side by side and are loaded as one.
//
// What a block has of a row that is much longer than its threads take in a few turns is cut into equal pieces, as many
// in every block. They stand behind the rows as if they were some, and are added up with the sums of blocks.
//
// Sources: Nishtala, Vuduc, Demmel, Yelick, "When cache blocking of sparse matrix vector multiply works and why", 2007;
// Yan, Li, Zhang, Zhou, "yaSpMV: yet another SpMV framework on GPUs", 2014 (BCCOO+, whose vertical slices of the matrix
// are stacked, and their sums added up by a second kernel).
#pragma once

#include <cstdint>
#include <memory>

#include "core/machine/array.hpp"
#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/encoding/slots.hpp"
#include "formats/common/streams/scratch.hpp"

namespace autospmv::formats::sell_cached {

inline constexpr int warp_lanes = 32;

/// Slots of a thread that lie side by side.
inline constexpr int slots_of_lane = 2;

/// Threads of a block, the only one of a multiprocessor whose shared memory it takes: as many as have the registers
/// that all loads of a few chunks want.
inline constexpr int block_threads = 768;

/// Rows that are sorted together.
inline constexpr std::int64_t window_rows = 1024;

/// Of all blocks: slices, which may be as many, are counted in 32 bits.
inline constexpr std::int64_t most_positions = window_rows << 20;

/// A row is long that has more entries than these in each block, for each of its threads, and than so many times the
/// mean: rows that are cut take longer to add up, so only few may be.
inline constexpr std::int64_t entries_of_piece = 32;
inline constexpr std::int64_t means_of_piece = 4;

/// How the matrix is cut.
struct Layout {
  std::int64_t rows = 0;
  std::int64_t longest = 0;  ///< entries of a row that is not long
  std::int64_t pieces = 0;   ///< of long rows
  std::int64_t cols = 0;
  std::int64_t width = 0;   ///< columns of a block, a multiple of 32; the last may have fewer
  std::int64_t blocks = 0;  ///< of columns
  std::int64_t slices = 0;  ///< of each block
  int threads = 1;          ///< T, a power of two up to 32
  int value_bits = 64;

  /// Rows and pieces: what every block has a sum of.
  [[nodiscard]] AUTOSPMV_HD std::int64_t parts() const { return rows + pieces; }
  /// Pieces of a row of such a length; 0 where it is not long.
  [[nodiscard]] AUTOSPMV_HD std::int64_t pieces_of(std::int64_t length) const {
    return length > longest ? (length + longest - 1) / longest : 0;
  }
  [[nodiscard]] AUTOSPMV_HD int slice_rows() const { return warp_lanes / threads; }
  /// Of a block, with or without a row.
  [[nodiscard]] AUTOSPMV_HD std::int64_t positions() const { return slices * slice_rows(); }
  void set_pieces(std::int64_t count) {
    pieces = count;
    slices = (parts() + slice_rows() - 1) / slice_rows();
  }
  [[nodiscard]] AUTOSPMV_HD std::int64_t all_slices() const { return blocks * slices; }
  [[nodiscard]] AUTOSPMV_HD std::int64_t first_column(std::int64_t block) const { return block * width; }
  /// Columns of a block, which padding has the number of.
  [[nodiscard]] AUTOSPMV_HD std::int64_t columns_of(std::int64_t block) const {
    const auto left = cols - first_column(block);
    return left < width ? left : width;
  }
  /// A chunk is what a warp loads at once.
  [[nodiscard]] static constexpr std::int64_t chunk_slots() { return warp_lanes * slots_of_lane; }
  [[nodiscard]] AUTOSPMV_HD std::int64_t entries_of_chunk() const {
    return static_cast<std::int64_t>(threads) * slots_of_lane;
  }
};

/// What the sums of blocks are written down in: of part p in block b at b parts + p.
template <class T>
using BlockSums = Array<T>;

/// Which of a long row's pieces stands behind the rows.
struct Piece {
  std::int32_t row = 0;
  std::int32_t number = 0;  ///< of the row's
};

/// What is stored, on a CUDA device.
template <class T>
struct CachedSell {
  Layout layout;
  std::int64_t slots = 0;
  Array<std::int32_t> slice_chunks;  ///< all slices + 1 offsets, in chunks
  Array<std::int32_t> part_order;    ///< row or piece at each position of all slices; -1: none
  Array<std::int32_t> begins;        ///< of each block but the first, which entry of each row is the first there
  Array<std::int32_t> first_piece;   ///< of each row, and the number of all; empty where no row is long
  Array<Piece> pieces;
  Array<std::int32_t> first_slice;  ///< of each block of threads, and the number of all slices
  EncodedColumns columns;           ///< words, one a slot, from the first column of the block on
  EncodedValues<T> values;
  std::unique_ptr<Scratch<BlockSums<T>>> sums;  ///< where y is not what a single block has

  // As formats/common/operators.hpp has it.
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
  [[nodiscard]] bool refresh(const CsrView<T>& matrix, Place place, Stream stream);
  [[nodiscard]] bool takes_any_values() const { return values.in_full(); }
  /// What a product reads of the matrix; the rest is for other values.
  [[nodiscard]] std::int64_t stored_bytes() const {
    return slice_chunks.bytes() + part_order.bytes() + first_piece.bytes() + first_slice.bytes() + columns.bytes() +
           values.bytes();
  }
  [[nodiscard]] std::int64_t bytes() const {
    return stored_bytes() + begins.bytes() + pieces.bytes() + (sums ? sums->bytes() : 0);
  }
};

namespace device {
/// Cuts rows where blocks begin, and long ones into pieces.
template <class T>
void cut_rows(const CsrView<T>& matrix, CachedSell<T>& sell, Place place, Stream stream);
/// Sorts rows and pieces of each block and sets where slices lie; returns the chunks of all.
template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, CachedSell<T>& sell, Place place, Stream stream);
/// Deals slices out to so many blocks of threads, and lets these have their shared memory.
template <class T>
void deal_slices(CachedSell<T>& sell, std::int64_t thread_blocks, std::int64_t shared_bytes, Place place,
                 Stream stream);
/// Makes room for all slots and writes them; complete when it returns. Columns do not fit where those of a row are in
/// no order, so that they lie in other blocks.
template <class T>
Fit store(const CsrView<T>& matrix, CachedSell<T>& sell, Place place, Stream stream);
/// Writes the values of all slots, and the columns, -1 for padding, where there is an array for them.
template <class T>
void fill(const CsrView<T>& matrix, const CachedSell<T>& sell, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream);
template <class T>
void multiply(const CachedSell<T>& sell, T alpha, const T* x, T beta, T* y, Stream stream);
}  // namespace device

}  // namespace autospmv::formats::sell_cached
