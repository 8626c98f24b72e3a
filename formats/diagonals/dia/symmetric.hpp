// Half of a symmetric matrix: of two diagonals with offsets d and -d, which hold the same values, only d >= 0 is
// stored.
//
//   a b . c      offsets 0 1 3      values  a d f h | b e g . | c . . .      row r gets, for each stored diagonal d,
//   b d e .                                                                     a_d[r] x[r + d]  and, for d > 0,
//   . e f g                                                                     a_d[r - d] x[r - d]
//   c . g h
//
// Each row gathers both, so that nothing is added atomically and the result is the same every time. The second look at
// a value comes d rows after the first and from a cache, as long as what is read in between fits into it; otherwise
// nothing is saved but memory.
// Source: diagonals as in formats/diagonals/storage.hpp; half storage after Lee, Vuduc, Demmel, Yelick, "Performance
// optimizations and bounds for sparse symmetric matrix-multiple vector multiply", 2003.
#pragma once

#include "core/search.hpp"
#include "formats/diagonals/convert.hpp"
#include "formats/diagonals/storage.hpp"
#include "formats/format.hpp"

namespace autospmv::formats::dia {

/// What a product reads.
template <class T>
struct HalfView {
  DiagonalShape shape;
  const T* upper;
  /// Where the values below the main diagonal are read, in the slots of their mates above: `upper`, by way of a pointer
  /// in the memory of the place.
  const T* const* lower;
};

/// Nonzeros whose mates are looked for before anything else is done: one of them tells nearly every matrix that is not
/// symmetric.
inline constexpr std::int64_t mates_sampled = 256;

/// Whether the i-th nonzero of the sample has no mate of the same bits, or its mate's columns are not in order.
template <class T, class Offset>
AUTOSPMV_HD bool lacks_mate(const CsrView<T>& matrix, const Offset* row_ptr, std::int64_t i) {
  const auto k = static_cast<std::int64_t>(static_cast<double>(matrix.nnz) / mates_sampled * static_cast<double>(i));
  const auto row = part_of(row_ptr, matrix.rows, k);
  const std::int64_t mates_row = matrix.col_idx[k];
  const std::int64_t last = row_ptr[mates_row + 1];
  const auto mate = partition_point(static_cast<std::int64_t>(row_ptr[mates_row]), last,
                                    [&](std::int64_t at) { return matrix.col_idx[at] < row; });
  return mate == last || matrix.col_idx[mate] != row ||
         pattern_of(as_present(matrix.values[mate])) != pattern_of(as_present(matrix.values[k]));
}

/// What is stored.
template <class T>
struct Half {
  Diagonals<T> upper;
  Array<const T*> lower_at;  ///< where HalfView::lower points
  Array<Faults> faults;

  // As formats/common/operators.hpp has it.
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
  [[nodiscard]] bool refresh(const CsrView<T>& matrix, Place place, Stream stream);
  [[nodiscard]] bool takes_any_values() const { return false; }
  [[nodiscard]] std::int64_t bytes() const { return upper.bytes(); }
};

/// Converts a matrix, or refuses one that is not symmetric in pattern and value, bit for bit (see compare_mates()).
template <class T>
Result<Half<T>> build_symmetric(const CsrView<T>& matrix, const DiagonalLayout& layout, const Device& device);

namespace device {
/// Adds the nonzeros of the sample that lack a mate to *faults.
template <class T>
void sample_mates(const CsrView<T>& matrix, Faults* faults, Stream stream);
template <class T>
void multiply(const HalfView<T>& half, const DiagonalLayout& layout, T alpha, const T* x, T beta, T* y, Stream stream);
}  // namespace device

}  // namespace autospmv::formats::dia
