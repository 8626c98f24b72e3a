// The hash behind a fingerprint. Every word of the pattern is mixed with its position and the results are added up,
// so that any number of threads may read the words in any order.
#pragma once

#include <cstdint>

#include "core/machine/host_device.hpp"
#include "core/matrix/fingerprint.hpp"
#include "core/verify/random.hpp"

namespace autospmv {

struct HashSum {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  AUTOSPMV_HD HashSum& operator+=(const HashSum& other) {
    high += other.high;
    low += other.low;
    return *this;
  }
};

/// Both halves of the 128-bit product of the word and its position, each blinded by a constant: one multiplication
/// gives the 128 bits that a word contributes.
AUTOSPMV_HD inline HashSum hash_word(std::uint64_t word, std::uint64_t position) {
  const std::uint64_t a = word ^ 0xa0761d6478bd642fULL;
  const std::uint64_t b = mix64(position + 0xe7037ed1a0b428dbULL);
#ifdef __CUDA_ARCH__
  const std::uint64_t high = __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  const auto high = static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
#endif
  // The product alone is linear in the word; folding its halves breaks that.
  const std::uint64_t folded = high ^ (a * b);
  return {folded * 0x8ebc6af09c88c6e3ULL ^ (folded >> 29), (folded ^ (word << 32 | word >> 32)) * (b | 1U)};
}

/// Row offsets take the positions from 0 on, column pairs and the dimensions others that never collide with them.
inline constexpr std::uint64_t column_positions = std::uint64_t{1} << 48;
inline constexpr std::uint64_t dimension_positions = std::uint64_t{1} << 56;

/// Word k of the columns: columns 2k and 2k + 1, the latter absent at an odd end.
AUTOSPMV_HD inline std::uint64_t column_word(const std::int32_t* col_idx, std::int64_t nnz, std::int64_t k) {
  const std::uint64_t first = static_cast<std::uint32_t>(col_idx[2 * k]);
  const std::uint64_t second = 2 * k + 1 < nnz ? static_cast<std::uint32_t>(col_idx[2 * k + 1]) : 0xffffffffU;
  return first | second << 32;
}

AUTOSPMV_HD inline HashSum hash_dimensions(std::int64_t rows, std::int64_t cols, std::int64_t nnz) {
  HashSum sum = hash_word(static_cast<std::uint64_t>(rows), dimension_positions);
  sum += hash_word(static_cast<std::uint64_t>(cols), dimension_positions + 1);
  sum += hash_word(static_cast<std::uint64_t>(nnz), dimension_positions + 2);
  return sum;
}

inline Fingerprint finish(const HashSum& sum) { return {mix64(sum.high), mix64(sum.low)}; }

}  // namespace autospmv
