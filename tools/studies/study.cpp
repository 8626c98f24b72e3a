#include "tools/studies/study.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.hpp"
#include "formats/format.hpp"
#include "tools/studies/contenders.hpp"

namespace autospmv::tools {

namespace {

bool is_measurable(std::string_view candidates) {
  const auto choices = parse_candidates(candidates);
  return std::any_of(choices.begin(), choices.end(), [](const FormatChoice& choice) {
    return choice.format == gathered_product || find_format<double>(choice.format) != nullptr;
  });
}

// Takes the trials of these candidates.
void enter(Contest& contest, std::string_view candidates, const StudiedMatrix& studied) {
  const auto value_bits = 8 * studied.matrix.value_bytes;
  for (const auto& trial : studied.trials) {
    if (!takes(*contest.contender, candidates, trial.candidate, value_bits)) continue;
    contest.trials.push_back(trial);
    if (!is_timed(trial.measurement)) {
      contest.status = name_of(trial.measurement.outcome);
      contest.detail = trial.measurement.detail;
    } else if (!contest.best || trial.measurement.warm.median < contest.best->measurement.warm.median) {
      contest.best = trial;
    }
  }
}

Contest make_contest(const Contender& contender, const StudiedMatrix& studied) {
  Contest contest;
  contest.contender = &contender;
  const bool known = is_measurable(contender.candidates);
  contest.status = known ? name_of(Outcome::refused) : "missing";
  contest.detail = known ? "no candidate on this device" : "not in this build";
  enter(contest, contender.candidates, studied);
  if (!contest.best && !contender.otherwise.empty()) {
    contest.trials.clear();
    enter(contest, contender.otherwise, studied);
  }
  if (contest.best) {
    contest.status = "measured";
    contest.detail.clear();
  }
  return contest;
}

// Formats that multiply from the CSR arrays, which are then part of their memory.
bool multiplies_csr(std::string_view format) {
  constexpr std::array<std::string_view, 15> on_csr = {
      "acsr",         "coo",        "coo_balanced", "csr_adaptive", "csr_binned",      "csr_bound",
      "csr_gathered", "csr_scalar", "ipcsr",        "csr_merge",    "csr_sorted_bins", "csr_vector",
      "cusparse_csr", "pcsr",       "suraa"};
  return format == gathered_product || std::find(on_csr.begin(), on_csr.end(), format) != on_csr.end();
}

}  // namespace

Quantity Quantity::at_least(double in_float, double in_double) const {
  auto bounded = *this;
  bounded.least = Bound{in_float, in_double};
  return bounded;
}

Quantity Quantity::at_most(double bound) const {
  auto bounded = *this;
  bounded.most = Bound{bound, bound};
  return bounded;
}

std::string study_names() {
  std::string names;
  for (const auto& study : all_studies()) names += (names.empty() ? "" : ", ") + std::string(study.name);
  return names;
}

std::vector<const Study*> find_studies(std::string_view name) {
  std::vector<const Study*> found;
  for (const auto& study : all_studies()) {
    if (name == "all" || study.name == name) found.push_back(&study);
  }
  if (found.empty())
    throw InvalidArgument("no study '" + std::string(name) + "'; there are " + study_names() + ", all");
  return found;
}

StudiedMatrix study_matrix(const Study& study, StudiedMatrix studied) {
  studied.contests.clear();
  for (const auto& contender : study.contenders) studied.contests.push_back(make_contest(contender, studied));
  return studied;
}

double seconds_of(const Contest& contest) { return contest.best ? median_of(contest.best->measurement.warm) : unknown; }

double gflops_of(const StudiedMatrix& studied, const Contest& contest) {
  return gflops(studied.matrix, seconds_of(contest));
}

double csr_memory(const MatrixSummary& matrix) {
  return csr_product_bytes(matrix) - static_cast<double>((matrix.rows + matrix.cols) * matrix.value_bytes);
}

double memory_of(const StudiedMatrix& studied, const Contest& contest) {
  if (!contest.best) return unknown;
  const auto own = static_cast<double>(contest.best->measurement.bytes);
  return multiplies_csr(contest.best->candidate.format) ? own + csr_memory(studied.matrix) : own;
}

double effective_bandwidth(const StudiedMatrix& studied, const Contest& contest) {
  if (!contest.best || contest.contender->moved_bytes == nullptr) return unknown;
  return contest.contender->moved_bytes(studied, contest) / seconds_of(contest);
}

double setup_products(const Contest& contest) {
  return contest.best ? contest.best->measurement.setup_seconds / seconds_of(contest) : unknown;
}

const Contest* fastest_of(const StudiedMatrix& studied) {
  const Contest* fastest = nullptr;
  for (const auto& contest : studied.contests) {
    const auto role = contest.contender->role;
    if (!contest.best || role == Role::described || role == Role::tuned) continue;
    if (fastest == nullptr || seconds_of(contest) < seconds_of(*fastest)) fastest = &contest;
  }
  return fastest;
}

namespace {

template <class Term>
double mean_of_finite(std::span<const double> values, const Term& term) {
  double sum = 0;
  int count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += term(value);
    ++count;
  }
  return count > 0 ? sum / count : unknown;
}

}  // namespace

double geometric_mean(std::span<const double> values) {
  return std::exp(mean_of_finite(values, [](double value) { return std::log(value); }));
}

double arithmetic_mean(std::span<const double> values) {
  return mean_of_finite(values, [](double value) { return value; });
}

}  // namespace autospmv::tools
