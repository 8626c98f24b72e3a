// Diagonals of which most are constant. A diagonal whose nonzeros within a hack all have one finite value, as those of
// a discretised equation with constant coefficients do, is stored as that value and a bit for each row, set where there
// is a nonzero; the others keep their slots.
//
//   a b . .      diagonals of the hack of four rows       constant  rows     slots
//   c a b .        -1                                     c         . 1 1 1
//   . c a b         0                                     a         1 1 1 1
//   . . c a         1                                     b         1 1 1 .
//
// Source: diagonals as in formats/diagonals/storage.hpp; constants as in codes that apply stencils and store no matrix.
#pragma once

#include <cstdint>
#include <optional>

#include "formats/diagonals/convert.hpp"
#include "formats/diagonals/storage.hpp"
#include "formats/format.hpp"

namespace autospmv::formats::hdia {

/// Rows that one word of bits stands for.
inline constexpr std::int64_t word_rows = 32;
static_assert(hack_unit % word_rows == 0);

/// One diagonal of one hack.
template <class T>
struct alignas(16) HackDiagonal {
  T constant;           ///< where `full` is negative
  std::int32_t offset;  ///< column - row
  std::int32_t full;    ///< which of the diagonals in full it is
};

/// What a product reads.
template <class T>
struct ConstantsView {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t hack;
  const std::int32_t* first;         ///< hacks + 1, each hack's first among the diagonals
  const HackDiagonal<T>* diagonals;  ///< their offsets increase within a hack
  const std::uint32_t* words;        ///< hack / word_rows for each diagonal
  const T* slots;                    ///< hack for each diagonal in full, absent ones as in diagonals/storage.hpp
};

/// What is stored.
template <class T>
struct Constants {
  Diagonals<T> places;  ///< but for their values
  Array<HackDiagonal<T>> diagonals;
  Array<std::uint32_t> words;
  Array<T> slots;

  // As formats/common/operators.hpp has it.
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
  bool refresh(const CsrView<T>& matrix, Place place, Stream stream);
  [[nodiscard]] bool takes_any_values() const { return false; }
  [[nodiscard]] std::int64_t bytes() const {
    return places.bytes() + diagonals.bytes() + words.bytes() + slots.bytes();
  }
  [[nodiscard]] ConstantsView<T> view() const {
    return {places.rows, places.cols, places.hack, places.first.data(), diagonals.data(), words.data(), slots.data()};
  }
};

/// Bytes of so many diagonals in all, so many of them in full.
template <class T>
double constants_bytes(std::int64_t rows, std::int64_t hack, double diagonals, double full) {
  const auto of_diagonal = static_cast<double>(sizeof(HackDiagonal<T>)) + 4 + static_cast<double>(hack) / 8;
  return diagonals * of_diagonal + full * static_cast<double>(hack) * sizeof(T) +
         (static_cast<double>(rows) / static_cast<double>(hack) + 2) * 4;
}

/// Converts a matrix, or refuses one that diagonals do not suit, and one most of whose diagonals have several values.
template <class T>
Result<Constants<T>> build_constants(const CsrView<T>& matrix, const DiagonalLayout& layout, const Device& device);

// The steps. Where values are taken, on a device `values` has the slots of all diagonals; on the host they are filled
// hack by hack.

namespace host {
/// Says of every diagonal whether it is constant, and where; numbers those in full and returns how many they are,
/// unless nonzeros share a slot.
template <class T>
std::optional<std::int64_t> find_constants(const CsrView<T>& matrix, Constants<T>& constants);
/// Takes the values; false where a diagonal is constant no longer, or nonzeros share a slot.
template <class T>
bool take_values(const CsrView<T>& matrix, Constants<T>& constants);
template <class T>
void multiply(const Constants<T>& constants, T alpha, const T* x, T beta, T* y);
}  // namespace host

namespace device {
/// As on the host. Waits for the stream.
template <class T>
std::optional<std::int64_t> find_constants(const CsrView<T>& matrix, Constants<T>& constants, Stream stream);
template <class T>
bool take_values(const Array<T>& values, Constants<T>& constants, Stream stream);
template <class T>
void multiply(const Constants<T>& constants, const DiagonalLayout& layout, T alpha, const T* x, T beta, T* y,
              Stream stream);
}  // namespace device

}  // namespace autospmv::formats::hdia
