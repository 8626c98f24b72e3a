#include "tuner/predict/position.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace autospmv {

namespace {

double log2_of(double value) { return std::log2(std::max(value, 1e-9)); }

}  // namespace

Position position_of(const Features& f, std::size_t value_bytes) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(1, f.rows));
  const auto cols = static_cast<double>(std::max<std::int64_t>(1, f.cols));
  const double mean = std::max(f.npr_mean, 1e-3);
  const auto longest = static_cast<double>(std::max<std::int64_t>(1, f.npr_max));
  const auto values = static_cast<double>(value_bytes);
  const double bytes = static_cast<double>(f.nnz) * (4 + values) + 4 * rows + values * (rows + cols);
  return {log2_of(bytes),
          log2_of(rows),
          log2_of(cols),
          std::log2(1 + mean),
          std::log1p(std::sqrt(f.npr_variance) / mean),
          log2_of(longest / mean),
          std::log2(1 + longest),
          static_cast<double>(f.empty_rows) / rows,
          f.block_fill[0],
          f.block_fill[1],
          f.block_fill[3],
          log2_of(std::max(1.0, f.sliced_ell_padding[1])),
          log2_of((1 + f.slice_span_mean) / cols),
          std::log2(1 + static_cast<double>(f.diagonals)),
          std::log2(1 + static_cast<double>(f.npr_percentile[3])),
          log2_of(std::max(1.0, f.slice_diagonals_mean / mean))};
}

namespace {

// Calls both(x, y) for each parameter that a and b have, and one() for each that only one of them has, until one of
// these returns false.
template <class Both, class One>
void for_each_param(const Params& a, const Params& b, const Both& both, const One& one) {
  const auto left = a.values();
  const auto right = b.values();
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < left.size() || j < right.size()) {
    if (i < left.size() && j < right.size() && left[i].same_name(right[j])) {
      if (!both(left[i++].value, right[j++].value)) return;
    } else {
      const bool only_left = j == right.size() || (i < left.size() && left[i].name < right[j].name);
      ++(only_left ? i : j);
      if (!one()) return;
    }
  }
}

double alikeness(std::int64_t x, std::int64_t y, const Weights& weights) {
  if (x == y) return 1;
  if (x <= 0 || y <= 0) return weights.other_way;
  const double ratio = static_cast<double>(std::min(x, y)) / static_cast<double>(std::max(x, y));
  const double square = ratio * ratio;
  return square * square;
}

}  // namespace

double alikeness(const Params& a, const Params& b, const Weights& weights) {
  double alike = 1;
  const auto multiply_by = [&](double factor) { return (alike *= factor) >= least_alikeness; };
  for_each_param(
      a, b, [&](std::int64_t x, std::int64_t y) { return multiply_by(alikeness(x, y, weights)); },
      [&] { return multiply_by(weights.other_way); });
  return alike;
}

void KnownParams::add(const Params& params) {
  same_names_ = all_.empty() || have_names_of(params);
  all_.push_back(&params);
  if (!same_names_) return;
  for (std::size_t p = 0; p < params.values().size(); ++p) {
    const KnownValue value{p, params.values()[p].value};
    const auto at = std::find(values_.begin(), values_.end(), value);
    value_of_.push_back(static_cast<std::uint32_t>(at - values_.begin()));
    if (at == values_.end()) values_.push_back(value);
  }
}

bool KnownParams::have_names_of(const Params& params) const {
  if (!same_names_ || all_.empty()) return false;
  const auto known = all_.front()->values();
  const auto asked = params.values();
  return std::equal(known.begin(), known.end(), asked.begin(), asked.end(),
                    [](const auto& a, const auto& b) { return a.same_name(b); });
}

std::vector<double> KnownParams::alikeness_of_values(const Params& params, const Weights& weights) const {
  std::vector<double> factors;
  factors.reserve(values_.size());
  for (const auto& known : values_) {
    factors.push_back(alikeness(params.values()[known.parameter].value, known.value, weights));
  }
  return factors;
}

double distance(const Params& a, const Params& b) {
  constexpr double most_of_a_parameter = 1.5;
  double sum = 0;
  const auto both = [&](std::int64_t x, std::int64_t y) {
    if (x == y) return true;
    const auto ratio = static_cast<double>(x) / static_cast<double>(y);
    sum += x > 0 && y > 0 ? std::min(most_of_a_parameter, std::abs(std::log2(ratio)) / 2) : 1;
    return true;
  };
  for_each_param(a, b, both, [&] { return ++sum, true; });
  return sum;
}

}  // namespace autospmv
