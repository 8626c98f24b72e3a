// ELLPACK in groups of 32 lanes, the threads of a warp. Rows are sorted by length; a short row takes one lane, a longer
// one takes several neighbouring lanes of its group, which deal its entries out among them and add their sums up
// afterwards. A group is stored chunk by chunk, an entry for each lane, up to its own longest lane. Formats are this
// with their own rule of how many lanes a row of some length takes.
//
//   4 lanes a group, at most 4 entries a lane        lanes of rows   0 0 1 2
//   row 0: a b c d e f g                             chunk 0         a b h j
//   row 1: h i                                       chunk 1         c d i .
//   row 2: j                                         chunk 2         e f . .
//                                                    chunk 3         g . . .
//
// Padding is marked by column -1 and never takes part in a product. On CUDA columns and values may be stored in fewer
// bits (formats/common/encoding/encoding.hpp); columns count from the smallest of their group, whose rows come from
// anywhere, so that fewer bits are for matrices of few columns, or from the smallest of their chunk. A group that has
// rows of one lane only is what ELL-WARP's first kernel has; a row that takes all lanes is stored in its own order, so
// that the few rows that are still too long for a warp can be read by all warps of a block.
#pragma once

#include <cstdint>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/encoding/slots.hpp"
#include "formats/common/row_length.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

/// Lanes of a group.
inline constexpr int group_lanes = 32;

/// How many lanes a row takes: the fewest that leave each lane `height` entries at most. Class 0 is for rows that are
/// longer than all lanes of a group should take.
struct LaneClasses {
  static constexpr int most = 11;

  std::int64_t height = 1;
  int count = 0;
  int lanes[most] = {};  ///< decreasing: 32 for class 0, 32 for class 1, ..., 1 for the last

  [[nodiscard]] std::int64_t rows_of_group(int at) const { return 32 / lanes[at]; }

  [[nodiscard]] AUTOSPMV_HD int class_of(std::int64_t length) const {
    int narrowest = count - 1;
    while (narrowest > 0 && length > height * lanes[narrowest]) --narrowest;
    return narrowest;
  }
};

struct LanesLayout {
  LaneClasses classes;
  int column_bits = 32;  ///< 32; on CUDA 16, 8 or 0 too
  int value_bits = 64;   ///< 64 for all of T; on CUDA 0, 8 or 32 too
};

/// What is stored; every array lies in the memory of the place it was built at.
template <class T>
struct WarpEll {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t groups = 0;
  std::int64_t long_groups = 0;      ///< the first groups, of a single row each that wants a block of threads
  std::int64_t chunks = 0;           ///< of all groups
  int block = 256;                   ///< CUDA: threads a block
  Array<std::int32_t> group_chunks;  ///< groups + 1 offsets, in chunks of 32 slots
  Array<std::int32_t> row_of_lane;   ///< 32 a group; -1 for a lane without a row
  EncodedColumns columns;            ///< one a slot
  EncodedValues<T> values;

  // As formats/common/operators.hpp has it.
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
  [[nodiscard]] bool refresh(const CsrView<T>& matrix, Place place, Stream stream);
  [[nodiscard]] bool takes_any_values() const { return values.in_full(); }
  [[nodiscard]] std::int64_t slots() const { return chunks * group_lanes; }
  [[nodiscard]] std::int64_t bytes() const {
    return group_chunks.bytes() + row_of_lane.bytes() + columns.bytes() + values.bytes();
  }
};

/// Converts, or refuses storage that is too large. Complete when it returns.
template <class T>
Result<WarpEll<T>> build_warp_ell(const CsrView<T>& matrix, const LanesLayout& layout, const Device& device);

/// Bits of a column in a layout, at most.
inline double most_column_bits(const LanesLayout& layout) {
  return layout.column_bits == columns_by_chunk ? full_column_bits + head_bits_on_cuda : layout.column_bits;
}

/// Bytes of so many groups with so many slots in all, of so many bits a column.
template <class T>
double warp_ell_bytes(const LanesLayout& layout, double groups, double slots, double column_bits) {
  const double bits = column_bits + value_bits_of<T>(layout.value_bits);
  const double bases = layout.column_bits < full_column_bits ? groups : 0;
  return slots * bits / 8 + (groups * (group_lanes + 1) + bases + 1) * 4;
}

/// Threads that a row may get on CUDA.
inline constexpr int largest_block = 1024;

/// As many threads as leave each of them the height that the lanes of other rows have.
inline int block_for(std::int64_t longest, const LaneClasses& classes) {
  int block = 256;
  while (block < largest_block && longest > classes.height * block) block *= 2;
  return block;
}

}  // namespace autospmv::formats
