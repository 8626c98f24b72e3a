#include "tools/studies/questions.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace autospmv::tools {

double vector_bytes(const MatrixSummary& matrix) {
  return static_cast<double>((matrix.rows + matrix.cols) * matrix.value_bytes);
}

double csr_arrays(const StudiedMatrix& studied, const Contest& /*contest*/) {
  return csr_product_bytes(studied.matrix);
}

double everything_stored(const StudiedMatrix& studied, const Contest& contest) {
  return memory_of(studied, contest) + vector_bytes(studied.matrix);
}

const Contest& contest_of(const StudiedMatrix& studied, std::string_view name) {
  const auto at = std::find_if(studied.contests.begin(), studied.contests.end(),
                               [&](const Contest& contest) { return contest.contender->name == name; });
  if (at == studied.contests.end()) throw Error("no contender '" + std::string(name) + "' in this study");
  return *at;
}

bool is_one_of(const StudiedMatrix& studied, const std::vector<PaperMatrix>& matrices, const Names& names) {
  const std::string_view label = studied.matrix.label;
  return std::any_of(matrices.begin(), matrices.end(), [&](const PaperMatrix& one) {
    const bool is_meant = std::find(names.begin(), names.end(), one.name) != names.end();
    const auto own_name = one.suitesparse.substr(one.suitesparse.find('/') + 1);
    return is_meant && (label == stand_in_of(one) || label == one.name || label == own_name);
  });
}

std::optional<bool> is_fastest(const StudiedMatrix& studied, std::string_view name) {
  const auto& contest = contest_of(studied, name);
  if (contest.status == "missing") return std::nullopt;
  return fastest_of(studied) == &contest;
}

std::optional<std::int64_t> best_parameter(const StudiedMatrix& studied, std::string_view name,
                                           const std::string& parameter) {
  const auto& best = contest_of(studied, name).best;
  return best ? best->candidate.params.find(parameter) : std::nullopt;
}

double seconds_with(const StudiedMatrix& studied, std::string_view name, const std::string& parameter,
                    std::int64_t value) {
  double fastest = unknown;
  for (const auto& trial : contest_of(studied, name).trials) {
    if (!is_timed(trial.measurement) || trial.candidate.params.find(parameter) != value) continue;
    fastest = std::fmin(fastest, median_of(trial.measurement.warm));
  }
  return fastest;
}

double fastest_seconds(const StudiedMatrix& studied, const Names& names) {
  double fastest = unknown;
  for (const auto name : names) fastest = std::fmin(fastest, seconds_of(contest_of(studied, name)));
  return fastest;
}

double speedup_over(const StudiedMatrix& studied, std::string_view name, const Names& rivals) {
  return fastest_seconds(studied, rivals) / seconds_of(contest_of(studied, name));
}

double memory_over(const StudiedMatrix& studied, std::string_view name, std::string_view other) {
  return memory_of(studied, contest_of(studied, name)) / memory_of(studied, contest_of(studied, other));
}

double memory_over_csr(const StudiedMatrix& studied, std::string_view name) {
  return memory_of(studied, contest_of(studied, name)) / csr_memory(studied.matrix);
}

std::vector<double> bandwidth_shares(Matrices matrices, std::string_view name) {
  return values_of(matrices, [&](const StudiedMatrix& studied) {
    const auto& contest = contest_of(studied, name);
    if (!contest.best || contest.contender->moved_bytes(studied, contest) <= studied.cache_bytes) return unknown;
    return effective_bandwidth(studied, contest) / studied.copy_bandwidth;
  });
}

double aggregate_gflops(Matrices matrices, std::string_view name) {
  const auto all = values_of(matrices, [&](const StudiedMatrix& one) { return gflops_of(one, contest_of(one, name)); });
  return all.empty() ? unknown : arithmetic_mean(all) * static_cast<double>(all.size());
}

double growth_a_decade(std::span<const double> values, std::span<const double> others) {
  double count = 0;
  double sum_x = 0;
  double sum_y = 0;
  double sum_xx = 0;
  double sum_xy = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = std::log10(others[i]);
    const double y = std::log10(values[i]);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    ++count;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const double spread = count * sum_xx - sum_x * sum_x;
  constexpr double fewest = 3;
  if (count < fewest || !(spread > 0)) return unknown;
  return std::pow(10, (count * sum_xy - sum_x * sum_y) / spread);
}

double least(const std::vector<double>& values) {
  return values.empty() ? unknown : *std::min_element(values.begin(), values.end());
}

double largest(const std::vector<double>& values) {
  return values.empty() ? unknown : *std::max_element(values.begin(), values.end());
}

Quantity average_speedup(std::string title, std::string_view name, const Names& rivals) {
  return arithmetic(std::move(title), [=](const StudiedMatrix& one) { return speedup_over(one, name, rivals); });
}

std::vector<Quantity> speedups(std::string_view name, const Names& rivals, Bound at_least) {
  const auto of_tuned = [name = std::string(name) + " (tuned)", rivals](const StudiedMatrix& one) {
    return speedup_over(one, name, rivals);
  };
  return {average_speedup("average speed-up", name, rivals).at_least(at_least.in_float, at_least.in_double),
          mean("geometric", [=](const StudiedMatrix& one) { return speedup_over(one, name, rivals); }),
          arithmetic("tuned", of_tuned)};
}

std::vector<Quantity> bandwidth_range(std::string_view name, double least_bound, double mean_bound) {
  return {Quantity{"least share of the copy bandwidth beyond the cache",
                   [=](Matrices all) { return least(bandwidth_shares(all, name)); }}
              .at_least(least_bound),
          Quantity{"mean", [=](Matrices all) { return arithmetic_mean(bandwidth_shares(all, name)); }}.at_least(
              mean_bound)};
}

}  // namespace autospmv::tools
