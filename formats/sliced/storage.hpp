// The sliced core: rows in slices of C, each slice stored column by column and padded to its longest row, T threads
// a row. Formats are this with their own C, T, order of rows and rule for where a row ends: ELLR-T is a single slice
// with row lengths, SELL-C-sigma has small slices of rows sorted by length, the regular part of HYB is a single slice
// that is cut off at K entries.
//
//   C = 4, T = 1         chunk 0    chunk 1    chunk 2         A slot of thread t of row r in chunk j, relative
//   row 0: a b           a c d e    b . . f    . . . g         to the first chunk of its slice:
//   row 1: c                                                       j C T + r T + t
//   row 2: d                                                   so that the threads of a warp always read
//   row 3: e f g                                               neighbouring slots.
//
// Padding never takes part in a product: its column is -1, or the row's length ends before it. On the host it is the
// length that does, and a column of the slice stands in padding, so that packs of lanes may read x there. Columns and
// values may be stored in fewer bits (formats/common/encoding/encoding.hpp): shorter columns count from the smallest of
// the slice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/format.hpp"
#include "formats/sliced/column_chunks.hpp"

namespace autospmv::formats {

struct SlicedLayout {
  static constexpr std::int64_t no_cap = std::numeric_limits<std::int64_t>::max();
  static constexpr int full_bits = 64;

  std::int64_t slice_rows = 32;     ///< C, on the host 1 or a multiple of 8; 0: one slice of all rows, rounded up to 16
  std::int64_t threads = 1;         ///< T, a power of two up to 32; on the host 1 but for one slice with lengths
  std::int64_t sort_window = 1;     ///< sigma: rows are sorted by length within windows of so many, on the host those
                                    ///< of each thread by themselves; 1 keeps the order
  std::int64_t width_cap = no_cap;  ///< entries of a row beyond this many are left to somebody else
  std::int64_t whole_chunks = 1;    ///< CUDA: slices of more than half so many chunks are widened to a multiple of it
  bool keep_lengths = false;        ///< CUDA: end rows by their stored length, not by marked padding
  int block = 256;                  ///< CUDA: threads a block
  std::int64_t split = 1;           ///< CUDA, T = 1: threads that take turns at the slots of a row: 1, 2 or 4
  int unroll = 4;                   ///< CUDA: slots loaded before the first is used: 4; also 2 and 8 without encodings
  int column_bits = 32;             ///< 32; 16 or 8 where slices are small; 0: by chunk
  int value_bits = full_bits;       ///< 0, 8, 32, or full_bits: those of T
};

/// How far the host goes with lanes that it multiplies at once.
struct GroupChunks {
  std::int32_t full = 0;      ///< the first chunks: without padding
  std::int32_t in_packs = 0;  ///< those after which few of the lanes go on
  std::int32_t all = 0;
};

/// What is stored; every array lies in the memory of the place it was built at.
template <class T>
struct SlicedMatrix {
  SlicedLayout layout;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t slices = 0;
  std::int64_t slice_rows = 0;  ///< C
  std::int64_t slots = 0;
  Array<std::int32_t> slice_chunks;  ///< slices + 1 offsets, in chunks of C x T slots
  Array<std::int32_t> row_order;     ///< row stored at each position; empty where that is its own
  Array<std::int32_t> lengths;       ///< of the row at each position; empty where padding is marked
  Array<GroupChunks> group_chunks;   ///< on the host, of each group of lanes
  std::vector<std::int64_t> parts;   ///< on the host, first slice of each part that one thread multiplies, and `slices`
  EncodedColumns columns;            ///< one a slot
  ColumnChunks column_chunks;        ///< or these on the host, where column_bits is 0
  EncodedValues<T> values;

  // As formats/common/operators.hpp has it.
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
  [[nodiscard]] bool refresh(const CsrView<T>& matrix, Place place, Stream stream);
  [[nodiscard]] bool takes_any_values() const { return values.in_full(); }
  [[nodiscard]] std::int64_t bytes() const {
    return slice_chunks.bytes() + row_order.bytes() + lengths.bytes() + group_chunks.bytes() + columns.bytes() +
           column_chunks.bytes() + values.bytes();
  }
};

/// Bits that the head of a chunk takes for each of its columns.
inline double head_bits(const SlicedLayout& layout, Backend backend) {
  if (backend == Backend::cuda) return head_bits_on_cuda;
  return 32 / static_cast<double>(std::max<std::int64_t>(1, layout.slice_rows));
}

/// Bits of a column in a layout, at most.
inline double most_column_bits(const SlicedLayout& layout, Backend backend) {
  const bool by_chunk = layout.column_bits == columns_by_chunk;
  return by_chunk ? full_column_bits + head_bits(layout, backend) : layout.column_bits;
}

/// Bytes of a layout with so many slots in all, of so many bits a column; also what one product reads of it.
template <class T>
double sliced_bytes(const SlicedLayout& layout, std::int64_t rows, double slots, double column_bits) {
  const auto count = static_cast<double>(rows);
  const double slices = layout.slice_rows > 0 ? count / static_cast<double>(layout.slice_rows) : 1;
  const double per_row = (layout.sort_window > 1 ? 4 : 0) + (layout.keep_lengths ? 4 : 0);
  const double bases = layout.column_bits < 32 ? slices : 0;
  const double bits = column_bits + value_bits_of<T>(layout.value_bits);
  return slots * bits / 8 + count * per_row + (slices + 2 + bases) * 4;
}

template <class T>
double sliced_bytes(const SlicedLayout& layout, std::int64_t rows, double slots) {
  return sliced_bytes<T>(layout, rows, slots, layout.column_bits);
}

/// Converts, or refuses storage that is too large. Complete when it returns.
template <class T>
Result<SlicedMatrix<T>> build_sliced(const CsrView<T>& matrix, const SlicedLayout& layout, const Device& device);

}  // namespace autospmv::formats
