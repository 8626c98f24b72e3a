// ell_packed: rows in their own order, packed into the lanes of warps, where every lane has the same few slots. A row
// takes as many lanes as its entries fill, side by side in one group of 32, and deals its entries out among them.
//
//   entries = 2, 4 lanes a group      row 0: a b c      lanes of rows   0 0 1 - | 2 2 2 3
//                                     row 1: d          first slots     a b d . | e f g j
//                                     row 2: e f g h i  second slots    c . . . | h i . .
//                                     row 3: j
//
// Nothing has to be looked up before columns are loaded: where a group's slots lie follows from its number. All loads
// of a lane are under way together, rows that are neighbours meet in the same caches, and no lane waits for a longer
// one. That costs slots: the last lanes of rows are not full, and a row for which a group has too few lanes left begins
// the next one. Two slots of a lane lie side by side and are loaded as one. A warp takes a group, or, where lanes have
// two slots and there are many groups, two at once.
//
// Longer rows than a group holds come first, dealt out among the lanes of several groups: rows of a few groups are
// packed into blocks of threads, which add them up in shared memory; longer ones have a block for themselves, whose
// warps take several groups each, or several blocks, the last of which adds up the sums of all
// (formats/common/kernels/row_parts.hpp).
//
// The source packs rows of blocks of 128 threads, with as many entries a thread as the block's rows need, and adds up
// in shared memory; a constant number spares what describes a block, and warps spare the shared memory. Rows are packed
// in windows, each from a group of its own on, so that windows are packed side by side. Source: Heller, Oberhuber,
// "Adaptive row-grouped CSR format for storing of sparse matrices on GPU", 2012.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/encoding/slots.hpp"
#include "formats/common/kernels/row_parts.hpp"
#include "formats/common/streams/scratch.hpp"
#include "formats/lanes/storage.hpp"

namespace autospmv::formats::ell_packed {

/// Rows that are packed one after the other, and how many times there are as many. Which of them a lane has takes a
/// byte.
inline constexpr std::int64_t window_rows = 128;
inline std::int64_t windows_of(std::int64_t rows) { return (rows + window_rows - 1) / window_rows; }

/// What a lane without a row has in place of a number of rows from where its group counts.
inline constexpr std::uint8_t no_row = 0xff;
static_assert(window_rows <= no_row);

/// Groups of a long row that a warp takes before the row gets another block.
inline constexpr int most_steps = 8;

struct Layout {
  int entries = 4;  ///< slots of a lane, even
  int block = 256;  ///< CUDA: threads a block
  int column_bits = 32;
  int value_bits = 64;

  [[nodiscard]] AUTOSPMV_HD int warps() const { return block / group_lanes; }
  [[nodiscard]] AUTOSPMV_HD std::int64_t group_slots() const { return std::int64_t{group_lanes} * entries; }
  [[nodiscard]] AUTOSPMV_HD bool is_long(std::int64_t length) const { return length > group_slots(); }
  /// Of a row that is not long; an empty one has one too, which stores its 0.
  [[nodiscard]] AUTOSPMV_HD int lanes_of(std::int64_t length) const {
    return length <= entries ? 1 : static_cast<int>((length + entries - 1) / entries);
  }
  /// Of a long row.
  [[nodiscard]] AUTOSPMV_HD std::int64_t groups_of_round(std::int64_t length) const {
    const auto groups = (length + group_slots() - 1) / group_slots();
    return groups < warps() ? groups : warps();
  }
};

/// How entries of a row are dealt out among lanes: the first of these in a group has the entries `entry`, `entry` +
/// `count`, ... of the row, and so on.
struct Deal {
  std::int64_t entry = 0;
  std::int64_t count = 0;  ///< of lanes, in all groups that take part

  /// Of the group that comes as number `part` of a long row's.
  [[nodiscard]] static AUTOSPMV_HD Deal of_long_row(const Layout& layout, std::int64_t length, std::int64_t part) {
    const auto groups = layout.groups_of_round(length);
    return {part / groups * groups * layout.group_slots() + part % groups * group_lanes, groups * group_lanes};
  }
};

/// Where the entry `at` of a lane lies in its group.
AUTOSPMV_HD inline int slot_of(int lane, int at) { return at / 2 * 2 * group_lanes + 2 * lane + at % 2; }

/// Finds places for rows one after the other: none lies in two units of `size`.
struct Packer {
  std::int64_t size = group_lanes;
  std::int64_t unit = 0;  ///< where the last row lies, and how much of it is taken
  std::int64_t taken = 0;

  AUTOSPMV_HD std::int64_t place(std::int64_t count) {
    if (taken + count > size) {
      ++unit;
      taken = 0;
    }
    taken += count;
    return unit * size + taken - count;
  }
  [[nodiscard]] AUTOSPMV_HD std::int64_t units() const { return taken > 0 ? unit + 1 : 0; }
};

/// CUDA: what a block of threads has of long rows: `steps` groups for each of its warps, one after another. Either all
/// groups of the rows they belong to, or one of the `parts` of a row, the first of which `first_block` has.
struct LongBlock {
  std::int32_t first_group = 0;
  std::int32_t steps = 1;
  std::int32_t parts = 1;
  std::int32_t first_block = 0;
};

/// A row of several groups in turn: rounds of so many, among whose lanes the entries of a round are dealt out.
struct LongRow {
  std::int32_t row = 0;
  std::int32_t groups = 0;
  std::int64_t first_group = 0;

  [[nodiscard]] static AUTOSPMV_HD LongRow of(const Layout& layout, std::int64_t row, std::int64_t length) {
    const auto of_round = layout.groups_of_round(length);
    const auto slots = of_round * layout.group_slots();
    return {.row = static_cast<std::int32_t>(row),
            .groups = static_cast<std::int32_t>((length + slots - 1) / slots * of_round)};
  }
};

/// What is stored; every array lies in the memory of the place it was built at.
template <class T>
struct PackedEll {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Layout layout;
  std::int64_t groups = 0;
  std::vector<LongRow> long_rows;
  Array<std::int32_t> part_of_group;  ///< of each group of long rows: which one of its row it is
  Array<LongBlock> long_blocks;       ///< CUDA
  Array<std::int32_t> group_rows;     ///< the row that a group's lanes count from; -1 for a group without any
  Array<std::uint8_t> row_of_lane;    ///< 32 a group, from that row on; no_row for a lane without one
  EncodedColumns columns;             ///< one a slot
  EncodedValues<T> values;
  std::unique_ptr<Scratch<PartSums<T>>> parts;  ///< CUDA, where a row has several blocks

  // As formats/common/operators.hpp has it.
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
  [[nodiscard]] bool refresh(const CsrView<T>& matrix, Place place, Stream stream);
  [[nodiscard]] bool takes_any_values() const { return values.in_full(); }
  [[nodiscard]] std::int64_t long_groups() const { return static_cast<std::int64_t>(part_of_group.size()); }
  [[nodiscard]] std::int64_t slots() const { return groups * layout.group_slots(); }
  [[nodiscard]] std::int64_t bytes() const {
    return part_of_group.bytes() + long_blocks.bytes() + group_rows.bytes() + row_of_lane.bytes() + columns.bytes() +
           values.bytes() + (parts ? parts->bytes() : 0);
  }
};

/// How many groups the short rows of windows take, and how many long rows they have, in one number: sums of such are
/// sums of both, for either is less than 2^31.
struct WindowCounts {
  std::int64_t both = 0;

  [[nodiscard]] static AUTOSPMV_HD WindowCounts of(std::int64_t groups, std::int64_t long_rows) {
    return {long_rows << 32 | groups};
  }
  [[nodiscard]] AUTOSPMV_HD std::int64_t groups() const { return both & 0xffffffff; }
  [[nodiscard]] AUTOSPMV_HD std::int64_t long_rows() const { return both >> 32; }
};

/// Where the first lanes of rows are, counted from the first of their window; -1 for long rows.
struct Packing {
  Array<std::int32_t> lane_of_row;
  Array<WindowCounts> before;           ///< of each window: of those before it
  std::int64_t groups = 0;              ///< of short rows
  std::vector<LongRow> long_rows = {};  ///< with their lengths, in the order of the rows
};

// The steps of a conversion that depend on where it happens.

namespace host {
template <class T>
Packing pack(const CsrView<T>& matrix, const Layout& layout);
/// Sets which rows all lanes have, and which parts of long rows their groups are.
template <class T>
void assign_lanes(const CsrView<T>& matrix, const Packing& packing, PackedEll<T>& ell);
/// Writes every slot, of the columns only where there is an array for them.
template <class T>
void fill(const CsrView<T>& matrix, const PackedEll<T>& ell, Array<std::int32_t>& columns, Array<T>& values);
template <class T>
void multiply(const PackedEll<T>& ell, T alpha, const T* x, T beta, T* y);
}  // namespace host

namespace device {
template <class T>
Packing pack(const CsrView<T>& matrix, const Layout& layout, Place place, Stream stream);
template <class T>
void assign_lanes(const CsrView<T>& matrix, const Packing& packing, PackedEll<T>& ell, Stream stream);
template <class T>
void fill(const CsrView<T>& matrix, const PackedEll<T>& ell, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream);
/// Makes room for all slots and writes them in the bits of the layout; complete when it returns.
template <class T>
Fit store(const CsrView<T>& matrix, PackedEll<T>& ell, Place place, Stream stream);
template <class T>
void multiply(const PackedEll<T>& ell, T alpha, const T* x, T beta, T* y, Stream stream);
/// For so many slots a lane. Each in a file of its own, as fill and store are for float and for double: CUDA loads all
/// kernels of a file before the first of them runs, and whose products are tuned beside them waits for it.
template <int entries, class T>
void multiply_entries(const PackedEll<T>& ell, T alpha, const T* x, T beta, T* y, Stream stream);
}  // namespace device

}  // namespace autospmv::formats::ell_packed
