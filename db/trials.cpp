#include "db/trials.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
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

// What other matrices are predicted from. Read by the thousand, so no more than that is read.
struct BriefTrial {
  std::string format;
  std::int64_t version = 0;
  std::string params;
  Measurement measurement;

  void read(const Statement& row) {
    auto& m = measurement;
    std::int64_t passed = 0;
    std::int64_t samples = 0;
    row.read(format, version, params, passed, samples, m.warm.median, m.setup_seconds, m.bytes);
    m.outcome = passed != 0 ? Outcome::passed : Outcome::failed;
    m.warm.samples = narrow(samples).value_or(0);
  }

  [[nodiscard]] bool is_of_same_candidate(const BriefTrial& other) const {
    return format == other.format && params == other.params;
  }

  // Where it passed, and is what a trial of ours can have given.
  void add_to(std::vector<TrialRecord>& trials, ParsedParams& parsed) const {
    if (measurement.outcome != Outcome::passed || measurement.warm.samples == 0 || !is_plausible(measurement)) return;
    const auto format_version = narrow(version);
    const auto& known_params = parsed.of(params);
    if (!known_params || !format_version) return;
    auto& trial = trials.emplace_back();
    trial.candidate.format = format;
    trial.candidate.params = *known_params;
    trial.format_version = *format_version;
    trial.measurement = measurement;
  }
};

// The versions that a format_catalogue() names.
std::map<std::string_view, std::int64_t> versions_in(std::string_view catalogue) {
  std::map<std::string_view, std::int64_t> versions;
  while (!catalogue.empty()) {
    const auto word = catalogue.substr(0, catalogue.find(' '));
    catalogue.remove_prefix(std::min(catalogue.size(), word.size() + 1));
    const auto name = word.substr(0, word.find(':'));
    const auto digits = word.substr(std::min(word.size(), name.size() + 1));
    std::int64_t version = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), version);
    versions[name] = version;
  }
  return versions;
}

}  // namespace

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

std::vector<TrialRecord> find_passed(const Connection& connection, const std::string& fingerprint,
                                     std::int64_t environment, const std::string& catalogue, ParsedParams& parsed) {
  const auto versions = versions_in(catalogue);
  std::vector<TrialRecord> trials;
  // In the order of an index: sorting and grouping would take longer than all the rest.
  Statement statement(connection,
                      "SELECT format, format_version, params, outcome = 'passed', warm_samples, warm_median_s, "
                      "setup_s, bytes FROM trial WHERE matrix = ?1 AND environment = ?2 ORDER BY format, params, id");
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
    next.read(statement);
    if (!catalogue.empty() && !is_known(next)) continue;
    if (!next.is_of_same_candidate(last)) last.add_to(trials, parsed);
    std::swap(last, next);
  }
  last.add_to(trials, parsed);
  return trials;
}

}  // namespace autospmv::db
