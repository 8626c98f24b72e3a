#include "db/trials.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace autospmv::db {

namespace {

bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

bool is_plausible(const Timing& timing) {
  return is_amount(timing.median) && is_amount(timing.low_quartile) && is_amount(timing.high_quartile) &&
         timing.samples >= 0;
}

bool is_plausible(const Measurement& m) {
  return is_plausible(m.warm) && is_plausible(m.cold) && is_plausible(m.loop) && is_amount(m.setup_seconds) &&
         m.bytes >= 0 && m.worst_error >= 0;  // infinity is what a wrong special value gives
}

std::optional<int> narrow(std::int64_t value) {
  if (!std::in_range<int>(value)) return std::nullopt;
  return static_cast<int>(value);
}

constexpr std::string_view insert_trial = R"sql(
  INSERT INTO trial (matrix, environment, format, format_version, params, deterministic, outcome, detail,
                     warm_median_s, warm_low_quartile_s, warm_high_quartile_s, warm_samples,
                     cold_median_s, cold_low_quartile_s, cold_high_quartile_s, cold_samples,
                     loop_median_s, loop_low_quartile_s, loop_high_quartile_s, loop_samples,
                     setup_s, bytes, csr_bytes, worst_error, capturable)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
          ?24, ?25))sql";

// What read_trial() reads.
constexpr std::string_view select_trial = R"sql(
  SELECT format, format_version, params, deterministic, outcome, detail,
         warm_median_s, warm_low_quartile_s, warm_high_quartile_s, warm_samples,
         cold_median_s, cold_low_quartile_s, cold_high_quartile_s, cold_samples,
         loop_median_s, loop_low_quartile_s, loop_high_quartile_s, loop_samples,
         setup_s, bytes, worst_error, capturable, created_at
  FROM trial )sql";

void add_trial(Statement& statement, const std::string& fingerprint, std::int64_t environment, std::int64_t csr_bytes,
               const TrialRecord& trial) {
  const auto& m = trial.measurement;
  statement
      .bind(fingerprint, environment, trial.candidate.format, trial.format_version, trial.candidate.params.text(),
            trial.deterministic, name_of(m.outcome), m.detail, m.warm.median, m.warm.low_quartile, m.warm.high_quartile,
            m.warm.samples, m.cold.median, m.cold.low_quartile, m.cold.high_quartile, m.cold.samples, m.loop.median,
            m.loop.low_quartile, m.loop.high_quartile, m.loop.samples, m.setup_seconds, m.bytes, csr_bytes,
            m.worst_error, trial.capturable)
      .run();
}

// Nothing where the row holds what no trial of ours can have given.
std::optional<TrialRecord> read_trial(const Statement& row, std::string* moment = nullptr) {
  TrialRecord trial;
  auto& m = trial.measurement;
  std::int64_t version = 0;
  std::int64_t deterministic = 0;
  std::int64_t capturable = 0;
  std::int64_t warm_samples = 0;
  std::int64_t cold_samples = 0;
  std::int64_t loop_samples = 0;
  std::string params_text;
  std::string outcome_name;
  std::string created_at;
  row.read(trial.candidate.format, version, params_text, deterministic, outcome_name, m.detail, m.warm.median,
           m.warm.low_quartile, m.warm.high_quartile, warm_samples, m.cold.median, m.cold.low_quartile,
           m.cold.high_quartile, cold_samples, m.loop.median, m.loop.low_quartile, m.loop.high_quartile, loop_samples,
           m.setup_seconds, m.bytes, m.worst_error, capturable, created_at);
  if (moment != nullptr) *moment = std::move(created_at);

  const auto params = parse_params(params_text);
  const auto outcome = parse_outcome(outcome_name);
  const auto format_version = narrow(version);
  const auto warm = narrow(warm_samples);
  const auto cold = narrow(cold_samples);
  const auto loop = narrow(loop_samples);
  if (!params || !outcome || !format_version || !warm || !cold || !loop) return std::nullopt;
  trial.candidate.params = *params;
  trial.format_version = *format_version;
  trial.deterministic = deterministic != 0;
  trial.capturable = capturable != 0;
  m.outcome = *outcome;
  m.warm.samples = *warm;
  m.cold.samples = *cold;
  m.loop.samples = *loop;
  if (!is_plausible(m)) return std::nullopt;
  return trial;
}

// What other matrices are predicted from. Read by the thousand, so no more than that is read, in the order of an index:
// sorting and grouping would take longer than all the rest.
constexpr std::string_view select_brief = R"sql(
  SELECT format, format_version, params, outcome = 'passed', warm_samples, warm_median_s, setup_s, bytes
  FROM trial WHERE matrix = ?1 AND environment = ?2 ORDER BY format, params, id)sql";

BriefTrial read_brief(const Statement& row) {
  BriefTrial trial;
  std::int64_t passed = 0;
  std::int64_t samples = 0;
  row.read(trial.format, trial.version, trial.params, passed, samples, trial.seconds, trial.setup_seconds, trial.bytes);
  trial.passed = passed != 0;
  trial.samples = narrow(samples).value_or(0);
  return trial;
}

bool are_of_same_candidate(const BriefTrial& a, const BriefTrial& b) {
  return a.format == b.format && a.params == b.params;
}

}  // namespace

Versions versions_in(std::string_view catalogue) {
  Versions versions;
  while (!catalogue.empty()) {
    const auto word = catalogue.substr(0, catalogue.find(' '));
    catalogue.remove_prefix(std::min(catalogue.size(), word.size() + 1));
    const auto name = word.substr(0, word.find(':'));
    const auto digits = word.substr(std::min(word.size(), name.size() + 1));
    std::int64_t version = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), version);
    versions[std::string(name)] = version;
  }
  return versions;
}

std::optional<Params> parse_params(const std::string& text) {
  auto params = Params::parse(text);
  if (params && params->text() != text) return std::nullopt;
  return params;
}

const std::optional<Params>& ParsedParams::of(const std::string& text) {
  constexpr std::size_t most = 4096;  // about a megabyte
  const auto known = by_text_.find(text);
  if (known != by_text_.end()) return known->second;
  if (by_text_.size() == most) by_text_.clear();
  return by_text_.emplace(text, parse_params(text)).first->second;
}

const std::optional<Params>* ParsedParams::find(const std::string& text) const {
  const auto known = by_text_.find(text);
  return known == by_text_.end() ? nullptr : &known->second;
}

bool is_plausible(const TrialRecord& trial) {
  return is_plausible(trial.measurement) && parse_params(trial.candidate.params.text()) == trial.candidate.params;
}

void add_trials(const Connection& connection, const std::string& fingerprint, std::int64_t environment,
                std::int64_t csr_bytes, std::span<const TrialRecord> trials) {
  Statement statement(connection, insert_trial);
  for (const auto& trial : trials) {
    if (!trial.measurement.given_up) add_trial(statement, fingerprint, environment, csr_bytes, trial);
  }
}

std::vector<TrialRecord> find_trials(const Connection& connection, const std::string& fingerprint,
                                     std::int64_t environment, const std::string& catalogue) {
  std::vector<TrialRecord> trials;
  // The last of every candidate.
  static const std::string select_last = std::string(select_trial) + R"sql(
    WHERE id IN (SELECT max(id) FROM trial
                 WHERE matrix = ?1 AND environment = ?2
                   AND (?3 = '' OR instr(' ' || ?3 || ' ', ' ' || format || ':' || format_version || ' ') > 0)
                 GROUP BY format, params)
    ORDER BY id)sql";
  Statement statement(connection, select_last);
  statement.bind(fingerprint, environment, catalogue);
  while (statement.step()) {
    if (auto trial = read_trial(statement)) trials.push_back(std::move(*trial));
  }
  return trials;
}

std::vector<DatedTrial> find_history(const Connection& connection, const std::string& fingerprint,
                                     std::int64_t environment) {
  std::vector<DatedTrial> trials;
  Statement statement(connection, std::string(select_trial) + "WHERE matrix = ?1 AND environment = ?2 ORDER BY id");
  statement.bind(fingerprint, environment);
  while (statement.step()) {
    std::string moment;
    if (auto trial = read_trial(statement, &moment)) trials.push_back({std::move(*trial), std::move(moment)});
  }
  return trials;
}

std::int64_t count_implausible(const Connection& connection) {
  Statement statement(connection, select_trial);
  std::int64_t count = 0;
  while (statement.step()) count += read_trial(statement) ? 0 : 1;
  return count;
}

void add_if_passed(const BriefTrial& trial, const std::optional<Params>& params, std::vector<TrialRecord>& trials) {
  if (!trial.passed || trial.samples == 0) return;
  const auto version = narrow(trial.version);
  if (!version || !params) return;
  auto& added = trials.emplace_back();
  auto& measurement = added.measurement;
  measurement.outcome = Outcome::passed;
  measurement.warm.median = trial.seconds;
  measurement.warm.samples = trial.samples;
  measurement.setup_seconds = trial.setup_seconds;
  measurement.bytes = trial.bytes;
  if (!is_plausible(measurement)) return trials.pop_back();
  added.candidate.format = trial.format;
  added.candidate.params = *params;
  added.format_version = *version;
}

std::vector<TrialRecord> find_passed(const Connection& connection, const std::string& fingerprint,
                                     std::int64_t environment, const std::string& catalogue, ParsedParams& parsed) {
  const auto versions = versions_in(catalogue);
  std::vector<TrialRecord> trials;
  const auto add = [&](const BriefTrial& trial) {
    if (trial.passed) add_if_passed(trial, parsed.of(trial.params), trials);
  };
  Statement statement(connection, select_brief);
  statement.bind(fingerprint, environment);
  // Those of one format follow each other.
  std::string format;
  std::int64_t version = 0;
  bool known = false;
  const auto is_known = [&](const BriefTrial& trial) {
    if (trial.format == format && trial.version == version) return known;
    format = trial.format;
    version = trial.version;
    const auto at = versions.find(format);
    return known = at != versions.end() && at->second == version;
  };
  BriefTrial last;  // did not pass as long as there is none
  BriefTrial next;
  while (statement.step()) {
    next = read_brief(statement);
    if (!catalogue.empty() && !is_known(next)) continue;
    if (!are_of_same_candidate(next, last)) add(last);
    std::swap(last, next);
  }
  add(last);
  return trials;
}

std::vector<BriefTrial> last_passed(const Connection& connection, const std::string& fingerprint,
                                    std::int64_t environment) {
  std::vector<BriefTrial> passed;
  Statement statement(connection, select_brief);
  statement.bind(fingerprint, environment);
  std::vector<BriefTrial> of_candidate;  // the last of each version
  const auto add = [&] {
    std::copy_if(of_candidate.begin(), of_candidate.end(), std::back_inserter(passed),
                 [](const BriefTrial& trial) { return trial.passed; });
    of_candidate.clear();
  };
  while (statement.step()) {
    auto next = read_brief(statement);
    if (!of_candidate.empty() && !are_of_same_candidate(next, of_candidate.front())) add();
    std::erase_if(of_candidate, [&](const BriefTrial& trial) { return trial.version == next.version; });
    of_candidate.push_back(std::move(next));
  }
  add();
  return passed;
}

}  // namespace autospmv::db
