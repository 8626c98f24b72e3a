// dia: the diagonals that hold nonzeros, each stored in full beside its offset (column - row). No column is stored or
// read, so a matrix of few dense diagonals moves a third fewer bytes than CSR.
//
//   a b . .     offsets -1 0 1      values of diagonal -1:  . c f h      a slot (row, diagonal) lies at
//   c d e .                                            0:  a d g i      diagonal * stride + row
//   . f g .                                            1:  b e . .
//   . . h i
//
// A slot without a nonzero holds +0.0 and is never multiplied by x, which may be infinite there; a stored nonzero
// that is +0.0 is kept as -0.0, which multiplies alike, except for the sign of a result that is zero.
// Source: Bell, Garland, "Implementing sparse matrix-vector multiplication on throughput-oriented processors", 2009,
// 3.1 and 4.1.
#pragma once

#include <cstdint>

#include "core/array.hpp"
#include "core/csr.hpp"
#include "core/error.hpp"
#include "formats/format.hpp"

namespace autospmv::formats::dia {

template <class T>
struct DiaMatrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;          ///< rows, rounded up so that every diagonal begins on a cache line
  Array<std::int32_t> offsets;      ///< one a diagonal, increasing
  Array<std::int32_t> diagonal_of;  ///< by column - row + rows - 1; only conversion reads it
  Array<T> values;
  int block = 256;  ///< CUDA: threads a block

  [[nodiscard]] std::int64_t diagonals() const { return static_cast<std::int64_t>(offsets.size()); }
  [[nodiscard]] std::int64_t bytes() const { return offsets.bytes() + diagonal_of.bytes() + values.bytes(); }
};

namespace host {
/// The diagonals of the matrix: sets offsets and diagonal_of.
template <class T>
void find_diagonals(const CsrView<T>& matrix, DiaMatrix<T>& dia);
/// Writes the values; false where two nonzeros share a slot.
template <class T>
bool fill(const CsrView<T>& matrix, DiaMatrix<T>& dia);
template <class T>
void multiply(const DiaMatrix<T>& dia, T alpha, const T* x, T beta, T* y);
}  // namespace host

namespace device {
template <class T>
void find_diagonals(const CsrView<T>& matrix, DiaMatrix<T>& dia, Place place, Stream stream);
/// Counts nonzeros that share a slot into `collisions`, which is not read back.
template <class T>
void fill(const CsrView<T>& matrix, DiaMatrix<T>& dia, std::int32_t* collisions, Stream stream);
template <class T>
void multiply(const DiaMatrix<T>& dia, T alpha, const T* x, T beta, T* y, Stream stream);
}  // namespace device

}  // namespace autospmv::formats::dia
