#include "tuner/predict/cost_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace autospmv {

namespace {

// Formats say how uneven their parts are as if nothing else ran meanwhile; past this, they cannot win either way.
constexpr double largest_imbalance = 50;

enum class Center : std::uint8_t { none, group_median };

/// Mean absolute log2 of measured / predicted, or deviation of it from the median of its group.
template <class Ratio>
double error_of(std::span<const CostSample> samples, Center center, const Ratio& ratio) {
  std::size_t groups = 0;
  for (const auto& sample : samples) groups = std::max(groups, sample.group + 1);
  std::vector<std::vector<double>> logs(groups);
  for (const auto& sample : samples) {
    const double of_sample = ratio(sample);
    if (of_sample > 0 && std::isfinite(of_sample)) logs[sample.group].push_back(std::log2(of_sample));
  }
  double sum = 0;
  std::size_t count = 0;
  for (auto& group : logs) {
    const double middle = center == Center::none ? 0 : median(group);
    for (const double value : group) sum += std::abs(value - middle);
    count += group.size();
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

/// Steps along each coefficient in turn, by ever smaller factors, as long as the error falls.
template <class Error>
double search(Coefficients& at, std::span<double Coefficients::*const> members, const Error& error) {
  double best = error(at);
  constexpr std::array factors = {2.0, 1.4, 1.2, 1.1, 1.05, 1.02};
  for (const double factor : factors) {
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto member : members) {
        for (const double step : {factor, 1 / factor}) {
          auto next = at;
          next.*member *= step;
          const auto info = std::find_if(coefficient_table().begin(), coefficient_table().end(),
                                         [&](const CoefficientInfo& one) { return one.member == member; });
          if (next.*member < info->least || next.*member > info->most) continue;
          const double here = error(next);
          if (here >= best) continue;
          best = here;
          at = next;
          moved = true;
        }
      }
    }
  }
  return best;
}

}  // namespace

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Coefficients default_coefficients(Backend backend) {
  if (backend == Backend::host) {
    return {.launch_seconds = 2e-6,
            .latency_seconds = 1e-6,
            .cache_speedup = 4,
            .wave_seconds = 1e-6,  // no format says what its threads walk here
            .step_seconds = 1e-7,
            .single_step_seconds = 1e-8,
            .work_seconds = 1e-9,
            .conversion_seconds = 2e-5,
            .conversion_passes = 2.7};
  }
  return {.launch_seconds = 1.5e-6,
          .latency_seconds = 0.2e-6,
          .cache_speedup = 4,
          .wave_seconds = 0.5e-6,
          .step_seconds = 0.42e-6,
          .single_step_seconds = 0.075e-6,
          .work_seconds = 1e-9,  // no format says what it computes here
          .conversion_seconds = 1.1e-4,
          .conversion_passes = 2.5};
}

std::span<const CoefficientInfo> coefficient_table() {
  static constexpr std::array table = {
      CoefficientInfo{"launch_seconds", "s", &Coefficients::launch_seconds, 1e-8, 1e-3},
      CoefficientInfo{"latency_seconds", "s", &Coefficients::latency_seconds, 1e-9, 1e-3},
      CoefficientInfo{"cache_speedup", "ratio", &Coefficients::cache_speedup, 0.5, 50},
      CoefficientInfo{"wave_seconds", "s", &Coefficients::wave_seconds, 1e-9, 1e-3},
      CoefficientInfo{"step_seconds", "s", &Coefficients::step_seconds, 1e-9, 1e-3},
      CoefficientInfo{"single_step_seconds", "s", &Coefficients::single_step_seconds, 1e-9, 1e-3},
      CoefficientInfo{"work_seconds", "s", &Coefficients::work_seconds, 1e-11, 1e-7},
      CoefficientInfo{"conversion_seconds", "s", &Coefficients::conversion_seconds, 1e-7, 1},
      CoefficientInfo{"conversion_passes", "passes", &Coefficients::conversion_passes, 0.1, 1e4},
  };
  return table;
}

// Falls from nearly all to nearly none around the size of the cache.
double CostModel::cached_share(double bytes) const {
  const double over_cache = cache_bytes_ > 0 ? bytes / cache_bytes_ : INFINITY;
  return 1 / (1 + over_cache * over_cache * over_cache);
}

double CostModel::memory_seconds(const Cost& cost) const {
  return (1 - cached_share(cost.bytes)) * cost.bytes / bandwidth_;
}

double CostModel::product_seconds(const Cost& cost) const {
  const double bandwidth = bandwidth_ * (1 + cached_share(cost.bytes) * (coefficients_.cache_speedup - 1));
  const auto& walk = cost.walk;
  const double waves = walk.threads / threads_;
  return coefficients_.latency_seconds + cost.launches * coefficients_.launch_seconds +
         cost.bytes * std::min(cost.imbalance, largest_imbalance) / bandwidth +
         waves * (coefficients_.wave_seconds + walk.steps * coefficients_.step_seconds) +
         walk.longest * coefficients_.single_step_seconds +
         cost.work * std::min(cost.imbalance, largest_imbalance) * coefficients_.work_seconds / processors_;
}

double CostModel::conversion_seconds(const Cost& cost, double csr_bytes) const {
  if (cost.storage_bytes <= 0) return 0;
  return coefficients_.conversion_seconds +
         coefficients_.conversion_passes * cost.conversion * (csr_bytes + cost.storage_bytes) / bandwidth_;
}

CoefficientFit fit_coefficients(const Device& device, double bandwidth, const Coefficients& start,
                                std::span<const CostSample> samples) {
  const auto product_error = [&](const Coefficients& coefficients) {
    const CostModel model(device, bandwidth, coefficients);
    return error_of(samples, Center::group_median,
                    [&](const CostSample& s) { return s.product_seconds / model.product_seconds(s.cost); });
  };
  const auto setup_error = [&](const Coefficients& coefficients) {
    const CostModel model(device, bandwidth, coefficients);
    return error_of(samples, Center::none, [&](const CostSample& s) {
      const double predicted = model.conversion_seconds(s.cost, s.csr_bytes);
      return predicted > 0 ? s.setup_seconds / predicted : 0;
    });
  };
  CoefficientFit fit{start, product_error(start), 0, setup_error(start), 0};
  static constexpr std::array of_products = {&Coefficients::launch_seconds, &Coefficients::latency_seconds,
                                             &Coefficients::cache_speedup,  &Coefficients::wave_seconds,
                                             &Coefficients::step_seconds,   &Coefficients::single_step_seconds,
                                             &Coefficients::work_seconds};
  static constexpr std::array of_setups = {&Coefficients::conversion_seconds, &Coefficients::conversion_passes};
  fit.error_after = search(fit.coefficients, of_products, product_error);
  fit.setup_error_after = search(fit.coefficients, of_setups, setup_error);
  return fit;
}

}  // namespace autospmv
