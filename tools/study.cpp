#include "tools/study.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "formats/format.hpp"

namespace autospmv::tools {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// Any value type does: the formats of a build are the same for all.
bool in_this_build(std::string_view format) { return find_format<double>(format) != nullptr; }

bool has_time(const TrialRecord& trial) { return is_timed(trial.measurement); }

// The papers store columns and values in full, and both halves of a symmetric matrix. `full_bits` are those of a value.
bool as_published(const Params& params, std::int64_t full_bits) {
  return params.find("value_bits").value_or(full_bits) == full_bits && params.find("column_bits").value_or(32) == 32 &&
         params.find("symmetric").value_or(0) == 0;
}

// The most that any candidate spends on a value: each format has candidates that spend all.
std::int64_t full_value_bits(const std::vector<TrialRecord>& trials) {
  std::int64_t most = 0;
  for (const auto& trial : trials) most = std::max(most, trial.candidate.params.find("value_bits").value_or(0));
  return most;
}

Contest make_contest(const Contender& contender, const std::vector<TrialRecord>& trials) {
  Contest contest;
  contest.contender = &contender;
  const bool known = in_this_build(contender.format);
  contest.status = known ? name_of(Outcome::refused) : "missing";
  contest.detail = known ? "no candidate on this device" : "not in this build";
  const auto full_bits = full_value_bits(trials);
  for (const auto& trial : trials) {
    if (trial.candidate.format != contender.format || !as_published(trial.candidate.params, full_bits)) continue;
    if (!has_time(trial)) {
      contest.status = name_of(trial.measurement.outcome);
      contest.detail = trial.measurement.detail;
    } else if (!contest.best || trial.measurement.warm.median < contest.best->measurement.warm.median) {
      contest.best = trial;
    }
  }
  if (contest.best) {
    contest.status = "measured";
    contest.detail.clear();
  }
  return contest;
}

}  // namespace

std::string study_names() {
  std::string names;
  for (const auto& study : all_studies()) names += (names.empty() ? "" : ", ") + std::string(study.name);
  return names;
}

const Study& find_study(std::string_view name) {
  for (const auto& study : all_studies()) {
    if (study.name == name) return study;
  }
  throw InvalidArgument("no study '" + std::string(name) + "'; there are " + study_names());
}

std::vector<std::string> formats_of(const Study& study) {
  std::vector<std::string> formats;
  for (const auto& contender : study.contenders) {
    if (in_this_build(contender.format)) formats.emplace_back(contender.format);
  }
  return formats;
}

StudiedMatrix study_matrix(const Study& study, const MatrixSummary& matrix, const Features& features,
                           std::vector<TrialRecord> trials) {
  StudiedMatrix studied;
  studied.matrix = matrix;
  studied.mean_row = features.npr_mean;
  studied.longest_row = static_cast<double>(features.npr_max);
  studied.row_variance = features.npr_variance;
  for (const auto& contender : study.contenders) studied.contests.push_back(make_contest(contender, trials));
  studied.trials = std::move(trials);
  return studied;
}

double seconds_of(const Contest& contest) { return contest.best ? median_of(contest.best->measurement.warm) : unknown; }

double csr_memory(const MatrixSummary& matrix) {
  return csr_product_bytes(matrix) - static_cast<double>((matrix.rows + matrix.cols) * matrix.value_bytes);
}

double memory_of(const StudiedMatrix& studied, const Contest& contest) {
  if (!contest.best) return unknown;
  const auto own = static_cast<double>(contest.best->measurement.bytes);
  return contest.contender->on_csr ? own + csr_memory(studied.matrix) : own;
}

double effective_bandwidth(const StudiedMatrix& studied, const Contest& contest) {
  return contest.best ? contest.contender->moved_bytes(studied, contest) / seconds_of(contest) : unknown;
}

double setup_products(const Contest& contest) {
  return contest.best ? contest.best->measurement.setup_seconds / seconds_of(contest) : unknown;
}

const Contest* fastest_of(const StudiedMatrix& studied) {
  const Contest* fastest = nullptr;
  for (const auto& contest : studied.contests) {
    if (!contest.best || contest.contender->role == Role::described) continue;
    if (fastest == nullptr || seconds_of(contest) < seconds_of(*fastest)) fastest = &contest;
  }
  return fastest;
}

double geometric_mean(std::span<const double> values) {
  double sum = 0;
  int count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += std::log(value);
    ++count;
  }
  return count > 0 ? std::exp(sum / count) : unknown;
}

}  // namespace autospmv::tools
