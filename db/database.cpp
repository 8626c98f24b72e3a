#include "db/database.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/shortage.hpp"
#include "db/opening.hpp"
#include "db/process.hpp"
#include "db/sqlite.hpp"

namespace autospmv {

namespace fs = std::filesystem;
using db::Connection;
using db::Process;
using db::Statement;
using db::Transaction;

namespace {

// ---- What a record may hold --------------------------------------------------------------------------------------

bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

bool is_plausible(const Timing& timing) {
  return is_amount(timing.median) && is_amount(timing.low_quartile) && is_amount(timing.high_quartile) &&
         timing.samples >= 0;
}

bool is_plausible(const Measurement& m) {
  return is_plausible(m.warm) && is_plausible(m.cold) && is_plausible(m.loop) && is_amount(m.setup_seconds) &&
         m.bytes >= 0 && m.worst_error >= 0;  // infinity is what a wrong special value gives
}

// Parameters whose text is their one and only spelling: candidates are told apart by it.
std::optional<Params> parse_params(const std::string& text) {
  auto params = Params::parse(text);
  if (params && params->text() != text) return std::nullopt;
  return params;
}

bool is_plausible(const TrialRecord& trial) {
  return is_plausible(trial.measurement) && parse_params(trial.candidate.params.text()) == trial.candidate.params;
}

std::optional<int> narrow(std::int64_t value) {
  if (!std::in_range<int>(value)) return std::nullopt;
  return static_cast<int>(value);
}

// ---- Matrices and environments -----------------------------------------------------------------------------------

std::optional<std::int64_t> find_environment(const Connection& connection, const TrialKey& key) {
  Statement statement(connection,
                      "SELECT id FROM environment WHERE value_type = ?1 AND operation = ?2 AND backend = ?3 "
                      "AND device = ?4 AND toolkit = ?5 AND driver = ?6 AND library = ?7");
  statement.bind(key.value_type, key.operation, key.backend, key.device, key.toolkit, key.driver, key.library);
  if (!statement.step()) return std::nullopt;
  std::int64_t id = 0;
  statement.read(id);
  return id;
}

std::int64_t add_environment(const Connection& connection, const TrialKey& key) {
  if (const auto known = find_environment(connection, key)) return *known;
  Statement statement(connection,
                      "INSERT INTO environment (value_type, operation, backend, device, toolkit, driver, library) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id");
  statement.bind(key.value_type, key.operation, key.backend, key.device, key.toolkit, key.driver, key.library);
  std::int64_t id = 0;
  statement.step();
  statement.read(id);
  statement.run();
  return id;
}

std::optional<TrialKey> read_key(const Connection& connection, const std::string& fingerprint,
                                 std::int64_t environment) {
  const auto pattern = Fingerprint::parse(fingerprint);
  Statement statement(connection,
                      "SELECT value_type, operation, backend, device, toolkit, driver, library "
                      "FROM environment WHERE id = ?1");
  if (!pattern || !statement.bind(environment).step()) return std::nullopt;
  TrialKey key;
  key.pattern = *pattern;
  statement.read(key.value_type, key.operation, key.backend, key.device, key.toolkit, key.driver, key.library);
  return key;
}

// A matrix keeps its label until it is given another.
void add_matrix(const Connection& connection, const std::string& fingerprint, const MatrixRecord& matrix) {
  Statement(connection,
            "INSERT INTO matrix (fingerprint, rows, cols, nnz, label) VALUES (?1, ?2, ?3, ?4, ?5) "
            "ON CONFLICT (fingerprint) DO UPDATE SET label = excluded.label WHERE excluded.label <> ''")
      .bind(fingerprint, matrix.rows, matrix.cols, matrix.nnz, matrix.label)
      .run();
  Statement statement(connection,
                      "INSERT INTO feature (matrix, name, value) VALUES (?1, ?2, ?3) "
                      "ON CONFLICT (matrix, name) DO UPDATE SET value = excluded.value");
  for (const auto& [name, value] : matrix.features) {
    if (std::isfinite(value)) statement.bind(fingerprint, name, value).run();
  }
}

std::optional<MatrixRecord> read_matrix(const Connection& connection, const std::string& fingerprint) {
  Statement statement(connection, "SELECT label, rows, cols, nnz FROM matrix WHERE fingerprint = ?1");
  if (!statement.bind(fingerprint).step()) return std::nullopt;
  MatrixRecord matrix;
  statement.read(matrix.label, matrix.rows, matrix.cols, matrix.nnz);
  if (matrix.rows < 0 || matrix.cols < 0 || matrix.nnz < 0) return std::nullopt;

  Statement features(connection, "SELECT name, value FROM feature WHERE matrix = ?1 ORDER BY name");
  features.bind(fingerprint);
  while (features.step()) {
    auto& [name, value] = matrix.features.emplace_back();
    features.read(name, value);
    if (!std::isfinite(value)) matrix.features.pop_back();
  }
  return matrix;
}

// ---- Trials ------------------------------------------------------------------------------------------------------

constexpr std::string_view insert_trial = R"sql(
  INSERT INTO trial (matrix, environment, format, format_version, params, deterministic, outcome, detail,
                     warm_median_s, warm_low_quartile_s, warm_high_quartile_s, warm_samples,
                     cold_median_s, cold_low_quartile_s, cold_high_quartile_s, cold_samples,
                     loop_median_s, loop_low_quartile_s, loop_high_quartile_s, loop_samples,
                     setup_s, bytes, csr_bytes, worst_error)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
          ?24))sql";

// The last trial of every candidate, cheapest first, disturbed ones behind those that passed, and whether it keeps the
// limits. A limit that cannot be compared
// with (infinity times 0 bytes) is no limit.
// ?1 matrix, ?2 environment, ?3 catalogue or '', ?4 expected calls, ?5 memory factor, ?6 deterministic only
constexpr std::string_view select_ranked = R"sql(
  SELECT outcome IN ('passed', 'disturbed') AND warm_samples > 0
           AND (bytes > ?5 * csr_bytes) IS NOT TRUE
           AND (deterministic OR NOT ?6),
         format, format_version, params, deterministic, outcome, detail,
         warm_median_s, warm_low_quartile_s, warm_high_quartile_s, warm_samples,
         cold_median_s, cold_low_quartile_s, cold_high_quartile_s, cold_samples,
         loop_median_s, loop_low_quartile_s, loop_high_quartile_s, loop_samples,
         setup_s, bytes, worst_error
  FROM trial
  WHERE id IN (SELECT max(id) FROM trial
               WHERE matrix = ?1 AND environment = ?2
                 AND (?3 = '' OR instr(' ' || ?3 || ' ', ' ' || format || ':' || format_version || ' ') > 0)
               GROUP BY format, params)
  ORDER BY outcome = 'passed' DESC, outcome = 'disturbed' DESC, warm_samples > 0 DESC, setup_s + ?4 * warm_median_s, bytes, format, params)sql";

struct Ranked {
  TrialRecord trial;
  bool within_limits = false;
};

void add_trial(Statement& statement, const std::string& fingerprint, std::int64_t environment, std::int64_t csr_bytes,
               const TrialRecord& trial) {
  const auto& m = trial.measurement;
  statement
      .bind(fingerprint, environment, trial.candidate.format, trial.format_version, trial.candidate.params.text(),
            trial.deterministic, name_of(m.outcome), m.detail, m.warm.median, m.warm.low_quartile, m.warm.high_quartile,
            m.warm.samples, m.cold.median, m.cold.low_quartile, m.cold.high_quartile, m.cold.samples, m.loop.median,
            m.loop.low_quartile, m.loop.high_quartile, m.loop.samples, m.setup_seconds, m.bytes, csr_bytes,
            m.worst_error)
      .run();
}

// Nothing where the row holds what no trial of ours can have given.
std::optional<Ranked> read_ranked(const Statement& row) {
  TrialRecord trial;
  auto& m = trial.measurement;
  std::int64_t within_limits = 0;
  std::int64_t version = 0;
  std::int64_t deterministic = 0;
  std::int64_t warm_samples = 0;
  std::int64_t cold_samples = 0;
  std::int64_t loop_samples = 0;
  std::string params_text;
  std::string outcome_name;
  row.read(within_limits, trial.candidate.format, version, params_text, deterministic, outcome_name, m.detail,
           m.warm.median, m.warm.low_quartile, m.warm.high_quartile, warm_samples, m.cold.median, m.cold.low_quartile,
           m.cold.high_quartile, cold_samples, m.loop.median, m.loop.low_quartile, m.loop.high_quartile, loop_samples,
           m.setup_seconds, m.bytes, m.worst_error);

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
  m.outcome = *outcome;
  m.warm.samples = *warm;
  m.cold.samples = *cold;
  m.loop.samples = *loop;
  if (!is_plausible(m)) return std::nullopt;
  return Ranked{std::move(trial), within_limits != 0};
}

// Hands the ranked trials to take(), in their order, until it returns false.
template <class Take>
void for_each_ranked(const Connection& connection, const std::string& fingerprint, std::int64_t environment,
                     const Limits& limits, const std::string& catalogue, const Take& take) {
  Statement statement(connection, select_ranked);
  statement.bind(fingerprint, environment, catalogue, limits.expected_calls, limits.memory_factor,
                 limits.deterministic);
  while (statement.step()) {
    auto ranked = read_ranked(statement);
    if (ranked && !take(std::move(*ranked))) return;
  }
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
  void add_to(std::vector<TrialRecord>& trials) const {
    if (measurement.outcome != Outcome::passed || measurement.warm.samples == 0 || !is_plausible(measurement)) return;
    const auto parsed = parse_params(params);
    const auto format_version = narrow(version);
    if (parsed && format_version) trials.push_back({{format, *parsed}, *format_version, true, measurement});
  }
};

// The versions that a format_catalogue() names.
std::map<std::string, std::int64_t> versions_in(const std::string& catalogue) {
  std::map<std::string, std::int64_t> versions;
  std::istringstream words(catalogue);
  words.exceptions(std::ios::badbit);
  std::string name;
  for (std::int64_t version = 0; std::getline(words >> std::ws, name, ':') && words >> version;) {
    versions[name] = version;
  }
  return versions;
}

bool is_simpler(const TrialRecord& a, const TrialRecord& b) {
  const auto rank = [](const TrialRecord& trial) {
    return std::tuple(trial.measurement.bytes, trial.candidate.params.values().size());
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return a.candidate < b.candidate;
}

std::optional<TrialRecord> find_winner(const Connection& connection, const std::string& fingerprint,
                                       std::int64_t environment, const Limits& limits, const std::string& catalogue) {
  std::optional<TrialRecord> winner;
  double least = 0;
  for_each_ranked(connection, fingerprint, environment, limits, catalogue, [&](Ranked ranked) {
    if (!ranked.within_limits) return true;
    const auto& m = ranked.trial.measurement;
    const double total = m.setup_seconds + static_cast<double>(limits.expected_calls) * m.warm.median;
    if (!winner) least = total;
    if (winner && (m.outcome != winner->measurement.outcome || total > (1 + Database::tie) * least)) return false;
    if (!winner || is_simpler(ranked.trial, *winner)) winner = std::move(ranked.trial);
    return true;
  });
  return winner;
}

// ---- Suspects ----------------------------------------------------------------------------------------------------

// Whether a process of another host still runs cannot be seen. No trial takes a day.
bool may_be_running(const Process& noted_by, const std::string& this_host, bool older_than_a_day) {
  return noted_by.host == this_host ? db::is_running(noted_by) : !older_than_a_day;
}

void add_suspect(const Connection& connection, const TrialKey& key, const Candidate& candidate) {
  const auto process = db::this_process();
  Statement(connection,
            "INSERT OR REPLACE INTO suspect (matrix, environment, format, params, host, pid, start_ticks) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
      .bind(key.pattern.text(), add_environment(connection, key), candidate.format, candidate.params.text(),
            process.host, process.pid, process.start_ticks)
      .run();
}

void remove_suspect(const Connection& connection, const TrialKey& key, const Candidate& candidate) {
  const auto environment = find_environment(connection, key);
  if (!environment) return;
  const auto process = db::this_process();
  Statement(connection,
            "DELETE FROM suspect WHERE matrix = ?1 AND environment = ?2 AND format = ?3 AND params = ?4 "
            "AND host = ?5 AND pid = ?6 AND start_ticks = ?7")
      .bind(key.pattern.text(), *environment, candidate.format, candidate.params.text(), process.host, process.pid,
            process.start_ticks)
      .run();
}

void remove_all_notes(const Connection& connection, const TrialKey& key, const Candidate& candidate) {
  const auto environment = find_environment(connection, key);
  if (!environment) return;
  Statement(connection, "DELETE FROM suspect WHERE matrix = ?1 AND environment = ?2 AND format = ?3 AND params = ?4")
      .bind(key.pattern.text(), *environment, candidate.format, candidate.params.text())
      .run();
}

void remove_own_notes(Connection& connection) {
  const auto process = db::this_process();
  Transaction transaction(connection);
  Statement(connection, "DELETE FROM suspect WHERE host = ?1 AND pid = ?2 AND start_ticks = ?3")
      .bind(process.host, process.pid, process.start_ticks)
      .run();
  transaction.commit();
}

std::vector<Suspect> find_suspects(const Connection& connection, const std::string& fingerprint,
                                   std::int64_t environment) {
  Statement statement(connection,
                      "SELECT format, params, host, pid, start_ticks, "
                      "created_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day') "
                      "FROM suspect WHERE matrix = ?1 AND environment = ?2");
  statement.bind(fingerprint, environment);
  const auto this_host = db::this_process().host;
  std::map<Candidate, int> deaths;
  while (statement.step()) {
    Candidate candidate;
    std::string params_text;
    Process noted_by;
    std::int64_t old = 0;
    statement.read(candidate.format, params_text, noted_by.host, noted_by.pid, noted_by.start_ticks, old);
    const auto params = parse_params(params_text);
    if (!params || may_be_running(noted_by, this_host, old != 0)) continue;
    candidate.params = *params;
    ++deaths[std::move(candidate)];
  }
  std::vector<Suspect> suspects;
  suspects.reserve(deaths.size());
  for (const auto& [candidate, count] : deaths) suspects.push_back({candidate, count});
  return suspects;
}

// ---- Forgetting --------------------------------------------------------------------------------------------------

std::int64_t remove(const Connection& connection, const std::string& sql, const Selection& selection) {
  const auto fingerprint = selection.pattern ? selection.pattern->text() : std::string();
  Statement(connection, sql).bind(fingerprint, selection.label, selection.device).run();
  return connection.changes();
}

// ?1 fingerprint, ?2 label, ?3 device, each or ''
Forgotten forget_chosen(Connection& connection, const Selection& selection) {
  const std::string chosen =
      "(?1 = '' OR matrix = ?1) "
      "AND (?2 = '' OR matrix IN (SELECT fingerprint FROM matrix WHERE label = ?2)) "
      "AND (?3 = '' OR environment IN (SELECT id FROM environment WHERE device = ?3))";
  Forgotten forgotten;
  if (selection.only_suspects) {
    // Where these were left out, not everything was tried.
    forgotten.tunings =
        remove(connection,
               "DELETE FROM tuning WHERE (matrix, environment) IN (SELECT matrix, environment FROM suspect WHERE " +
                   chosen + ")",
               selection);
  }
  forgotten.suspects = remove(connection, "DELETE FROM suspect WHERE " + chosen, selection);
  if (selection.only_suspects) return forgotten;
  forgotten.tunings = remove(connection, "DELETE FROM tuning WHERE " + chosen, selection);
  forgotten.trials = remove(connection, "DELETE FROM trial WHERE " + chosen, selection);

  // What no trial refers to any more. Features are found by their matrix, so they go before it.
  const std::string untried =
      "(SELECT fingerprint FROM matrix WHERE (?1 = '' OR fingerprint = ?1) AND (?2 = '' OR label = ?2) AND ?3 = ?3 "
      "AND NOT EXISTS (SELECT 1 FROM trial WHERE trial.matrix = fingerprint))";
  remove(connection, "DELETE FROM feature WHERE matrix IN " + untried, selection);
  forgotten.matrices = remove(connection, "DELETE FROM matrix WHERE fingerprint IN " + untried, selection);
  connection.execute(
      "DELETE FROM environment WHERE id NOT IN "
      "(SELECT environment FROM trial UNION SELECT environment FROM tuning UNION SELECT environment FROM suspect)");
  return forgotten;
}

// SQLite's own name for it.
bool means_memory(const fs::path& file) { return file == ":memory:"; }

}  // namespace

struct Database::Impl {
  Impl(Connection opened, fs::path path, Warn warn_user)
      : connection(std::move(opened)), file(std::move(path)), on_file(!file.empty()), warn(std::move(warn_user)) {}
  ~Impl() {
    if (std::any_of(noted.begin(), noted.end(), [](const Note& note) { return note.over; })) clear_notes();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// What body(connection) returns. Where the file fails, the body runs again on what takes its place; where even that
  /// fails, there is nothing to return. Throws what says that memory ran out.
  template <class Body>
  std::invoke_result_t<Body, Connection&> attempt(const Body& body) {
    const std::scoped_lock lock(mutex);
    try {
      return body(connection);
    } catch (const std::exception& error) {
      if (shortage_in_hand() != nullptr) throw;
      if (!on_file) return lost<Body>(error.what());
      leave_file(error);
    }
    try {
      return body(connection);
    } catch (const std::exception& error) {
      if (shortage_in_hand() != nullptr) throw;
      return lost<Body>(error.what());
    }
  }

  template <class Body>
  void attempt_write(const Body& body) {
    attempt([&](Connection& target) {
      // A file that was deleted while it is open takes all writes, and nobody will ever read them.
      if (target.moved()) throw Error("it was removed or replaced");
      Transaction transaction(target);
      for (const auto& note : noted) {
        if (note.over) remove_suspect(target, note.key, note.candidate);
      }
      body(target);
      transaction.commit();
      std::erase_if(noted, [](const Note& note) { return note.over; });
    });
  }

  /// Notes a suspect, by write(connection), which may write more.
  template <class Write>
  void note(const TrialKey& key, const Candidate& candidate, const Write& write) {
    {
      const std::scoped_lock lock(mutex);
      noted.push_back({key, candidate, false});
    }
    try {
      attempt_write(write);
    } catch (...) {
      end_note(key, candidate);
      throw;
    }
  }

  /// What was noted of it is cleared by the next write.
  void end_note(const TrialKey& key, const Candidate& candidate) {
    const std::scoped_lock lock(mutex);
    const auto at = std::find_if(noted.begin(), noted.end(), [&](const Note& note) {
      return !note.over && note.key == key && note.candidate == candidate;
    });
    if (at != noted.end()) at->over = true;
  }

  void clear_notes() noexcept {
    clear_notes([](Connection& /*target*/) {});
  }
  template <class Write>
  void clear_notes(const Write& write_more) noexcept {
    try {
      attempt_write(write_more);
    } catch (...) {
      // Out of memory: the next write clears them.
    }
  }

  void tell(const std::string& warning) const {
    if (warn && !warning.empty()) warn(warning);
  }

  std::mutex mutex;
  Connection connection;
  const fs::path file;
  bool on_file;

 private:
  // A suspect that this object has noted: to clear it must take no memory.
  struct Note {
    TrialKey key;
    Candidate candidate;
    bool over = false;
  };

  template <class Body>
  std::invoke_result_t<Body, Connection&> lost(const char* reason) {
    if (!std::exchange(has_lost, true)) tell(std::string("the database in memory failed: ") + reason);
    return std::invoke_result_t<Body, Connection&>();
  }

  void leave_file(const std::exception& error) {
    if (const auto* const sqlite_error = dynamic_cast<const db::SqliteError*>(&error)) {
      if (sqlite_error->damaged() && replace_file(error.what())) return;
    }
    withdraw_notes();
    connection = db::copy_to_memory(connection);
    on_file = false;
    tell("database " + file.string() + " failed (" + error.what() + "): trials are kept in memory from here on");
  }

  // This process goes on, and must not seem to have died of what it had in hand. Where there is no more room for the
  // log to grow, there may be once its pages are in the file.
  void withdraw_notes() {
    for (const auto* const make_room : {"", "PRAGMA wal_checkpoint(TRUNCATE)"}) {
      try {
        connection.execute(make_room);
        remove_own_notes(connection);
        return;
      } catch (const std::exception&) {
        continue;
      }
    }
  }

  bool replace_file(const char* reason) {
    try {
      auto replacement = db::replace_damaged(file, connection, reason);
      connection = std::move(replacement.connection);
      tell(replacement.warning);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  Warn warn;
  bool has_lost = false;
  std::vector<Note> noted;
};

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Database::~Database() = default;

std::shared_ptr<Database> Database::open(const fs::path& file, Warn warn) {
  if (means_memory(file)) return in_memory();
  if (file.empty()) {
    if (warn) warn("no place is known for the database: trials are kept in memory only");
    return in_memory();
  }
  auto path = db::resolve(file);
  auto opened = db::open_anyhow(path);
  auto impl = std::make_unique<Impl>(std::move(opened.connection), opened.on_file ? path : fs::path{}, std::move(warn));
  impl->tell(opened.warning);
  return std::shared_ptr<Database>(new Database(std::move(impl)));
}

std::shared_ptr<Database> Database::look(const fs::path& file) {
  if (file.empty() || means_memory(file)) return in_memory();
  return std::shared_ptr<Database>(
      new Database(std::make_unique<Impl>(db::look_at(db::resolve(file)), fs::path{}, Warn{})));
}

std::shared_ptr<Database> Database::in_memory() {
  return std::shared_ptr<Database>(new Database(std::make_unique<Impl>(db::begin_in_memory(), fs::path{}, Warn{})));
}

fs::path Database::default_path() {
  const char* const chosen = std::getenv("AUTOSPMV_DB");
  return chosen != nullptr && *chosen != '\0' ? fs::path(chosen) : db::own_place();
}

void Database::record(const TrialKey& key, const MatrixRecord& matrix, std::span<const TrialRecord> trials,
                      const std::optional<Candidate>& suspect) {
  for (const auto& trial : trials) {
    if (is_plausible(trial)) continue;
    impl_->tell("trials are not recorded: that of " + trial.candidate.text() + " holds impossible numbers");
    if (suspect) note_suspect(key, *suspect);
    return;
  }
  const auto write = [&](Connection& connection) {
    const auto fingerprint = key.pattern.text();
    const auto environment = add_environment(connection, key);
    if (!trials.empty() || !suspect) add_matrix(connection, fingerprint, matrix);
    Statement statement(connection, insert_trial);
    for (const auto& trial : trials) {
      if (!trial.measurement.given_up) add_trial(statement, fingerprint, environment, matrix.csr_bytes, trial);
    }
    if (suspect) add_suspect(connection, key, *suspect);
  };
  if (suspect) {
    impl_->note(key, *suspect, write);
  } else {
    impl_->attempt_write(write);
  }
}

std::vector<TrialRecord> Database::trials(const TrialKey& key, const Limits& limits, const std::string& catalogue) {
  return impl_->attempt([&](Connection& connection) {
    std::vector<TrialRecord> trials;
    if (const auto environment = find_environment(connection, key)) {
      for_each_ranked(connection, key.pattern.text(), *environment, limits, catalogue, [&](Ranked ranked) {
        trials.push_back(std::move(ranked.trial));
        return true;
      });
    }
    return trials;
  });
}

std::optional<TrialRecord> Database::winner(const TrialKey& key, const Limits& limits, const std::string& catalogue) {
  return impl_->attempt([&](Connection& connection) -> std::optional<TrialRecord> {
    const auto environment = find_environment(connection, key);
    if (!environment) return std::nullopt;
    return find_winner(connection, key.pattern.text(), *environment, limits, catalogue);
  });
}

void Database::mark_tuned(const TrialKey& key, const std::string& effort, const std::string& catalogue) {
  impl_->attempt_write([&](Connection& connection) {
    Statement(connection,
              "INSERT OR REPLACE INTO tuning (matrix, environment, effort, catalogue) VALUES (?1, ?2, ?3, ?4)")
        .bind(key.pattern.text(), add_environment(connection, key), effort, catalogue)
        .run();
  });
}

bool Database::tuned(const TrialKey& key, const std::string& effort, const std::string& catalogue) {
  return impl_->attempt([&](Connection& connection) {
    const auto environment = find_environment(connection, key);
    if (!environment) return false;
    // Who has tried everything has also tried the short list.
    Statement statement(connection,
                        "SELECT 1 FROM tuning WHERE matrix = ?1 AND environment = ?2 AND catalogue = ?4 "
                        "AND (effort = ?3 OR (?3 = 'measure' AND effort = 'exhaustive'))");
    return statement.bind(key.pattern.text(), *environment, effort, catalogue).step();
  });
}

void Database::note_suspect(const TrialKey& key, const Candidate& candidate) {
  impl_->note(key, candidate, [&](Connection& connection) { add_suspect(connection, key, candidate); });
}

void Database::clear_suspect(const TrialKey& key, const Candidate& candidate) noexcept {
  impl_->end_note(key, candidate);
  impl_->clear_notes();
}

void Database::absolve(const TrialKey& key, const Candidate& candidate) noexcept {
  impl_->end_note(key, candidate);
  impl_->clear_notes([&](Connection& connection) { remove_all_notes(connection, key, candidate); });
}

std::vector<Suspect> Database::suspects(const TrialKey& key) {
  return impl_->attempt([&](Connection& connection) -> std::vector<Suspect> {
    const auto environment = find_environment(connection, key);
    if (!environment) return {};
    return find_suspects(connection, key.pattern.text(), *environment);
  });
}

std::vector<TunedMatrix> Database::list(const Limits& limits) {
  return impl_->attempt([&](Connection& connection) {
    std::vector<TunedMatrix> all;
    // Columns beside a max() are those of the row that has it.
    Statement statement(
        connection,
        "SELECT matrix, environment, count(DISTINCT format || ' ' || params), csr_bytes, max(id) FROM trial "
        "GROUP BY matrix, environment ORDER BY max(id) DESC");
    while (statement.step()) {
      std::string fingerprint;
      std::int64_t environment = 0;
      std::int64_t trials = 0;
      std::int64_t csr_bytes = 0;
      statement.read(fingerprint, environment, trials, csr_bytes);
      const auto key = read_key(connection, fingerprint, environment);
      auto matrix = read_matrix(connection, fingerprint);
      if (!key || !matrix) continue;
      matrix->csr_bytes = csr_bytes;
      all.push_back({*key, std::move(*matrix), trials, find_winner(connection, fingerprint, environment, limits, {})});
    }
    return all;
  });
}

std::int64_t Database::matrices() {
  return impl_->attempt([&](Connection& connection) {
    std::int64_t count = 0;
    Statement statement(connection, "SELECT count(*) FROM matrix");
    if (statement.step()) statement.read(count);
    return count;
  });
}

std::vector<RecordedMatrix> Database::recorded(const std::string& backend, std::string_view type) {
  return impl_->attempt([&](Connection& connection) {
    std::vector<RecordedMatrix> all;
    // Every pair is looked up in the index of trials, which is quicker than to read them all.
    Statement statement(
        connection,
        "SELECT fingerprint, environment.id FROM environment, matrix "
        "WHERE backend = ?1 AND (value_type = ?2 OR value_type LIKE ?2 || ' %') "
        "AND EXISTS (SELECT 1 FROM trial WHERE trial.matrix = fingerprint AND trial.environment = environment.id) "
        "AND EXISTS (SELECT 1 FROM feature WHERE feature.matrix = fingerprint) "
        "ORDER BY environment.id, fingerprint");
    statement.bind(backend, type);
    while (statement.step()) {
      std::string fingerprint;
      std::int64_t environment = 0;
      statement.read(fingerprint, environment);
      const auto key = read_key(connection, fingerprint, environment);
      auto matrix = read_matrix(connection, fingerprint);
      if (key && matrix) all.push_back({*key, std::move(*matrix)});
    }
    return all;
  });
}

std::vector<TrialRecord> Database::passed(const TrialKey& key, const std::string& catalogue) {
  const auto versions = versions_in(catalogue);
  return impl_->attempt([&](Connection& connection) {
    std::vector<TrialRecord> trials;
    const auto environment = find_environment(connection, key);
    if (!environment) return trials;
    // In the order of an index: sorting and grouping would take longer than all the rest.
    Statement statement(connection,
                        "SELECT format, format_version, params, outcome = 'passed', warm_samples, warm_median_s, "
                        "setup_s, bytes FROM trial WHERE matrix = ?1 AND environment = ?2 ORDER BY format, params, id");
    statement.bind(key.pattern.text(), *environment);
    BriefTrial last;  // did not pass as long as there is none
    BriefTrial next;
    while (statement.step()) {
      next.read(statement);
      const auto known = versions.find(next.format);
      if (!catalogue.empty() && (known == versions.end() || known->second != next.version)) continue;
      if (!next.is_of_same_candidate(last)) last.add_to(trials);
      std::swap(last, next);
    }
    last.add_to(trials);
    return trials;
  });
}

std::vector<std::pair<std::string, double>> Database::coefficients(const std::string& backend,
                                                                   const std::string& device) {
  return impl_->attempt([&](Connection& connection) {
    std::vector<std::pair<std::string, double>> values;
    Statement statement(connection,
                        "SELECT name, value FROM coefficient WHERE backend = ?1 AND device = ?2 ORDER BY name");
    statement.bind(backend, device);
    while (statement.step()) {
      auto& [name, value] = values.emplace_back();
      statement.read(name, value);
    }
    return values;
  });
}

void Database::record_coefficients(const std::string& backend, const std::string& device,
                                   std::span<const std::pair<std::string, double>> values) {
  impl_->attempt_write([&](Connection& connection) {
    Statement(connection, "DELETE FROM coefficient WHERE backend = ?1 AND device = ?2").bind(backend, device).run();
    Statement statement(connection, "INSERT INTO coefficient (backend, device, name, value) VALUES (?1, ?2, ?3, ?4)");
    for (const auto& [name, value] : values) statement.bind(backend, device, name, value).run();
  });
}

std::optional<double> Database::copy_bandwidth(const std::string& backend, const std::string& device) {
  return impl_->attempt([&](Connection& connection) {
    std::optional<double> bandwidth;
    Statement statement(connection,
                        "SELECT copy_bandwidth FROM machine WHERE host = ?1 AND backend = ?2 AND device = ?3");
    statement.bind(db::this_process().host, backend, device);
    if (statement.step()) statement.read(bandwidth.emplace());
    // No memory moves less or more.
    if (bandwidth && !(*bandwidth > 1e7 && *bandwidth < 1e15)) bandwidth.reset();
    return bandwidth;
  });
}

void Database::record_copy_bandwidth(const std::string& backend, const std::string& device, double bytes_a_second) {
  impl_->attempt_write([&](Connection& connection) {
    Statement(connection,
              "INSERT OR REPLACE INTO machine (host, backend, device, copy_bandwidth) VALUES (?1, ?2, ?3, ?4)")
        .bind(db::this_process().host, backend, device, bytes_a_second)
        .run();
  });
}

Forgotten Database::forget(const Selection& selection) {
  const std::scoped_lock lock(impl_->mutex);
  auto& connection = impl_->connection;
  if (connection.moved()) throw Error("database " + file().string() + " was removed or replaced");
  const db::TriggersOff off(connection);  // those that keep trials from being deleted
  Transaction transaction(connection);
  const auto forgotten = forget_chosen(connection, selection);
  transaction.commit();
  return forgotten;
}

const fs::path& Database::file() const { return impl_->file; }

}  // namespace autospmv
