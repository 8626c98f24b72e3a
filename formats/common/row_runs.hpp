// Short rows on the host, in runs of equally long ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/parallel.hpp"
#include "core/simd.hpp"

namespace autospmv::formats {

/// Rows up to so long are summed by code that knows their length.
inline constexpr std::int64_t longest_known_row = 8;

/// Rows that lie one after another, row i from entry firsts[i] to firsts[i + 1]. A processor that has to guess where a
/// short row ends guesses wrong about as often as lengths change from row to row. Here it has to guess only where a run
/// of equally long ones ends, within which loops over a row are unrolled.
template <class Offset>
class RowRuns {
 public:
  AUTOSPMV_INLINE RowRuns(const Offset* firsts, Share rows)
      : firsts_(firsts), row_(rows.first), last_(rows.last), first_(static_cast<std::int64_t>(firsts[rows.first])) {}

  /// Calls row(i, first entry, length) for every row, with a constant for a length up to longest_known_row where
  /// lengths do come in runs.
  template <class Row>
  AUTOSPMV_INLINE void for_each(const Row& row) {
    if (come_in_runs()) {
      while (row_ < last_) next_run(row);
    } else {
      while (row_ < last_) next(row, length());
    }
  }

 private:
  template <std::int64_t Length>
  using Known = std::integral_constant<std::int64_t, Length>;

  // By the first of them. Where they do not, the end of each run is one more guess a row.
  [[nodiscard]] AUTOSPMV_INLINE bool come_in_runs() const {
    constexpr std::int64_t sample = 128;
    const auto end = std::min(last_ - 1, row_ + sample);
    std::int64_t changes = 0;
    for (auto i = row_; i < end; ++i) changes += firsts_[i + 2] - firsts_[i + 1] != firsts_[i + 1] - firsts_[i] ? 1 : 0;
    return 2 * changes <= end - row_;
  }

  [[nodiscard]] AUTOSPMV_INLINE std::int64_t length() const {
    return static_cast<std::int64_t>(firsts_[row_ + 1]) - first_;
  }

  template <class Row, class Length>
  AUTOSPMV_INLINE void next(const Row& row, Length length) {
    row(row_, first_, length);
    ++row_;
    first_ += length;
  }

  template <class Row, std::int64_t Length>
  AUTOSPMV_INLINE void run_of(const Row& row, Known<Length> known) {
    do {
      next(row, known);
    } while (row_ < last_ && length() == Length);
  }

  template <class Row>
  AUTOSPMV_INLINE void next_run(const Row& row) {
    switch (length()) {
      case 0:
        return run_of(row, Known<0>{});
      case 1:
        return run_of(row, Known<1>{});
      case 2:
        return run_of(row, Known<2>{});
      case 3:
        return run_of(row, Known<3>{});
      case 4:
        return run_of(row, Known<4>{});
      case 5:
        return run_of(row, Known<5>{});
      case 6:
        return run_of(row, Known<6>{});
      case 7:
        return run_of(row, Known<7>{});
      case 8:
        return run_of(row, Known<8>{});
      default:
        return next(row, length());
    }
  }

  const Offset* firsts_;
  std::int64_t row_;
  std::int64_t last_;
  std::int64_t first_;
};

}  // namespace autospmv::formats
