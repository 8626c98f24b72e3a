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
// Source: diagonals as in formats/common/diagonals.hpp; half storage after Lee, Vuduc, Demmel, Yelick, "Performance
// optimizations and bounds for sparse symmetric matrix-multiple vector multiply", 2003.
#pragma once

#include <memory>

#include "formats/common/diagonals.hpp"
#include "formats/common/diagonals_steps.hpp"
#include "formats/format.hpp"

namespace autospmv::formats::dia {

/// What a product reads.
template <class T>
struct HalfView {
  DiagonalShape shape;
  const T* upper;
  /// Where the values below the main diagonal are read, in the same slots as their mates above: `upper`, or an array of
  /// their own once new values are not symmetric. A pointer to a pointer in the memory of the place, so that a product
  /// in a captured graph follows it too.
  const T* const* lower;
};

/// Finds nonzeros without a mate of the same bits across the main diagonal, which must be stored already. Rows of
/// columns that do not increase are faults, too: a repeated nonzero would be taken for another's mate.
template <class T>
struct FindMates {
  DiagonalShape shape;
  const T* upper;

  struct Row {
    std::int32_t column = -1;
    std::int32_t position = 0;
  };

  [[nodiscard]] AUTOSPMV_HD Row begin(std::int64_t /*row*/) const { return {}; }

  AUTOSPMV_HD void visit(Row& at, std::int64_t row, std::int32_t column, T value, Faults& faults) const {
    if (column <= at.column) ++faults.wrong;
    at.column = column;
    const auto distance = static_cast<std::int32_t>(row - column);
    if (distance < 0) ++faults.unpaired;
    if (distance <= 0) return;
    --faults.unpaired;
    at.position = position_of(distance, shape.offsets, shape.diagonals, at.position - 1);
    if (!has_mate(at.position, distance, column, value)) ++faults.wrong;
  }

 private:
  [[nodiscard]] AUTOSPMV_HD bool has_mate(std::int32_t position, std::int32_t distance, std::int32_t column,
                                          T value) const {
    if (shape.diagonals == 0 || shape.offsets[position] != distance) return false;
    return pattern_of(upper[position * shape.hack + column]) == pattern_of(as_present(value));
  }
};

/// Writes the nonzeros below the main diagonal into the slots of their mates.
template <class T>
struct StoreLower {
  DiagonalShape shape;
  T* lower;

  struct Row {
    std::int32_t position = 0;
  };

  [[nodiscard]] AUTOSPMV_HD Row begin(std::int64_t /*row*/) const { return {}; }

  AUTOSPMV_HD void visit(Row& at, std::int64_t row, std::int32_t column, T value, Faults& /*faults*/) const {
    const auto distance = static_cast<std::int32_t>(row - column);
    if (distance <= 0) return;
    at.position = position_of(distance, shape.offsets, shape.diagonals, at.position - 1);
    lower[at.position * shape.hack + column] = as_present(value);
  }
};

/// Converts a matrix, or refuses one that is not symmetric in pattern and value, bit for bit.
template <class T>
Result<std::unique_ptr<Operator<T>>> build_symmetric(const CsrView<T>& matrix, const DiagonalLayout& layout,
                                                     const Device& device);

namespace device {
template <class T>
void find_mates(const CsrView<T>& matrix, const FindMates<T>& visitor, Faults* faults, Stream stream);
template <class T>
void store_lower(const CsrView<T>& matrix, const StoreLower<T>& visitor, Stream stream);
template <class T>
void multiply(const HalfView<T>& half, const DiagonalLayout& layout, T alpha, const T* x, T beta, T* y, Stream stream);
}  // namespace device

}  // namespace autospmv::formats::dia
