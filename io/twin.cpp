#include "io/twin.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "core/random.hpp"

namespace autospmv {

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

/// The integers [0, size) in an order that looks random, each found on its own: a Feistel network over the next power
/// of four, applied until it falls below size.
class Permutation {
 public:
  Permutation(std::int64_t size, std::uint64_t seed)
      : size_(static_cast<std::uint64_t>(size)),
        seed_(seed),
        half_(static_cast<std::uint64_t>(std::bit_width(size_) + 1) / 2) {}

  std::int64_t operator()(std::int64_t position) const {
    auto value = static_cast<std::uint64_t>(position);
    do {
      value = scramble(value);
    } while (value >= size_);
    return static_cast<std::int64_t>(value);
  }

 private:
  [[nodiscard]] std::uint64_t scramble(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = value >> half_;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      left ^= random_bits(seed_ + round, right) & mask;
      std::swap(left, right);
    }
    return left << half_ | right;
  }

  std::uint64_t size_;
  std::uint64_t seed_;
  std::uint64_t half_;
};

/// Where is_below turns from true to false.
template <class IsBelow>
double bisect(double low, double high, int steps, const IsBelow& is_below) {
  for (int step = 0; step < steps; ++step) {
    const double middle = (low + high) / 2;
    (is_below(middle) ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// So many rows of so many nonzeros.
struct NprClass {
  std::int64_t npr;
  std::int64_t count;
};

/// The distribution of ln(npr + 1) is normal, cut to the rows that there can be. Its two parameters reach every mean
/// and every variance that lengths in [0, longest] can have: cut off far from its middle it becomes a power law, and
/// with a negative variance it piles up at both ends. The mean grows with the first parameter, and along equal means
/// the variance grows with the second, so that two nested bisections find them.
class NprDistribution {
 public:
  NprDistribution(std::int64_t longest, double mean) {
    // Every length close to the mean, and fewer the farther off.
    const auto middle = std::min(longest, static_cast<std::int64_t>(mean));
    constexpr std::int64_t resolution = 64;
    for (std::int64_t x = middle; x > 0; x -= std::max<std::int64_t>(1, (middle - x) / resolution)) add(x);
    add(0);
    std::reverse(npr_.begin(), npr_.end());
    for (std::int64_t x = middle; x < longest;) {
      x = std::min(longest, x + std::max<std::int64_t>(1, (x - middle) / resolution));
      add(x);
    }
    const auto size = npr_.size();
    for (std::size_t i = 0; i < size; ++i) {
      const double width = npr_[std::min(size - 1, i + 1)] - npr_[i == 0 ? 0 : i - 1];
      log_width_.push_back(size == 1 ? 0 : std::log(width / 2));
      log_npr_.push_back(std::log((npr_[i] + 1) / (mean + 1)));
    }
    weights_.resize(size);
  }

  /// To the mean of the lengths and of their squares.
  void fit(double mean, double square) {
    // Parameters of any magnitude and either sign are bisected as what the hyperbolic sine makes of a small interval.
    const double second = bisect(-25, 25, 50, [&](double s) { return fit_mean(mean, std::sinh(s)).square < square; });
    fit_mean(mean, std::sinh(second));
  }

  /// As many rows as asked. What a class has above whole rows goes to the next smaller one, as a sum of squares: a row
  /// more or less among the longest would spoil the deviation.
  [[nodiscard]] std::vector<NprClass> round_to(std::int64_t rows) const {
    std::vector<NprClass> classes(npr_.size());
    std::int64_t left = rows;
    double carry = 0;
    for (std::size_t i = npr_.size(); i-- > 0;) {
      const double square = std::max(1.0, npr_[i] * npr_[i]);
      const double wanted = weights_[i] * static_cast<double>(rows) + carry / square;
      const auto count = std::min(left, static_cast<std::int64_t>(wanted + 1e-6));
      carry = std::max(0.0, wanted - static_cast<double>(count)) * square;
      left -= count;
      classes[i] = {static_cast<std::int64_t>(npr_[i]), count};
    }
    const auto mode = std::max_element(weights_.begin(), weights_.end()) - weights_.begin();
    classes[static_cast<std::size_t>(mode)].count += left;
    return classes;
  }

 private:
  struct Moments {
    double mean;
    double square;
  };

  void add(std::int64_t npr) { npr_.push_back(static_cast<double>(npr)); }

  Moments fit_mean(double mean, double second) {
    const double first = bisect(-45, 45, 80, [&](double s) { return moments(std::sinh(s), second).mean < mean; });
    return moments(std::sinh(first), second);
  }

  Moments moments(double first, double second) {
    double largest = -HUGE_VAL;
    for (std::size_t i = 0; i < npr_.size(); ++i) {
      weights_[i] = log_width_[i] + (first + second * log_npr_[i]) * log_npr_[i];
      largest = std::max(largest, weights_[i]);
    }
    double sum = 0;
    for (auto& weight : weights_) {
      weight = weight < largest - 700 ? 0 : std::exp(weight - largest);
      sum += weight;
    }
    Moments result{0, 0};
    for (std::size_t i = 0; i < npr_.size(); ++i) {
      weights_[i] /= sum;
      result.mean += weights_[i] * npr_[i];
      result.square += weights_[i] * npr_[i] * npr_[i];
    }
    return result;
  }

  std::vector<double> npr_;
  std::vector<double> log_width_;
  std::vector<double> log_npr_;
  std::vector<double> weights_;
};

/// By ascending length. One row is of the longest length, and the rest makes up for it.
std::vector<NprClass> npr_classes(std::int64_t rows, std::int64_t cols, const TwinFeatures& features) {
  const double mean = features.npr_mean;
  const double nnz = mean * static_cast<double>(rows);
  if (rows == 1 || nnz == 0) return {{std::llround(mean), rows}};
  const double longest = std::max(
      std::ceil(mean), std::round(std::min({mean * (1 + features.skew), static_cast<double>(cols), std::floor(nnz)})));
  const auto rest = static_cast<double>(rows - 1);
  const double rest_mean = std::max(0.0, (nnz - longest) / rest);
  const double squares = (features.npr_std * features.npr_std + mean * mean) * static_cast<double>(rows);
  const double rest_square = (squares - longest * longest) / rest;
  NprDistribution distribution(static_cast<std::int64_t>(longest), rest_mean);
  std::vector<NprClass> classes;
  double least_error = HUGE_VAL;
  // Rounding to whole rows moves the mean of a few rows, so another one is aimed at.
  double aim = rest_mean;
  for (int round = 0; round < 6 && least_error > 1e-3 * mean; ++round) {
    distribution.fit(aim, rest_square);
    auto rounded = distribution.round_to(rows - 1);
    double sum = 0;
    for (const auto& one : rounded) sum += static_cast<double>(one.npr) * static_cast<double>(one.count);
    const double error = sum / rest - rest_mean;
    aim = std::max(0.0, aim - error);
    if (std::abs(error) >= least_error) continue;
    least_error = std::abs(error);
    classes = std::move(rounded);
  }
  ++classes.back().count;
  std::erase_if(classes, [](const auto& one) { return one.count == 0; });
  return classes;
}

/// Neighbouring rows of a matrix of similar rows are about equally long, so its rows are dealt out by length in groups.
std::vector<std::int64_t> make_row_ptr(std::int64_t rows, std::span<const NprClass> classes, double similarity,
                                       std::uint64_t seed) {
  constexpr double largest_group = 256;
  const auto group = static_cast<std::int64_t>(std::clamp(std::ceil(1 / (1 - similarity)), 1.0, largest_group));
  const std::int64_t groups = rows / group;
  const Permutation place(groups, seed);
  std::vector<std::int64_t> last;
  for (const auto& one : classes) last.push_back((last.empty() ? 0 : last.back()) + one.count);
  std::vector<std::int64_t> row_ptr(rows + 1);
  parallel_for(rows, [&](std::int64_t r) {
    const std::int64_t rank = r < groups * group ? place(r / group) * group + r % group : r;
    row_ptr[r + 1] = classes[std::upper_bound(last.begin(), last.end(), rank) - last.begin()].npr;
  });
  std::partial_sum(row_ptr.begin(), row_ptr.end(), row_ptr.begin());
  return row_ptr;
}

/// How the columns of the rows are drawn: three shares in [0, 1], each of which moves one feature.
struct Shape {
  double run;   ///< of the nonzeros but the first of a row, those that begin a run of neighbouring columns
  double span;  ///< of the columns, those from the first to the last of a row of several runs
  double copy;  ///< of the runs of a row, those that the next row takes over
};

/// The runs that a row of n nonzeros has in the mean; at least one column lies between any two.
double mean_runs(std::int64_t n, std::int64_t cols, double run) {
  return std::min(1 + static_cast<double>(n - 1) * run, static_cast<double>(cols - n + 1));
}

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

double mean_span(std::int64_t n, std::int64_t cols, const Shape& shape) {
  if (n < 2) return 0;
  const double runs = mean_runs(n, cols, shape.run);
  const double one_run = std::max(0.0, 2 - runs);
  return one_run * static_cast<double>(n - 1) + (1 - one_run) * SpanRange(n, runs, cols, shape.span).mean;
}

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

/// What the features of columns are made of.
struct Tally {
  std::int64_t rows = 0;   // with nonzeros
  std::int64_t pairs = 0;  // of such a row and the next one
  std::int64_t nnz = 0;
  std::int64_t runs = 0;
  std::int64_t spans = 0;   // last column - first column
  double similarities = 0;  // over the pairs

  /// Adds a row; `next` is null for the last.
  void add(std::span<const std::int32_t> row, const std::span<const std::int32_t>* next) {
    if (row.empty()) return;
    ++rows;
    nnz += std::ssize(row);
    ++runs;
    for (std::size_t k = 1; k < row.size(); ++k) runs += static_cast<std::int64_t>(row[k] != row[k - 1] + 1);
    spans += row.back() - row.front();
    if (next == nullptr) return;
    ++pairs;
    std::int64_t close = 0;
    auto other = next->begin();
    for (const auto col : row) {
      while (other != next->end() && *other < col - 1) ++other;
      if (other == next->end()) break;
      close += static_cast<std::int64_t>(*other - 1 <= col);
    }
    similarities += static_cast<double>(close) / static_cast<double>(row.size());
  }

  friend Tally operator+(const Tally& a, const Tally& b) {
    return {a.rows + b.rows, a.pairs + b.pairs, a.nnz + b.nnz,
            a.runs + b.runs, a.spans + b.spans, a.similarities + b.similarities};
  }
};

/// Rows [first, last) of `rows`; col_idx begins with the columns of row `origin`.
Tally tally_rows(std::span<const std::int64_t> row_ptr, const std::int32_t* col_idx, std::int64_t origin, Share share,
                 std::int64_t rows) {
  const auto row = [&](std::int64_t r) {
    return std::span(col_idx + row_ptr[r] - row_ptr[origin], static_cast<std::size_t>(row_ptr[r + 1] - row_ptr[r]));
  };
  Tally tally;
  for (std::int64_t r = share.first; r < share.last; ++r) {
    const auto next = r + 1 < rows ? row(r + 1) : std::span<const std::int32_t>();
    tally.add(row(r), r + 1 < rows ? &next : nullptr);
  }
  return tally;
}

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// Blocks of rows that are made on their own, by whichever thread comes first: similarity begins anew in each.
struct Blocks {
  explicit Blocks(std::span<const std::int64_t> row_ptr) : rows(std::ssize(row_ptr) - 1) {
    constexpr std::int64_t nnz_per_block = std::int64_t{1} << 18;
    const std::int64_t npr = row_ptr.back() / rows + 1;
    size = std::clamp<std::int64_t>(nnz_per_block / npr, 256, 8192);
    count = (rows + size - 1) / size;
  }

  [[nodiscard]] Share of(std::int64_t block) const { return {block * size, std::min(rows, (block + 1) * size)}; }

  std::int64_t rows;
  std::int64_t size;
  std::int64_t count;
};

/// Calls body(i) for every i in [0, size), in any order.
template <class Body>
void for_each_block(std::int64_t size, const Body& body) {
  parallel_parts(size > 1 ? serial_below : 0, size, body);
}

/// A share that gave `got` and should give `wanted`, by its odds: it never leaves [0, 1], and a small one is corrected
/// by the same factor as its distance from 1 is where it is large.
double corrected(double share, double wanted, double got) {
  if (wanted <= 0) return 0;
  if (wanted >= 1) return 1;
  const auto odds = [](double x) {
    constexpr double least = 1e-9;
    const double inside = std::clamp(x, least, 1 - least);
    return inside / (1 - inside);
  };
  const double result = odds(share) * odds(wanted) / odds(got);
  return result / (1 + result);
}

/// Draws the rows of a few blocks again and again, until their features are as wanted.
class Calibration {
 public:
  Calibration(std::int64_t cols, std::span<const std::int64_t> row_ptr, std::uint64_t seed)
      : cols_(cols), row_ptr_(row_ptr), seed_(seed), blocks_(row_ptr) {
    constexpr std::int64_t most_blocks = 32;
    constexpr std::int64_t most_nnz = std::int64_t{1} << 22;
    const std::int64_t wanted = std::min(most_blocks, blocks_.count);
    for (std::int64_t i = 0; i < wanted; ++i) {
      const auto share = blocks_.of(blocks_.count * i / wanted);
      if (row_ptr[share.last] - row_ptr[share.first] <= most_nnz) sample_.push_back(share);
    }
  }

  /// From the shape that were right if no row took anything over from the previous one.
  [[nodiscard]] Shape shape(const Shape& design, double similarity) const {
    double design_runs = 0;
    double design_span = 0;
    std::int64_t rows = 0;
    for (const auto& share : sample_) {
      for (std::int64_t r = share.first; r < share.last; ++r) {
        const std::int64_t n = row_ptr_[r + 1] - row_ptr_[r];
        if (n == 0) continue;
        ++rows;
        design_runs += mean_runs(n, cols_, design.run) - 1;
        design_span += mean_span(n, cols_, design);
      }
    }
    Shape shape = design;
    if (rows == 0) return shape;
    const double bound = static_cast<double>(rows) * static_cast<double>(std::max<std::int64_t>(1, cols_ - 1));
    constexpr int rounds = 10;
    for (int round = 0; round < rounds; ++round) {
      const Tally tally = measure(shape);
      const auto more_nnz = static_cast<double>(tally.nnz - tally.rows);
      const auto more_runs = static_cast<double>(tally.runs - tally.rows);
      shape.run = corrected(shape.run, ratio(design_runs, more_nnz), ratio(more_runs, more_nnz));
      shape.span = corrected(shape.span, design_span / bound, static_cast<double>(tally.spans) / bound);
      shape.copy = corrected(shape.copy, similarity, ratio(tally.similarities, static_cast<double>(tally.pairs)));
    }
    return shape;
  }

 private:
  [[nodiscard]] Tally measure(const Shape& shape) const {
    std::vector<Tally> tallies(sample_.size());
    for_each_block(std::ssize(sample_), [&](std::int64_t i) {
      const auto share = sample_[static_cast<std::size_t>(i)];
      std::vector<std::int32_t> col_idx(row_ptr_[share.last] - row_ptr_[share.first]);
      RowMaker maker(blocks_.rows, cols_, shape, seed_);
      for (std::int64_t r = share.first; r < share.last; ++r) {
        maker.make(r, row_ptr_[r + 1] - row_ptr_[r], col_idx.data() + row_ptr_[r] - row_ptr_[share.first]);
      }
      tallies[static_cast<std::size_t>(i)] = tally_rows(row_ptr_, col_idx.data(), share.first, share, share.last);
    });
    return std::accumulate(tallies.begin(), tallies.end(), Tally{});
  }

  std::int64_t cols_;
  std::span<const std::int64_t> row_ptr_;
  std::uint64_t seed_;
  Blocks blocks_;
  std::vector<Share> sample_;
};

/// The shape that gives the bandwidth and the neighbours where no row takes anything over from the previous one.
Shape design(std::int64_t cols, std::span<const NprClass> classes, const TwinFeatures& features) {
  double rows = 0;
  double nnz = 0;
  for (const auto& one : classes) {
    if (one.npr > 0) rows += static_cast<double>(one.count);
    nnz += static_cast<double>(one.npr * one.count);
  }
  const auto sum = [&](const auto& of_row) {
    double result = 0;
    for (const auto& one : classes) {
      if (one.npr > 0) result += static_cast<double>(one.count) * of_row(one.npr);
    }
    return result;
  };
  const double runs = nnz * (1 - features.neighbours / 2);
  const double spans = features.bandwidth * static_cast<double>(cols) * rows;
  constexpr int steps = 50;
  Shape shape{.run = 0, .span = 0, .copy = features.similarity};
  shape.run = bisect(0, 1, steps,
                     [&](double run) { return sum([&](std::int64_t n) { return mean_runs(n, cols, run); }) < runs; });
  shape.span = bisect(0, 1, steps, [&](double span) {
    return sum([&](std::int64_t n) { return mean_span(n, cols, {shape.run, span, 0}); }) < spans;
  });
  return shape;
}

void check(std::int64_t cols, const TwinFeatures& features) {
  if (features.npr_mean > static_cast<double>(cols)) {
    throw InvalidArgument("a row has no more nonzeros than columns");
  }
  if (features.bandwidth > 1) throw InvalidArgument("a bandwidth is a share of the columns, at most 1");
  if (features.neighbours > 2) throw InvalidArgument("a nonzero has at most 2 neighbours");
  if (features.similarity > 1) throw InvalidArgument("a similarity is a share of the nonzeros, at most 1");
}

}  // namespace

TwinFeatures twin_features(std::int64_t cols, std::span<const std::int64_t> row_ptr,
                           std::span<const std::int32_t> col_idx) {
  const std::int64_t rows = std::ssize(row_ptr) - 1;
  const std::int64_t nnz = row_ptr.back();
  if (nnz == 0) return {};
  const double mean = static_cast<double>(nnz) / static_cast<double>(rows);
  std::int64_t longest = 0;
  double squares = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t npr = row_ptr[r + 1] - row_ptr[r];
    longest = std::max(longest, npr);
    squares += (static_cast<double>(npr) - mean) * (static_cast<double>(npr) - mean);
  }
  const auto tally = parallel_reduce(
      rows, Tally{}, [&](Share share) { return tally_rows(row_ptr, col_idx.data(), 0, share, rows); }, std::plus<>());
  return {.npr_mean = mean,
          .npr_std = std::sqrt(squares / static_cast<double>(rows)),
          .skew = static_cast<double>(longest) / mean - 1,
          .bandwidth = static_cast<double>(tally.spans) / static_cast<double>(tally.rows) / static_cast<double>(cols),
          .neighbours = 2 * (1 - static_cast<double>(tally.runs) / static_cast<double>(nnz)),
          .similarity = ratio(tally.similarities, static_cast<double>(tally.pairs))};
}

Pattern make_twin(std::int64_t rows, std::int64_t cols, const TwinFeatures& features, std::uint64_t seed) {
  check(cols, features);
  const auto classes = npr_classes(rows, cols, features);
  Pattern pattern{make_row_ptr(rows, classes, features.similarity, ~seed), {}};
  const auto shape =
      Calibration(cols, pattern.row_ptr, seed).shape(design(cols, classes, features), features.similarity);
  pattern.col_idx.resize(pattern.row_ptr.back());
  const Blocks blocks(pattern.row_ptr);
  for_each_block(blocks.count, [&](std::int64_t block) {
    RowMaker maker(rows, cols, shape, seed);
    const auto share = blocks.of(block);
    for (std::int64_t r = share.first; r < share.last; ++r) {
      maker.make(r, pattern.row_ptr[r + 1] - pattern.row_ptr[r], pattern.col_idx.data() + pattern.row_ptr[r]);
    }
  });
  return pattern;
}

}  // namespace autospmv
