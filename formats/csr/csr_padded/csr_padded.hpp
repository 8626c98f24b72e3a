// csr_padded: CSR whose rows are padded to a multiple of `pad` slots, so that each of them begins where the loads of
// half a warp are aligned, and so that neighbouring slots can be read 16 bytes at a time. Sixteen threads a row is the
// paper's choice, one slot each at a time.
//
//   pad = 4    a b c d e     columns  0 1 2 3   4 . . .   1 . . .     units before each row  0 2 2 3
//   (16, 32)   . . . . .     values   a b c d   e 0 0 0   f 0 0 0
//              . f . . .
//
// The column of a padded slot is -1: it never multiplies x. Padding stands at the end of the last unit of its row.
// Source: Baskaran, Bordawekar, "Optimizing sparse matrix-vector multiplication on GPUs", IBM research report RC24704,
// 2009, 4, and its library SpMV4GPU, as in Vazquez, Ortega, Fernandez, Garzon, "Improving the performance of the sparse
// matrix vector product with GPUs", 2010, III and V.
#pragma once

#include <cstdint>

#include "autospmv/stream.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv::formats::csr_padded {

/// How the device multiplies; the host takes rows as they come.
struct Shape {
  int threads = 16;  ///< a row: a power of two up to 32
  int load = 1;      ///< slots a thread reads at once: 1 or 4
  int block = 256;
};

template <class T>
struct PaddedCsr {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  int pad = 16;                 ///< slots a unit: 16 or 32
  Array<std::int32_t> units;    ///< rows + 1 offsets, in units
  Array<std::int32_t> columns;  ///< pad slots a unit
  Array<T> values;
  Shape shape;

  // As formats/common/operators.hpp has it.
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
  bool refresh(const CsrView<T>& matrix, Place place, Stream stream);
  [[nodiscard]] std::int64_t slots() const { return static_cast<std::int64_t>(columns.size()); }
  [[nodiscard]] std::int64_t bytes() const { return units.bytes() + columns.bytes() + values.bytes(); }
};

namespace host {
/// Sets the offsets of the rows and returns the number of units.
template <class T>
std::int64_t count_units(const CsrView<T>& matrix, PaddedCsr<T>& padded);
/// Writes every slot.
template <class T>
void fill(const CsrView<T>& matrix, PaddedCsr<T>& padded);
template <class T>
void multiply(const PaddedCsr<T>& padded, T alpha, const T* x, T beta, T* y);
}  // namespace host

namespace device {
template <class T>
std::int64_t count_units(const CsrView<T>& matrix, PaddedCsr<T>& padded, Place place, Stream stream);
template <class T>
void fill(const CsrView<T>& matrix, PaddedCsr<T>& padded, Stream stream);
template <class T>
void multiply(const PaddedCsr<T>& padded, const Shape& shape, T alpha, const T* x, T beta, T* y, Stream stream);
}  // namespace device

}  // namespace autospmv::formats::csr_padded
