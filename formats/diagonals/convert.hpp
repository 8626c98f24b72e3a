// The steps of a conversion to diagonals.
#pragma once

#include <algorithm>
#include <limits>

#include "core/verify/random.hpp"
#include "formats/diagonals/storage.hpp"

namespace autospmv::formats {

/// What visitors find; all zero where nothing is wrong.
struct Faults {
  std::int64_t wrong = 0;      ///< nonzeros that cannot be stored
  std::uint64_t mismatch = 0;  ///< sum of what compare_mates() adds

  [[nodiscard]] bool none() const { return wrong == 0 && mismatch == 0; }
};

/// Shows one nonzero of a matrix that may be symmetric. A hash of its place, of its mate's across the main diagonal and
/// of its bits is added below the diagonal and taken away above it: were the hash random, the sum over a matrix that is
/// not symmetric bit for bit would be 0 with a probability of 2^-64. Rows of columns that do not increase are wrong,
/// too: a repeated nonzero would be stored in another's slot. `before` is the column before it in its row, or -1.
template <class T>
AUTOSPMV_HD void compare_mates(std::int64_t row, std::int32_t before, std::int32_t column, T value, Faults& faults) {
  if (column <= before) ++faults.wrong;
  if (column == row) return;
  const auto larger = static_cast<std::uint64_t>(column > row ? column : row);
  const auto smaller = static_cast<std::uint64_t>(column > row ? row : column);
  const auto bits = static_cast<std::uint64_t>(pattern_of(as_present(value)));
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ULL;
  const auto hash = mix64((larger << 32 | smaller) * odd + bits);
  faults.mismatch += column < row ? hash : -hash;
}

/// What may be wrong with nonzeros that are stored: that two of them share a slot, or that they have no mates.
enum class Check : std::uint8_t { none, duplicates, mates };

/// An offset that none is below.
inline constexpr std::int32_t every_offset = std::numeric_limits<std::int32_t>::min();

/// Writes the nonzeros on diagonals of at least `least`.
template <class T>
struct StoreSlots {
  DiagonalShape shape;
  T* values;
  std::int32_t least;  ///< offset
  Check check;         ///< for duplicates, all slots are absent before

  struct Row {
    RowDiagonals diagonals;
    std::int32_t position = -1;
    std::int32_t highest = -1;
    std::int32_t column = -1;
  };

  [[nodiscard]] Row begin(std::int64_t row) const { return {shape.at(row)}; }

  void visit(Row& at, std::int64_t row, std::int32_t column, T value, Faults& faults) const {
    if (check == Check::mates) compare_mates(row, at.column, column, value, faults);
    at.column = column;
    const auto offset = static_cast<std::int32_t>(column - row);
    if (offset < least) return;
    at.position = position_of(offset, at.diagonals.offsets, at.diagonals.count, at.position + 1);
    T& slot = values[at.diagonals.slot + at.position * shape.hack];
    // Only a row whose columns do not increase can come to a slot twice: the others need not read what they write.
    if (check == Check::duplicates && at.position <= at.highest && !is_absent(slot)) ++faults.wrong;
    if (at.position > at.highest) at.highest = at.position;
    slot = as_present(value);
  }
};

/// Offsets of a hack that are kept from counting to listing: of a matrix that is worth it, rows have most of their
/// diagonals in common.
template <class T>
std::int64_t kept_offsets(const CsrView<T>& matrix) {
  constexpr std::int64_t rows_of_their_own = 8;
  const std::int64_t nonzeros = std::max<std::int64_t>(8, matrix.nnz / std::max<std::int64_t>(1, matrix.rows));
  return std::min<std::int64_t>(rows_of_their_own * nonzeros, most_hack_diagonals);
}

/// The count of a hack of more than most_hack_diagonals: no total of a matrix that is taken comes near it.
inline constexpr std::int32_t too_many_diagonals = 1 << 30;

namespace host {

/// The offsets of at least `least` on which the matrix has nonzeros, increasing.
template <class T>
Array<std::int32_t> find_offsets(const CsrView<T>& matrix, std::int64_t least);

/// first[h] = diagonals of hack h or too_many_diagonals, the last one 0. Where they are more than `most` in all, hacks
/// may be left uncounted as too many. Returns what list_offsets() would otherwise have to find again.
template <class T>
Array<std::int32_t> count_diagonals(const CsrView<T>& matrix, std::int64_t most, Diagonals<T>& diagonals);

/// Writes the offsets of each hack from first[h] on.
template <class T>
void list_offsets(const CsrView<T>& matrix, Diagonals<T>& diagonals, const Array<std::int32_t>& kept);

template <class T>
void multiply(const Diagonals<T>& diagonals, T alpha, const T* x, T beta, T* y);

}  // namespace host

namespace cuda_steps {

template <class T>
Array<std::int32_t> find_offsets(const CsrView<T>& matrix, std::int64_t least, Place place, Stream stream);
/// Returns what list_offsets() would otherwise have to find again.
template <class T>
Array<std::int32_t> count_diagonals(const CsrView<T>& matrix, Diagonals<T>& diagonals, Stream stream);
template <class T>
void list_offsets(const CsrView<T>& matrix, Diagonals<T>& diagonals, Array<std::int32_t>& kept, Stream stream);

/// Writes every slot, those without a nonzero too. Adds what is wrong to the one element of `faults`, which nobody asks
/// for where nothing is checked.
template <class T>
void store(const CsrView<T>& matrix, const StoreSlots<T>& to, Faults* faults, Stream stream);

template <class T>
void multiply(const Diagonals<T>& diagonals, T alpha, const T* x, T beta, T* y, Stream stream);

}  // namespace cuda_steps

/// The offsets of at least `least` on which the matrix has nonzeros, increasing, wherever the matrix lies.
template <class T>
Array<std::int32_t> find_offsets(const CsrView<T>& matrix, std::int64_t least, Place place);

}  // namespace autospmv::formats
