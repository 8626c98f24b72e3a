#include "tools/study_questions.hpp"

#include <algorithm>
#include <cmath>

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

const Contest& contest_of(const StudiedMatrix& studied, std::string_view format) {
  return *std::find_if(studied.contests.begin(), studied.contests.end(),
                       [&](const Contest& contest) { return contest.contender->format == format; });
}

std::optional<bool> is_fastest(const StudiedMatrix& studied, std::string_view format) {
  const auto& contest = contest_of(studied, format);
  if (contest.status == "missing") return std::nullopt;
  return fastest_of(studied) == &contest;
}

std::optional<std::int64_t> best_parameter(const StudiedMatrix& studied, std::string_view format,
                                           const std::string& name) {
  const auto& best = contest_of(studied, format).best;
  return best ? best->candidate.params.find(name) : std::nullopt;
}

double seconds_with(const StudiedMatrix& studied, std::string_view format, const std::string& name,
                    std::int64_t value) {
  double fastest = unknown;
  for (const auto& trial : studied.trials) {
    if (trial.candidate.format != format || trial.candidate.params.find(name) != value) continue;
    if (trial.measurement.outcome != Outcome::passed) continue;
    fastest = std::fmin(fastest, median_of(trial.measurement.warm));
  }
  return fastest;
}

double fastest_seconds(const StudiedMatrix& studied, std::span<const std::string_view> formats) {
  double fastest = unknown;
  for (const auto format : formats) fastest = std::fmin(fastest, seconds_of(contest_of(studied, format)));
  return fastest;
}

double speedup_over(const StudiedMatrix& studied, std::string_view format, std::string_view rival) {
  return seconds_of(contest_of(studied, rival)) / seconds_of(contest_of(studied, format));
}

double memory_over_csr(const StudiedMatrix& studied, std::string_view format) {
  return memory_of(studied, contest_of(studied, format)) / csr_memory(studied.matrix);
}

std::vector<double> bandwidth_shares(Matrices matrices, std::string_view format) {
  std::vector<double> shares;
  for (const auto& studied : matrices) {
    const auto& contest = contest_of(studied, format);
    if (!contest.best || contest.contender->moved_bytes(studied, contest) <= studied.cache_bytes) continue;
    shares.push_back(effective_bandwidth(studied, contest) / studied.copy_bandwidth);
  }
  return shares;
}

double least(const std::vector<double>& values) {
  return values.empty() ? unknown : *std::min_element(values.begin(), values.end());
}

double largest(const std::vector<double>& values) {
  return values.empty() ? unknown : *std::max_element(values.begin(), values.end());
}

Quantity mean_speedup(std::string_view name, std::string_view format, std::string_view rival) {
  return mean(name, [=](const StudiedMatrix& one) { return speedup_over(one, format, rival); });
}

std::vector<Quantity> bandwidth_range(std::string_view format) {
  return {{"least share of the copy bandwidth beyond the cache",
           [=](Matrices all) { return least(bandwidth_shares(all, format)); }},
          {"largest", [=](Matrices all) { return largest(bandwidth_shares(all, format)); }}};
}

}  // namespace autospmv::tools
