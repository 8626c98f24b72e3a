// Short rows on the host, in runs of equally long ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/machine/parallel.hpp"
#include "core/machine/simd.hpp"

namespace autospmv::formats {

/// Rows up to so long are summed by code that knows their length.
inline constexpr std::int64_t longest_known_row = 8;

/// What is known of the length of a row.
enum class Lengths : std::uint8_t {
  known,     ///< itself
  in_runs,   ///< that of the next row is probably the same
  few,       ///< it changes from row to row, and is short
  changing,  ///< it changes from row to row
  many,      ///< the same of long rows
};

/// Rows that lie one after another, row i from entry firsts[i] to firsts[i + 1]. A processor that has to guess where a
/// short row ends guesses wrong about as often as lengths change from row to row. Here it has to guess only where a run
/// of equally long ones ends, within which loops over a row are unrolled. Whether rows come in runs is another question
/// every thousand rows.
template <class Offset>
class RowRuns {
 public:
  AUTOSPMV_INLINE RowRuns(const Offset* firsts, Share rows)
      : firsts_(firsts), row_(rows.first), end_(rows.last), first_(static_cast<std::int64_t>(firsts[rows.first])) {}

  /// Calls row(i, first entry, length, kind) for every row; `kind` is a constant of Lengths, and so is a known length,
  /// of up to longest_known_row. Where `Few` is given, lengths that change are few up to this mean of a thousand rows,
  /// and many above 16.
  template <std::int64_t Few = 0, class Row>
  AUTOSPMV_INLINE void for_each(const Row& row) {
    constexpr std::int64_t alike = 1024;
    constexpr std::int64_t many = 16;
    while (row_ < end_) {
      last_ = std::min(end_, row_ + alike);
      if (come_in_runs()) {
        while (row_ < last_) next_run(row);
      } else if (Few > 0 && mean_is_up_to(Few)) {
        while (row_ < last_) next(row, length(), Kind<Lengths::few>{});
      } else if (Few > 0 && !mean_is_up_to(many)) {
        while (row_ < last_) next(row, length(), Kind<Lengths::many>{});
      } else {
        while (row_ < last_) next(row, length(), Kind<Lengths::changing>{});
      }
    }
  }

 private:
  template <std::int64_t Length>
  using Known = std::integral_constant<std::int64_t, Length>;
  template <Lengths kind>
  using Kind = std::integral_constant<Lengths, kind>;

  // By the first of them. Where they do not, the end of each run is one more guess a row.
  [[nodiscard]] AUTOSPMV_INLINE bool come_in_runs() const {
    constexpr std::int64_t sample = 64;
    const auto end = std::min(last_ - 1, row_ + sample);
    std::int64_t changes = 0;
    for (auto i = row_; i < end; ++i) changes += firsts_[i + 2] - firsts_[i + 1] != firsts_[i + 1] - firsts_[i] ? 1 : 0;
    return 2 * changes <= end - row_;
  }

  [[nodiscard]] AUTOSPMV_INLINE bool mean_is_up_to(std::int64_t mean) const {
    return static_cast<std::int64_t>(firsts_[last_]) - first_ <= mean * (last_ - row_);
  }

  [[nodiscard]] AUTOSPMV_INLINE std::int64_t length() const {
    return static_cast<std::int64_t>(firsts_[row_ + 1]) - first_;
  }

  template <class Row, class Length, Lengths kind>
  AUTOSPMV_INLINE void next(const Row& row, Length length, Kind<kind> of_row) {
    row(row_, first_, length, of_row);
    ++row_;
    first_ += length;
  }

  template <class Row, std::int64_t Length>
  AUTOSPMV_INLINE void run_of(const Row& row, Known<Length> known) {
    do {
      next(row, known, Kind<Lengths::known>{});
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
        return next(row, length(), Kind<Lengths::in_runs>{});
    }
  }

  const Offset* firsts_;
  std::int64_t row_;
  std::int64_t end_;
  std::int64_t last_ = 0;  // of those that are alike
  std::int64_t first_;
};

}  // namespace autospmv::formats
