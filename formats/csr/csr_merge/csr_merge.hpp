// csr_merge: the product by CSR in equal shares of rows plus nonzeros, along the merge path (merge_path.hpp). No matrix
// makes a thread late: not one dense row, not millions of empty ones.
//
//   row_ptr  0 2 2 5     path  0 0 1 1 0 | 0 0 1 .       0: a nonzero, 1: the end of a row
//                              a b     c | d e           tile 0 ends rows 0 and 1 and carries c to row 2, which tile 1
//                                                        ends: d + e
//
// Host: shares of the path are found in row_ptr by each product. A share stores the rows that end in it and carries the
// sum of the one that does not; carries are added when all shares are done, in their order.
//
// CUDA: columns and values are those of CSR, or shorter (formats/common/encoding/encoding.hpp), or renumbered
// (hub_columns.hpp). The path is stored, a bit a step, in place of row_ptr, and the row at the beginning of every tile.
// A warp takes a tile of 32 x items steps: its lanes load neighbouring nonzeros, all gathers of x under way at once,
// and leave the products in shared memory; then each lane walks `items` steps of the path, and a segmented scan joins
// the rows that go from lane to lane. A tile without the end of a row is summed in registers. The warps of a block are
// joined in the same way. A row that crosses blocks is summed in parts, one a block, that meet in global memory; they
// are added in their order by the block that brings the last of them (fixup = 1) or by a second kernel, the paper's own
// way (fixup = 0). The same bits every time, either way.
//
// Bytes a nonzero, of n per row: 4 + those of a value + (1 + 1 / n) (1 / 8 + 1 / (8 items)).
//
// Source: Merrill, Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016. The paper searches for
// the beginnings of shares in every product.
#pragma once

#include <cstdint>
#include <limits>

#include "core/cuda/launch.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/csr/csr_merge/merge_path.hpp"

namespace autospmv::formats::csr_merge {

struct TileShape {
  int items = 11;   ///< steps a lane: 3, 7, 11 or 15
  int block = 256;  ///< threads a block: 128 or 256
  bool one_kernel = true;

  [[nodiscard]] std::int64_t tile_steps() const { return std::int64_t{cuda::warp_size} * items; }
  [[nodiscard]] std::int64_t block_steps() const { return std::int64_t{block} * items; }
};

/// Tiles and blocks are counted in 32 bits.
inline constexpr std::int64_t most_tiles = std::numeric_limits<std::int32_t>::max() - 64;

/// CUDA: the path of a matrix.
struct Tiles {
  TileShape shape;
  std::int32_t blocks = 0;
  Array<std::uint32_t> path;
  Array<std::int32_t> rows;   ///< at the beginning of every tile, and past the last
  Array<Crossing> crossings;  ///< of the row at the beginning of every block

  [[nodiscard]] std::int64_t bytes() const { return path.bytes() + rows.bytes() + crossings.bytes(); }
};

/// CUDA: what the blocks of a product leave for each other. A block that is the only one writes what nobody reads.
template <class T>
struct Parts {
  Array<T> sums;                ///< of every block: of the row that it begins in, of the row that it stops in
  Array<std::int32_t> arrived;  ///< at the last block of a row that crosses blocks, 0 between products; in one kernel

  [[nodiscard]] std::int64_t bytes() const { return sums.bytes() + arrived.bytes(); }
};

namespace device {

/// Writes down the path of a matrix with rows, in the order of the stream.
template <class T>
Tiles lay_tiles(const CsrView<T>& matrix, const TileShape& shape, Place place, Stream stream);

template <class T>
Parts<T> make_parts(const Tiles& tiles, Place place, Stream stream);

/// `columns` are those of the matrix, or others in their places.
template <class T>
void multiply(const CsrView<T>& matrix, const std::int32_t* columns, const EncodedValues<T>& values, const Tiles& tiles,
              Parts<T>& parts, T alpha, const T* x, T beta, T* y, Stream stream);

}  // namespace device

}  // namespace autospmv::formats::csr_merge
