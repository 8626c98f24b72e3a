// Columns on the host in as few bytes as each chunk of a slice needs: 1, 2 or 4 a column, as the distance from the
// smallest column of the chunk. Rows that run alike, those of a mesh, meet near columns in each chunk, however far
// apart chunks are: where a slice spans more than 16 bits hold, most of its chunks span no more than 8 do. For slices
// of as many rows as are multiplied at once.
//
//   C = 4    chunk 0    chunk 1           heads     4, 1 byte    900, 2 bytes
//            4 5 6 7    . 900 901 2000    octets    0 1 2 3      0 0  0 0  1 0  76 4
//
// Padding has the smallest column of its chunk, which is read anyway.
#pragma once

#include <cstdint>

#include "core/machine/array.hpp"
#include "core/machine/simd.hpp"

namespace autospmv::formats {

struct ColumnChunks {
  Array<std::int32_t> heads;   ///< of each chunk: its smallest column times 4, and the power of two that is its bytes
  Array<std::int32_t> firsts;  ///< where the chunks of each slice begin, in octets over C; one more at the end
  Array<std::uint8_t> octets;

  static constexpr std::int64_t most_cols = std::int64_t{1} << 30;  ///< that heads have room for

  static std::int32_t head_of(std::int32_t smallest, std::int32_t largest) {
    const auto distance = largest - smallest;
    const std::uint32_t width = (distance > 0xff ? 1 : 0) + (distance > 0xffff ? 1 : 0);
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(smallest) << 2 | width);
  }
  static AUTOSPMV_INLINE std::uint32_t width_of(std::int32_t head) { return static_cast<std::uint32_t>(head) & 3; }
  static AUTOSPMV_INLINE std::int32_t smallest_of(std::int32_t head) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(head) >> 2);
  }

  [[nodiscard]] std::int64_t bytes() const { return heads.bytes() + firsts.bytes() + octets.bytes(); }
};

}  // namespace autospmv::formats
