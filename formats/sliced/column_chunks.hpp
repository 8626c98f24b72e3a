// Columns on the host in as few bytes as each chunk of a slice needs: none where they count up from lane to lane, as
// those of a diagonal do; else 1, 2 or 4 a column, as the distance from where the columns of the chunk begin. Rows that
// run alike, those of a mesh, meet near columns in each chunk, however far apart chunks are: where a slice spans more
// than 16 bits hold, most of its chunks span no more than 8 do. For slices of as many rows as are multiplied at once.
//
//   C = 4    chunk 0    chunk 1       chunk 2           heads     4, a run    60, 1 byte    899, 2 bytes
//            4 5 6 7    62 . 65 63    . 900 901 2000    octets                2 0 5 3       0 0  1 0  2 0  77 4
//
// A chunk begins at its smallest column, or a few before, for lanes are counted too. Padding has the column there, or
// goes on with the run, no further than x goes.
#pragma once

#include <cstdint>

#include "core/machine/array.hpp"
#include "core/machine/simd.hpp"

namespace autospmv::formats {

struct ColumnChunks {
  Array<std::int32_t> heads;   ///< of each chunk: where its columns begin, times 4, and its kind
  Array<std::int32_t> firsts;  ///< where the chunks of each slice begin, in octets over C; one more at the end
  Array<std::uint8_t> octets;

  enum Kind : std::uint8_t { distances_8, distances_16, distances_32, run };

  static constexpr std::int64_t most_cols = std::int64_t{1} << 30;  ///< that heads have room for

  static Kind kind_of_distances(std::int32_t longest) {
    return longest > 0xffff ? distances_32 : longest > 0xff ? distances_16 : distances_8;
  }
  static std::int32_t head_of(std::int32_t first, Kind kind) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(first) << 2 | kind);
  }
  static AUTOSPMV_INLINE Kind kind_of(std::int32_t head) {
    return static_cast<Kind>(static_cast<std::uint32_t>(head) & 3);
  }
  static AUTOSPMV_INLINE std::int32_t first_of(std::int32_t head) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(head) >> 2);
  }
  /// Of a column.
  static std::int32_t octets_of(Kind kind) { return kind == run ? 0 : 1 << kind; }

  [[nodiscard]] std::int64_t bytes() const { return heads.bytes() + firsts.bytes() + octets.bytes(); }
};

}  // namespace autospmv::formats
