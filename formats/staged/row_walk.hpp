// The partition of rows into blocks, as far as host and device go the same way.
#pragma once

#include "core/machine/host_device.hpp"
#include "formats/common/row_length.hpp"
#include "formats/staged/row_blocks.hpp"

namespace autospmv::formats {

/// A piece holds the rows that begin in its share of the work, which is that of about so many blocks.
inline constexpr int blocks_of_piece = 8;

/// Two neighbouring blocks of a piece hold more work than one block's limit, or they would be one.
inline constexpr int most_blocks_of_piece = 2 * blocks_of_piece;

template <class Offset>
struct RowWalk {
  const Offset* row_ptr;
  std::int64_t rows;
  std::int64_t nnz;
  RowBlockLimits limits;

  /// A row counts as so many nonzeros, so that `limits.rows` rows are as much work as `limits.entries` nonzeros.
  [[nodiscard]] AUTOSPMV_HD std::int64_t row_weight() const { return (limits.entries + limits.rows - 1) / limits.rows; }
  [[nodiscard]] AUTOSPMV_HD std::int64_t work_before(std::int64_t row) const {
    return static_cast<std::int64_t>(row_ptr[row]) + row * row_weight();
  }
  [[nodiscard]] AUTOSPMV_HD std::int64_t work_of_piece() const { return blocks_of_piece * limits.entries; }
  [[nodiscard]] AUTOSPMV_HD std::int64_t pieces() const {
    return (nnz + rows * row_weight() + work_of_piece() - 1) / work_of_piece();
  }

  /// Whether a row lies at the start of a piece or behind it: the first such row begins the piece.
  [[nodiscard]] AUTOSPMV_HD bool reaches(std::int64_t row, std::int64_t piece) const {
    return work_before(row) >= piece * work_of_piece();
  }

  /// The rows from `first` on that end behind the limit of entries of a block which begins there.
  [[nodiscard]] AUTOSPMV_HD std::int64_t entry_limit(std::int64_t first) const {
    return static_cast<std::int64_t>(row_ptr[first]) + limits.entries;
  }

  /// The last row + 1 that a block may have, by its rows alone.
  [[nodiscard]] AUTOSPMV_HD std::int64_t row_limit(std::int64_t first, std::int64_t end_of_piece) const {
    const std::int64_t last = first + limits.rows;
    return last < end_of_piece ? last : end_of_piece;
  }

  /// Parts of the block that begins with this row: 1 unless it is a row to be cut, which is alone in its block.
  [[nodiscard]] AUTOSPMV_HD std::int64_t parts_of(std::int64_t row) const {
    const auto length = row_length(row_ptr, row);
    return limits.part == 0 || length <= limits.part ? 1 : (length + limits.part - 1) / limits.part;
  }
};

/// A search by the 32 lanes of a warp for the first number of [low, high] that is far enough, given that `high` is and
/// that all numbers behind one that is are too. Found when low == high.
struct WarpSearch {
  std::int64_t low;
  std::int64_t high;

  [[nodiscard]] AUTOSPMV_HD bool done() const { return low >= high; }
  [[nodiscard]] AUTOSPMV_HD std::int64_t step() const { return (high - low + 31) / 32; }
  /// What a lane looks at; nothing where that is not below `high`, which is far enough.
  [[nodiscard]] AUTOSPMV_HD std::int64_t probe(int lane) const { return low + lane * step(); }
  /// Takes the number of lanes, from the first on, whose probe is not far enough.
  AUTOSPMV_HD void narrow(int short_lanes) {
    const std::int64_t next = probe(short_lanes);
    low = short_lanes == 0 ? low : probe(short_lanes - 1) + 1;
    high = next < high ? next : high;
  }
};

namespace host {
RowBlocks make_row_blocks(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, const RowBlockLimits& limits,
                          Place place);
}  // namespace host

namespace cuda_steps {
RowBlocks make_row_blocks(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, const RowBlockLimits& limits,
                          Place place, Stream stream);
}  // namespace cuda_steps

}  // namespace autospmv::formats
