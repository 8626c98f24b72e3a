// What the host and the device count while they read a matrix, all of it in integers, and the one function that makes
// Features of the counts: this is why both give the same numbers, whatever the order in which they add.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/machine/host_device.hpp"
#include "core/verify/random.hpp"
#include "features/features.hpp"

namespace autospmv {

/// The one integer type for which CUDA has 64-bit atomics.
using Count = unsigned long long;

/// Rows shorter than this are counted by their length; longer ones, at most nnz / long_row of them, are listed.
inline constexpr std::int64_t long_row = 1024;

/// Slice whose columns' span is a feature, and the one that all sizes of slices divide.
inline constexpr std::int64_t span_slice = 32;
inline constexpr std::int64_t largest_slice = slice_sizes.back();

/// Counts that add up over the parts of a matrix.
struct Sums {
  Count long_rows = 0;
  std::array<Count, slice_sizes.size()> sliced_slots{};  ///< stored by sliced ELL
  Count diagonals = 0;                                   ///< exact up to diagonals_cap
  Count span = 0;                                        ///< over slices that hold nonzeros
  Count spanned_slices = 0;
  Count asymmetry = 0;    ///< sum of asymmetry_of
  Count descents = 0;     ///< nonzeros whose column is not beyond that of the one before in the row
  Count sampled_nnz = 0;  ///< in the rows of the RowSample
  Count long_groups = 0;  ///< of those rows: how the device shares its work, no feature
  std::array<Count, block_sizes.size()> blocks{};  ///< that hold sampled nonzeros
  Count slice_diagonals = 0;                       ///< over sampled slices, of each up to slice_diagonals_cap + 1
  Count met_slices = 0;                            ///< sampled slices that hold nonzeros
  Count distinct_values = 0;  ///< bit patterns other than that of 0, exact up to distinct_values_cap
  Count zero_values = 0;      ///< not 0 where the bit pattern of 0 is among the values; how many does not matter
  Count inexact_values = 0;   ///< not 0 where a value does not survive float; how many does not matter
};

/// Counts of which the parts' largest is the whole's.
struct Maxima {
  Count lower_bandwidth = 0;
  Count upper_bandwidth = 0;
  Count span = 0;
  Count magnitude = 0;  ///< of a finite value: the bits of the double, which order like integers; counted on devices
};

struct Tally {
  Sums sums;
  Maxima maxima;
  std::array<Count, long_row> short_rows{};  ///< rows by length
};

/// Sums and Maxima as the arrays of counts that they are.
template <class Counts>
AUTOSPMV_HD constexpr int count_words() {
  return static_cast<int>(sizeof(Counts) / sizeof(Count));
}
template <class Counts>
AUTOSPMV_HD Count* words_of(Counts& counts) {
  static_assert(sizeof(Counts) % sizeof(Count) == 0);
  return reinterpret_cast<Count*>(&counts);
}

/// The pattern of a CsrView, with the type of its row offsets settled.
template <class Offset>
struct Pattern {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  const Offset* row_ptr = nullptr;
  const std::int32_t* col_idx = nullptr;
};

/// Where b x b blocks and the diagonals of slices are counted: groups of `group_rows` consecutive rows, `taken` of them
/// at even distances. Groups are made of whole block rows of every size and of whole slices, so sampled rows put one
/// below the other keep their blocks.
struct RowSample {
  static constexpr std::int64_t group_rows = 96;  // 4 times the least common multiple of 2, 3, 4 and 8
  static constexpr std::int64_t group_slices = group_rows / span_slice;
  static_assert(group_rows % 3 == 0 && group_rows % 8 == 0 && group_rows % span_slice == 0);

  std::int64_t rows = 0;
  std::int64_t groups = 0;
  std::int64_t taken = 0;

  static RowSample all_of(std::int64_t rows) {
    const std::int64_t groups = (rows + group_rows - 1) / group_rows;
    return {.rows = rows, .groups = groups, .taken = groups};
  }
  static RowSample of(std::int64_t rows, std::int64_t nnz) {
    auto sample = all_of(rows);
    if (nnz > feature_sample_nnz && rows > 0) {
      const double share = static_cast<double>(feature_sample_nnz) / static_cast<double>(nnz);
      sample.taken = static_cast<std::int64_t>(share * static_cast<double>(sample.groups)) + 1;
      sample.taken = std::min(sample.taken, sample.groups);
    }
    return sample;
  }

  [[nodiscard]] bool complete() const { return taken == groups; }

  /// The row of the matrix that is the sample's row `position`.
  [[nodiscard]] AUTOSPMV_HD std::int64_t row(std::int64_t position) const {
    if (taken == groups) return position;
    return position / group_rows * groups / taken * group_rows + position % group_rows;
  }

  /// Sampled rows. Only the last group of the matrix may be short, and only the sample's last group can be that one.
  [[nodiscard]] std::int64_t size() const {
    if (taken == 0) return 0;
    const std::int64_t last_first = row((taken - 1) * group_rows);
    return (taken - 1) * group_rows + std::min(group_rows, rows - last_first);
  }
};

/// What one nonzero of a square matrix adds to a sum that is 0 where the pattern is symmetric: a hash of the unordered
/// pair {i, j}, below the diagonal with one sign and above it with the other. Were the hash random, the sum over an
/// asymmetric pattern would be 0 with a probability of 2^-64.
AUTOSPMV_HD inline Count asymmetry_of(std::int64_t i, std::int64_t j) {
  // Both are below 2^31: columns are, and the matrix is square.
  const auto larger = static_cast<std::uint64_t>(i > j ? i : j);
  const auto smaller = static_cast<std::uint64_t>(i > j ? j : i);
  const std::uint64_t hash = i == j ? 0 : mix64(larger << 32 | smaller);
  return i > j ? hash : -hash;
}

template <class T>
AUTOSPMV_HD constexpr std::uint64_t bits_of(T value) {
  if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return std::bit_cast<std::uint64_t>(value);
  }
}

template <class T>
AUTOSPMV_HD constexpr T value_of_bits(std::uint64_t bits) {
  if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
    return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  } else {
    return std::bit_cast<T>(bits);
  }
}

AUTOSPMV_HD constexpr bool survives_float(float /*value*/) { return true; }

/// NaNs are judged by their bits: processors quiet them and cut their payload, GPUs replace them by one NaN.
AUTOSPMV_HD constexpr bool survives_float(double value) {
  constexpr std::uint64_t quiet_bit = std::uint64_t{1} << 51;
  constexpr std::uint64_t lost_bits = (std::uint64_t{1} << 29) - 1;
  if (value != value) return (bits_of(value) & (quiet_bit | lost_bits)) == quiet_bit;
  return static_cast<double>(static_cast<float>(value)) == value;
}

/// Slots of the open-addressing tables in which distinct values are counted: a quarter is filled at most.
inline constexpr std::uint64_t value_slots = 4 * distinct_values_cap;
static_assert(std::has_single_bit(value_slots));

/// Where to begin looking for a value: multiplicative hashing (Knuth, "The Art of Computer Programming", 6.4).
AUTOSPMV_HD constexpr std::uint64_t value_slot(std::uint64_t bits) {
  constexpr int slot_bits = std::bit_width(value_slots) - 1;
  return (bits * 0x9e3779b97f4a7c15ULL) >> (64 - slot_bits);
}

/// A diagonal as a key that is not 0, which marks a free slot of those tables: they serve for diagonals of a slice too.
AUTOSPMV_HD constexpr std::uint64_t diagonal_key(std::int64_t rows, std::int64_t i, std::int64_t j) {
  return static_cast<std::uint64_t>(rows - i + j);
}
static_assert(slice_diagonals_cap == distinct_values_cap);

/// `long_rows` are the lengths of the rows of long_row nonzeros and more, in any order.
Features finish_rows(const Tally& tally, std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                     std::vector<std::int64_t> long_rows);
Features finish(const Tally& tally, std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                std::vector<std::int64_t> long_rows);

}  // namespace autospmv
