// csc: compressed sparse columns. An entry of x is read once and multiplied with its whole column; the products belong
// to rows anywhere and are added to y one by one. It is CSR of the transposed matrix, and the natural form of a product
// with that.
//
//   a . b     columns  0 1 2      rows    0 2 | 1 2 | 0
//   . c .     col_ptr  0 2 4 5    values  a d | c e | b
//   d e .
//
// On CUDA the products are added by atomics, T threads a column. On the host rows are cut in panels of equal nonzeros,
// each stored by columns on its own with only the columns that it has (doubly compressed: Buluc, Gilbert, "On the
// representation and multiplication of hypersparse matrices", 2008), so that threads never write the same row and a
// panel's part of y stays in their caches.
//
// Source: Filippone, Cardellini, Barbieri, Fanfarillo, "Sparse matrix-vector multiplication on GPGPUs", 2017, 2.3.
#pragma once

#include <cstdint>

#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"
#include "formats/columns/storage.hpp"

namespace autospmv::formats::csc {

template <class T>
struct Panel : RowPanel<T> {
  Array<std::int32_t> columns;  ///< host: those that have entries; CUDA: none, all columns are stored
  Array<std::int64_t> col_ptr;  ///< offsets into the entries, one more than there are columns

  [[nodiscard]] std::int64_t bytes() const { return RowPanel<T>::bytes() + columns.bytes() + col_ptr.bytes(); }
};

template <class T>
struct Panels : RowPanels<T, Panel<T>> {
  int threads = 1;  ///< CUDA: a column, a power of two
  int block = 256;  ///< CUDA: threads a block

  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
};

namespace device {

/// Everything but the values.
template <class T>
Panel<T> transpose(const CsrView<T>& matrix, Place place, Stream stream);

template <class T>
void multiply(const Panel<T>& panel, int threads, int block, T alpha, const T* x, T beta, T* y, Stream stream);

}  // namespace device

}  // namespace autospmv::formats::csc
