// Diagonals that are stored in full beside their offsets (column - row): no column is stored or read. Rows are cut into
// hacks, each of which stores only the diagonals that it meets. DIA is one hack of all rows, HDIA has small ones.
//
//   hacks of 2 rows         offsets    values        The slot of row r and the j-th diagonal of its hack h:
//   a b . .  hack 0:         0 1       a c | b d         (first[h] + j) * hack + r % hack
//   . c d .                                          so that the threads of a warp always read neighbouring slots.
//   . e f .  hack 1:        -1 0 1     e g | f . | . h
//   . . g h
//
// A slot without a nonzero holds +0.0 and is never multiplied by x, which may be infinite there; a stored nonzero
// that is +0.0 is kept as -0.0, which multiplies alike, except for the sign of a result that is zero.
// Source: Barbieri, Cardellini, Fanfarillo, Filippone, "Three storage formats for sparse matrices on GPGPUs",
// 2015, 3.3.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"
#include "core/search.hpp"
#include "formats/common/encoding/absent.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

/// Diagonals begin on cache lines, and the rows of a warp lie in one hack.
inline constexpr std::int64_t hack_unit = 32;

/// Conversion gives each row of a hack a thread of one block.
inline constexpr std::int64_t largest_hack = 1024;

/// Diagonals of one small hack beyond which every format of rows is better.
inline constexpr std::int32_t most_hack_diagonals = 2048;

struct DiagonalLayout {
  std::int64_t hack = 0;  ///< rows, a multiple of hack_unit up to largest_hack; 0: all of them
  /// CUDA: rows a thread, 1 to 4, and up to 8 where diagonals are constant. They lie hack_unit rows apart, so that a
  /// warp reads neighbouring values and neighbouring elements of x; times hack_unit they divide a hack.
  int rows = 1;
  int block = 256;  ///< CUDA: threads a block
};

/// The diagonals of one row: offsets[0, count), the j-th of them in slot + j * hack.
struct RowDiagonals {
  const std::int32_t* offsets;
  std::int32_t count;
  std::int64_t slot;
};

/// Where everything lies, for host and device alike.
struct DiagonalShape {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t hack;
  std::int32_t diagonals;     ///< of all hacks
  const std::int32_t* first;  ///< hacks + 1; nullptr: there is one hack
  const std::int32_t* offsets;

  [[nodiscard]] AUTOSPMV_HD RowDiagonals at(std::int64_t row) const {
    if (first == nullptr) return {offsets, diagonals, row};
    // Both fit into 32 bits, in which a division is cheap.
    const std::int64_t h = static_cast<std::uint32_t>(row) / static_cast<std::uint32_t>(hack);
    const std::int64_t begin = first[h];
    return {offsets + begin, static_cast<std::int32_t>(first[h + 1] - begin), (begin - h) * hack + row};
  }
};

template <class T>
struct Diagonals {
  DiagonalLayout layout;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t hack = hack_unit;  ///< rows of a hack
  std::int64_t hacks = 0;
  Array<std::int32_t> first;    ///< hacks + 1, each hack's first among the offsets; empty where there is one hack
  Array<std::int32_t> offsets;  ///< increasing within a hack
  Array<T> values;              ///< hack slots for each offset

  // As formats/common/operators.hpp has it.
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
  bool refresh(const CsrView<T>& matrix, Place place, Stream stream);
  [[nodiscard]] std::int64_t bytes() const { return first.bytes() + offsets.bytes() + values.bytes(); }
  [[nodiscard]] DiagonalShape shape() const {
    return {
        rows,          cols, hack, static_cast<std::int32_t>(offsets.size()), first.empty() ? nullptr : first.data(),
        offsets.data()};
  }
};

/// The position of the last offset that is not beyond `offset`, 0 where there is none. Looks at `near` first and then
/// farther and farther on: rows of sorted columns meet their diagonals nearly one after the other.
AUTOSPMV_HD inline std::int32_t position_of(std::int32_t offset, const std::int32_t* offsets, std::int32_t count,
                                            std::int32_t near) {
  const bool near_enough = near >= 0 && near < count;
  if (near_enough && offsets[near] == offset) return near;
  return part_near(offsets, near_enough && offsets[near] <= offset ? near : 0, count, offset);
}

/// The one hack of all rows: a multiple of `unit`, and never empty.
inline std::int64_t whole_hack(std::int64_t rows, std::int64_t unit = hack_unit) {
  return std::max(unit, (rows + unit - 1) / unit * unit);
}

/// Bytes of so many diagonals of one hack of all rows.
template <class T>
double diagonal_bytes(std::int64_t rows, double diagonals) {
  return diagonals * (static_cast<double>(whole_hack(rows)) * sizeof(T) + 4);
}

/// Bytes of so many diagonals in all, in small hacks.
template <class T>
double hack_bytes(std::int64_t rows, std::int64_t hack, double diagonals) {
  return diagonals * (static_cast<double>(hack) * sizeof(T) + 4) +
         (static_cast<double>(rows) / static_cast<double>(hack) + 2) * 4;
}

/// Refuses matrices whose offsets do not fit into 32 bits.
inline std::optional<Refusal> refuse_offsets(std::int64_t rows, std::int64_t cols) {
  if (rows + cols < std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return Refusal{"offsets: rows and columns are more than 32 bits count"};
}

/// Finds out where everything lies, all but the values, or refuses storage that is too large and hacks of too many
/// diagonals.
template <class T>
Result<Diagonals<T>> place_diagonals(const CsrView<T>& matrix, const DiagonalLayout& layout, const Device& device);

/// Converts, or refuses as place_diagonals() does, and nonzeros that share a slot. Complete when it returns.
template <class T>
Result<Diagonals<T>> build_diagonals(const CsrView<T>& matrix, const DiagonalLayout& layout, const Device& device);

/// Writes the values of all slots anew, into memory of their own; false where two nonzeros have one slot between them.
/// Waits for the stream.
template <class T>
[[nodiscard]] bool fill_diagonals(Diagonals<T>& diagonals, const CsrView<T>& matrix, Place place, Stream stream);

}  // namespace autospmv::formats
