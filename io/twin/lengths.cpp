#include "io/twin/lengths.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/machine/parallel.hpp"
#include "core/verify/random.hpp"
#include "io/twin/bisect.hpp"

namespace autospmv::twin {

namespace {

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

}  // namespace

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

}  // namespace autospmv::twin
