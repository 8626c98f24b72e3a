// tjds: transposed jagged diagonal storage, blocked. In each block of columns, the columns are sorted by decreasing
// length; the first entries of all of them are the first jagged diagonal, the second entries the second, and so on.
// An entry knows its row; its column follows from its place in the diagonal. Nothing is padded.
//
//   0: a . b .      block = 2    columns of block 0: 1 0     of block 1: 2 3
//   1: . c d .                   diagonals           c a     b e
//   2: . f . e                                       f .     d .
//                                rows                1 0     0 2
//                                                    2       1
//
// Entries of a row are scattered over the diagonals, so that products are added to y one by one. On CUDA they are added
// by atomics, a block of threads a block of columns: a thread keeps the x of its column and goes down the diagonals
// that are as long as a warp; of the shorter ones, which only long columns reach, each thread takes another. On the
// host rows are cut in panels of equal nonzeros, each stored on its own with only the columns that it has, so that
// threads never write the same row.
//
// Source: Montagne, Ekambaram, "An optimal storage format for sparse matrices", 2004 (TJDS); Abu-Sufah, Karim, "An
// effective approach for implementing sparse matrix-vector multiplication on graphics processing units", 2012 (blocked,
// BTJDS), as surveyed in Muhammed, Mehmood, Albeshri, Katib, "SURAA: a novel method and tool for loadbalanced and
// coalesced SpMV computations on GPUs", 2019, 3. The survey says of the blocks that they are, not how: the reading
// chosen is blocks of neighbouring columns, each sorted on its own.
#pragma once

#include <cstdint>

#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"
#include "formats/columns/storage.hpp"

namespace autospmv::formats::tjds {

template <class T>
struct Panel : RowPanel<T> {
  Array<std::int64_t> block_columns;    ///< blocks + 1 offsets into columns
  Array<std::int64_t> block_diagonals;  ///< blocks + 1 offsets into diagonals
  Array<std::int64_t> diagonals;        ///< offsets into the entries, one more than there are diagonals
  Array<std::int32_t> columns;          ///< those of each block by decreasing length

  [[nodiscard]] std::int64_t blocks() const {
    return block_columns.empty() ? 0 : static_cast<std::int64_t>(block_columns.size()) - 1;
  }
  [[nodiscard]] std::int64_t bytes() const {
    return RowPanel<T>::bytes() + block_columns.bytes() + block_diagonals.bytes() + diagonals.bytes() + columns.bytes();
  }
};

template <class T>
struct Panels : RowPanels<T, Panel<T>> {
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
};

namespace device {

/// All rows in one panel, with its values. The entries of a column come in any order.
template <class T>
Panel<T> transpose(const CsrView<T>& matrix, std::int64_t block, Place place, Stream stream);

template <class T>
void multiply(const Panel<T>& panel, T alpha, const T* x, T beta, T* y, Stream stream);

}  // namespace device

}  // namespace autospmv::formats::tjds
