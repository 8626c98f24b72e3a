// The steps of a conversion to diagonals. Which slot a nonzero belongs to is said once, by the visitors, for host and
// device; how the nonzeros of many rows are read is each one's own.
#pragma once

#include "formats/common/diagonals.hpp"

namespace autospmv::formats {

/// What visitors find; all zero where nothing is wrong.
struct Faults {
  std::int64_t wrong = 0;     ///< nonzeros that cannot be stored
  std::int64_t unpaired = 0;  ///< nonzeros above the main diagonal less those below it, where they must come in pairs

  AUTOSPMV_HD void add(const Faults& other) {
    wrong += other.wrong;
    unpaired += other.unpaired;
  }
  [[nodiscard]] bool none() const { return wrong == 0 && unpaired == 0; }
};

/// Writes the nonzeros on diagonals of at least `least`; a slot that two of them share is a fault.
template <class T>
struct StoreSlots {
  DiagonalShape shape;
  T* values;
  std::int32_t least;  ///< offset
  bool fresh;          ///< all slots are still absent; where they are not, nothing tells a repeated nonzero

  struct Row {
    RowDiagonals diagonals;
    std::int32_t position = -1;
    std::int32_t highest = -1;
  };

  [[nodiscard]] AUTOSPMV_HD Row begin(std::int64_t row) const { return {shape.at(row)}; }

  AUTOSPMV_HD void visit(Row& at, std::int64_t row, std::int32_t column, T value, Faults& faults) const {
    const auto offset = static_cast<std::int32_t>(column - row);
    if (offset < least) return;
    at.position = position_of(offset, at.diagonals.offsets, at.diagonals.count, at.position + 1);
    T& slot = values[at.diagonals.slot + at.position * shape.hack];
    // Only a row whose columns do not increase can come to a slot twice: the others need not read what they write.
    if (fresh && at.position <= at.highest && !is_absent(slot)) ++faults.wrong;
    if (at.position > at.highest) at.highest = at.position;
    slot = as_present(value);
  }
};

/// The count of a hack of more than most_hack_diagonals: no total of a matrix that is taken comes near it.
inline constexpr std::int32_t too_many_diagonals = 1 << 30;

namespace host {

/// The offsets of at least `least` on which the matrix has nonzeros, increasing.
template <class T>
Array<std::int32_t> find_offsets(const CsrView<T>& matrix, std::int64_t least);

/// first[h] = diagonals of hack h or too_many_diagonals, the last one 0. Where they are more than `most` in all, hacks
/// may be left uncounted as too many.
template <class T>
void count_diagonals(const CsrView<T>& matrix, std::int64_t most, Diagonals<T>& diagonals);

/// Writes the offsets of each hack from first[h] on.
template <class T>
void list_offsets(const CsrView<T>& matrix, Diagonals<T>& diagonals);

template <class T>
void multiply(const Diagonals<T>& diagonals, T alpha, const T* x, T beta, T* y);

}  // namespace host

namespace cuda_steps {

template <class T>
Array<std::int32_t> find_offsets(const CsrView<T>& matrix, std::int64_t least, Place place, Stream stream);
template <class T>
void count_diagonals(const CsrView<T>& matrix, Diagonals<T>& diagonals, Stream stream);
template <class T>
void list_offsets(const CsrView<T>& matrix, Diagonals<T>& diagonals, Stream stream);

/// Adds what is wrong to the one element of `faults`; nullptr: nobody asks.
template <class T>
void store(const CsrView<T>& matrix, const StoreSlots<T>& visitor, Faults* faults, Stream stream);

template <class T>
void multiply(const Diagonals<T>& diagonals, T alpha, const T* x, T beta, T* y, Stream stream);

}  // namespace cuda_steps

/// The offsets of at least `least` on which the matrix has nonzeros, increasing, wherever the matrix lies.
template <class T>
Array<std::int32_t> find_offsets(const CsrView<T>& matrix, std::int64_t least, Place place);

}  // namespace autospmv::formats
