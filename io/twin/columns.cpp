#include "io/twin/columns.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "core/verify/random.hpp"

namespace autospmv::twin {

namespace {

/// The random numbers of one row.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}

  double unit() { return random_unit(seed_, position_++); }
  bool chance(double probability) { return unit() < probability; }
  std::int64_t below(std::int64_t size) { return static_cast<std::int64_t>(unit() * static_cast<double>(size)); }

  /// One of the two integers around a number, such that the mean is the number.
  std::int64_t round(double number) {
    const double whole = std::floor(number);
    return static_cast<std::int64_t>(whole) + static_cast<std::int64_t>(chance(number - whole));
  }

 private:
  std::uint64_t seed_;
  std::uint64_t position_ = 0;
};

/// Lengths from `least` to `most`, all equally likely: what a row of several runs has from its first column to its
/// last.
struct SpanRange {
  SpanRange(std::int64_t n, double runs, std::int64_t cols, double span) {
    const auto bound = static_cast<double>(cols - 1);
    const double dense = std::min(bound, static_cast<double>(n - 2) + std::ceil(runs));
    mean = std::clamp(span * bound, dense, bound);
    const double spread = std::min(mean - dense, bound - mean) / 2;
    least = mean - spread;
    most = mean + spread;
  }

  double mean;
  double least;
  double most;
};

/// Neighbouring columns [first, first + length) of a row.
struct Run {
  std::int64_t first;
  std::int64_t length;

  [[nodiscard]] std::int64_t end() const { return first + length; }
};

/// Makes the rows of a block one after the other.
class RowMaker {
 public:
  RowMaker(std::int64_t rows, std::int64_t cols, const Shape& shape, std::uint64_t seed)
      : rows_(rows), cols_(cols), shape_(shape), seed_(seed) {}

  /// Writes the n columns of row r.
  void make(std::int64_t r, std::int64_t n, std::int32_t* col_idx) {
    Draws draws(random_bits(seed_, static_cast<std::uint64_t>(r)));
    next_.clear();
    if (n > 0) draw_row(r, n, draws);
    previous_.swap(next_);
    for (const auto& run : previous_) {
      std::iota(col_idx, col_idx + run.length, static_cast<std::int32_t>(run.first));
      col_idx += run.length;
    }
  }

 private:
  struct Window {
    std::int64_t first;
    std::int64_t last;
  };

  void draw_row(std::int64_t r, std::int64_t n, Draws& draws) {
    follow_diagonal(r, draws);
    const bool kept = !previous_.empty() && draws.chance(shape_.copy);
    // Whether a row is one run or several is drawn again only where it is not like the previous one.
    if (!kept) form_ = draws.unit();
    if (n == 1 || form_ < 2 - mean_runs(n, cols_, shape_.run)) {
      draw_one_run(r, n, kept, draws);
    } else {
      draw_several_runs(r, n, kept, draws);
    }
  }

  /// Where a window of so many columns begins if its middle is as far to the right as the row is down.
  [[nodiscard]] double home(std::int64_t r, double width) const {
    return (static_cast<double>(r) + 0.5) / static_cast<double>(rows_) * (static_cast<double>(cols_) - width);
  }

  /// Moves the previous row by one column where it has fallen behind the diagonal, and often where it has not.
  void follow_diagonal(std::int64_t r, Draws& draws) {
    if (previous_.empty() || previous_.back().end() == cols_) return;
    const std::int64_t first = previous_.front().first;
    const auto width = static_cast<double>(previous_.back().end() - first);
    const double behind = home(r, width) - static_cast<double>(first);
    if (!draws.chance(0.5 + behind / (1 + width / 4))) return;
    for (auto& run : previous_) ++run.first;
  }

  /// A window near the diagonal, by up to a quarter of its width.
  std::int64_t draw_first(std::int64_t r, std::int64_t width, Draws& draws) const {
    const auto room = static_cast<double>(cols_ - width);
    const auto quarter = static_cast<double>(width) / 4;
    double first = std::abs(home(r, static_cast<double>(width)) + (2 * draws.unit() - 1) * quarter);
    if (first > room) first = std::max(0.0, 2 * room - first);
    return static_cast<std::int64_t>(first);
  }

  void draw_one_run(std::int64_t r, std::int64_t n, bool kept, Draws& draws) {
    std::int64_t first = 0;
    if (kept) {
      const bool from_left = previous_.size() == 1 || draws.chance(0.5);
      first = std::clamp<std::int64_t>(from_left ? previous_.front().first : previous_.back().end() - n, 0, cols_ - n);
    } else {
      const auto width = std::max(n, 1 + static_cast<std::int64_t>(shape_.span * static_cast<double>(cols_ - 1)));
      first = draw_first(r, width, draws) + draws.below(width - n + 1);
    }
    next_.push_back({first, n});
  }

  void draw_several_runs(std::int64_t r, std::int64_t n, bool kept, Draws& draws) {
    const double runs = mean_runs(n, cols_, shape_.run);
    const SpanRange range(n, runs, cols_, shape_.span);
    Run left{0, 0};
    Run right{0, 0};
    Window window{0, 0};
    if (kept) keep_ends(r, range, window, left, right, draws);
    if (left.length + right.length == 0) {
      const std::int64_t span = draw_span(range, draws);
      window.first = draw_first(r, span + 1, draws);
      window.last = window.first + span;
    }

    // The two runs at the ends: at least one nonzero each.
    const bool new_left = left.length == 0;
    const bool new_right = right.length == 0;
    const std::int64_t row_runs = std::max<std::int64_t>(2, draws.round(runs));
    const double usual = static_cast<double>(n) / runs;
    if (new_left) left.length = 1 + draws.below(static_cast<std::int64_t>(2 * usual) - 1);
    if (new_right) right.length = 1 + draws.below(static_cast<std::int64_t>(2 * usual) - 1);
    if (new_right || !new_left) {
      left.length = std::min(left.length, n - 1);
      right.length = new_right && row_runs == 2 ? n - left.length : std::min(right.length, n - left.length);
    } else {
      right.length = std::min(right.length, n - 1);
      left.length = row_runs == 2 ? n - right.length : std::min(left.length, n - right.length);
    }
    left.first = window.first;
    right.first = window.last + 1 - right.length;

    next_.push_back(left);
    const std::int64_t missing =
        n - left.length - right.length - copy_between(left, right, n, !new_left, !new_right, draws);
    next_.push_back(right);
    const std::int64_t more = std::clamp<std::int64_t>(row_runs - std::ssize(next_), 0, missing);
    const std::int64_t apart = more == 0 ? lengthen(missing, draws) : missing;
    if (apart > 0) fill(apart, std::max<std::int64_t>(1, more), draws);
  }

  static std::int64_t draw_span(const SpanRange& range, Draws& draws) {
    return std::llround(range.least + (range.most - range.least) * draws.unit());
  }

  /// The window of the previous row, with the runs at both its ends, where this row may have it. Else one of these
  /// runs, at the end of a window that lies as close to the diagonal as it can; or nothing, where none fits.
  void keep_ends(std::int64_t r, const SpanRange& range, Window& window, Run& left, Run& right, Draws& draws) const {
    const Window old{previous_.front().first, previous_.back().end() - 1};
    const auto old_span = static_cast<double>(old.last - old.first);
    if (previous_.size() > 1 && old_span > range.least - 1 && old_span < range.most + 1 &&
        old_span >= std::floor(range.least)) {
      window = old;
      left = previous_.front();
      right = previous_.back();
      return;
    }
    const std::int64_t span = draw_span(range, draws);
    const Run& anchor = draws.chance(0.5) ? previous_.front() : previous_.back();
    const Window up{anchor.first, anchor.first + span};
    const Window down{anchor.end() - 1 - span, anchor.end() - 1};
    const double wanted = home(r, static_cast<double>(span + 1));
    const auto distance = [&](const Window& w) {
      return w.first < 0 || w.last >= cols_ ? HUGE_VAL : std::abs(static_cast<double>(w.first) - wanted);
    };
    if (std::min(distance(up), distance(down)) == HUGE_VAL) return;
    const bool upwards = distance(up) <= distance(down);
    window = upwards ? up : down;
    (upwards ? left : right) = anchor;
  }

  /// Takes runs of the previous row over that lie between the ends, apart from those that are the ends; gives how many
  /// nonzeros. Where there are more of them than the row has, they are thinned out evenly.
  std::int64_t copy_between(const Run& left, const Run& right, std::int64_t n, bool left_taken, bool right_taken,
                            Draws& draws) {
    const std::int64_t room = n - left.length - right.length;
    if (room == 0 || previous_.empty()) return 0;
    const auto runs = std::span(previous_).subspan(left_taken && previous_.size() > 1 ? 1 : 0);
    const std::span inner = runs.first(runs.size() - (right_taken && runs.size() > 1 ? 1 : 0));
    std::int64_t offered = 0;
    for (const auto& run : inner) offered += run.length;
    const double share = std::min(shape_.copy, static_cast<double>(room) / static_cast<double>(offered));
    std::int64_t copied = 0;
    for (const auto& run : inner) {
      if (copied == room) break;
      if (run.first <= left.end() || run.end() >= right.first || !draws.chance(share)) continue;
      next_.push_back({run.first, std::min(run.length, room - copied)});
      copied += next_.back().length;
    }
    return copied;
  }

  /// Places up to `missing` nonzeros behind the runs that there are, the last apart, in such a way that none meet;
  /// gives how many are left.
  std::int64_t lengthen(std::int64_t missing, Draws& draws) {
    const std::int64_t gaps = std::ssize(next_) - 1;
    const std::int64_t begin = draws.below(gaps);
    for (std::int64_t i = 0; i < gaps && missing > 0; ++i) {
      const auto at = static_cast<std::size_t>((begin + i) % gaps);
      const std::int64_t room = next_[at + 1].first - next_[at].end() - 1;
      const std::int64_t taken = std::clamp<std::int64_t>(room, 0, missing);
      next_[at].length += taken;
      missing -= taken;
    }
    return missing;
  }

  /// Places `missing` nonzeros, in `runs` runs, between the runs that there are: not beside one where there is room.
  void fill(std::int64_t missing, std::int64_t runs, Draws& draws) {
    std::int64_t margin = 1;
    std::int64_t room = free_columns(margin);
    if (room < missing + runs - 1) {
      margin = 0;
      room = free_columns(margin);
      runs = std::min(runs, room - missing + 1);
    }
    // Sorted random places among the free columns that are not needed, each moved on by the runs before it and a column
    // between any two.
    places_.resize(static_cast<std::size_t>(runs));
    const std::int64_t spare = room - missing - (runs - 1);
    for (auto& place : places_) place = draws.below(spare + 1);
    std::sort(places_.begin(), places_.end());
    filled_.clear();
    std::int64_t run = 0;
    std::int64_t done = 0;  // of the run, in earlier gaps
    std::int64_t gap_begin = 0;
    for (std::size_t i = 0; i + 1 < next_.size(); ++i) {
      filled_.push_back(next_[i]);
      const std::int64_t gap_end = gap_begin + gap_after(i, margin);
      while (run < runs) {
        const std::int64_t before = missing * run / runs;
        const std::int64_t length = missing * (run + 1) / runs - before;
        const std::int64_t from = places_[static_cast<std::size_t>(run)] + before + run + done;
        const std::int64_t piece = std::min(length - done, gap_end - from);
        if (piece <= 0) break;
        filled_.push_back({next_[i].end() + margin + from - gap_begin, piece});
        done += piece;
        if (done < length) break;
        done = 0;
        ++run;
      }
      gap_begin = gap_end;
    }
    filled_.push_back(next_.back());
    next_.swap(filled_);
  }

  [[nodiscard]] std::int64_t gap_after(std::size_t i, std::int64_t margin) const {
    return std::max<std::int64_t>(0, next_[i + 1].first - next_[i].end() - 2 * margin);
  }

  [[nodiscard]] std::int64_t free_columns(std::int64_t margin) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i + 1 < next_.size(); ++i) sum += gap_after(i, margin);
    return sum;
  }

  std::int64_t rows_;
  std::int64_t cols_;
  Shape shape_;
  std::uint64_t seed_;
  double form_ = 0;
  std::vector<Run> previous_;
  std::vector<Run> next_;
  std::vector<Run> filled_;
  std::vector<std::int64_t> places_;
};

}  // namespace

double mean_runs(std::int64_t n, std::int64_t cols, double run) {
  return std::min(1 + static_cast<double>(n - 1) * run, static_cast<double>(cols - n + 1));
}

double mean_span(std::int64_t n, std::int64_t cols, const Shape& shape) {
  if (n < 2) return 0;
  const double runs = mean_runs(n, cols, shape.run);
  const double one_run = std::max(0.0, 2 - runs);
  return one_run * static_cast<double>(n - 1) + (1 - one_run) * SpanRange(n, runs, cols, shape.span).mean;
}

void make_rows(std::span<const std::int64_t> row_ptr, std::int64_t cols, const Shape& shape, std::uint64_t seed,
               Share block, std::int32_t* col_idx) {
  RowMaker maker(std::ssize(row_ptr) - 1, cols, shape, seed);
  for (std::int64_t r = block.first; r < block.last; ++r) {
    maker.make(r, row_ptr[r + 1] - row_ptr[r], col_idx + row_ptr[r] - row_ptr[block.first]);
  }
}

}  // namespace autospmv::twin
