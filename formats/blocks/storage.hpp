// The blocked core: dense blocks of r x c elements, aligned to multiples of r and c, one column index a block. BSR
// (also BCSR) stores the blocks of each block row one after another; blocked ELLPACK stores them in slices of C block
// rows, each slice padded to its longest block row. BSR is the slice of one block row.
//
//   r = c = 2        block row 0: blocks 0       Values lie column by column of a block, over all rows of a slice:
//   a b . .          block row 1: blocks 0, 1      C = 1:  a c  b d | e i  f j | g .  h l
//   c d . .                                        C = 2:  a c e i  b d f j | . . g .  . . h l
//   e f g h                                      and block columns
//   i j . l                                        C = 1:  0 | 0 | 1
//                                                  C = 2:  0 0 | -1 1
//
// With `chunk` for one block of each block row of a slice, counted through all slices, and `row` for the row within the
// slice, slots are
//   of a block:  chunk C + row / r
//   of a value:  (chunk c + column within the block) C r + row
// so that neighbouring rows of a block row, and with C > 1 those of neighbouring block rows too, lie side by side.
//
// Slots within a block that hold no nonzero are marked as in absent.hpp, padding blocks by column -1. Block columns of
// a block row increase. Blocks may reach past the last row and column; nothing of x or y is read or written there.
// Columns of the matrix may come in any order; duplicates are refused, for two nonzeros would have one slot.
#pragma once

#include <cstdint>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

/// Rows and columns of a block that kernels are compiled for.
#define AUTOSPMV_BLOCK_SIZES 2, 3, 4, 5, 6, 7, 8

struct BlockLayout {
  int r = 2;               ///< rows of a block: one of AUTOSPMV_BLOCK_SIZES
  int c = 2;               ///< its columns: one of them too
  std::int64_t slice = 1;  ///< C, block rows a slice: 1 or a multiple of 4; 0: one slice of all
  int value_bits = 64;     ///< CUDA: 8, 32, or 64 for all of T
};

/// How a CUDA kernel is launched.
struct BlockLaunch {
  int threads = 1;  ///< T: a block row in bsr, a row in bell
  int block = 256;  ///< threads a block
};

template <class T>
struct BlockMatrix;

/// A format's own CUDA kernel.
template <class T>
using BlockKernel = void (*)(const BlockMatrix<T>&, const BlockLaunch&, T alpha, const T* x, T beta, T* y, Stream);

/// What is stored; every array lies in the memory of the place it was built at.
template <class T>
struct BlockMatrix {
  BlockLayout layout;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t block_rows = 0;
  std::int64_t slice = 1;  ///< C
  std::int64_t slices = 0;
  bool sorted_rows = false;           ///< CUDA: whether the columns of every row of the matrix increase
  Array<std::int32_t> slice_chunks;   ///< slices + 1 offsets, in chunks; with C = 1 the block_ptr of BSR
  Array<std::int32_t> block_columns;  ///< one a block slot
  EncodedValues<T> values;            ///< r c a block slot, and read_past more that hold nothing
  BlockLaunch launch;
  BlockKernel<T> kernel = nullptr;  ///< CUDA

  /// Host kernels load whole vectors, up to so many elements past the last one.
  static constexpr std::int64_t read_past = 8;

  // As formats/common/operators.hpp has it.
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
  [[nodiscard]] bool refresh(const CsrView<T>& matrix, Place place, Stream stream);
  [[nodiscard]] bool takes_any_values() const { return values.in_full(); }
  [[nodiscard]] std::int64_t bytes() const { return slice_chunks.bytes() + block_columns.bytes() + values.bytes(); }
};

/// Bytes of a layout with so many block slots in all; also what one product reads of it.
template <class T>
double block_bytes(const BlockLayout& layout, double block_rows, double block_slots) {
  const double elements = static_cast<double>(layout.r) * layout.c;
  const double slices = layout.slice > 0 ? block_rows / static_cast<double>(layout.slice) : 1;
  const double value_bytes = static_cast<double>(value_bits_of<T>(layout.value_bits)) / 8;
  return block_slots * (4 + elements * value_bytes) + (slices + 2) * 4;
}

/// Converts, or refuses duplicates and blocks too empty to pay. Complete when it returns.
template <class T>
Result<BlockMatrix<T>> build_blocks(const CsrView<T>& matrix, const BlockLayout& layout, const Device& device);

}  // namespace autospmv::formats
