#include "db/database.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>

#include "db/file/opening.hpp"
#include "db/file/sqlite.hpp"
#include "db/impl.hpp"
#include "db/keeping/passed.hpp"
#include "db/keeping/selection.hpp"
#include "db/keeping/tables.hpp"
#include "db/matrices.hpp"
#include "db/process.hpp"
#include "db/suspects.hpp"
#include "db/trials.hpp"

namespace autospmv {

namespace fs = std::filesystem;
using db::Connection;
using db::Statement;

namespace {

// SQLite's own name for it.
bool means_memory(const fs::path& file) { return file == ":memory:"; }

}  // namespace

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

std::shared_ptr<Database> Database::layer(const fs::path& file, const Warn& warn) {
  const auto path = db::resolve(file);
  try {
    auto impl = std::make_unique<Impl>(db::open_layer(path), fs::path{}, warn);
    impl->name = "database " + path.string();
    impl->layer_state = db::state_of_file(path);
    std::shared_ptr<Database> layer(new Database(std::move(impl)));
    layer->impl_->layer_file = path;
    return layer;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    if (warn) warn(std::string(error.what()) + ": it is passed over");
    return nullptr;
  }
}

void Database::put_under(std::vector<std::shared_ptr<Database>> layers) { impl_->layers = std::move(layers); }

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
    if (db::is_plausible(trial)) continue;
    impl_->tell("trials are not recorded: that of " + trial.candidate.text() + " holds impossible numbers");
    if (suspect) note_suspect(key, *suspect);
    return;
  }
  const auto write = [&](Connection& connection) {
    const auto fingerprint = key.pattern.text();
    const auto environment = db::add_environment(connection, key);
    if (!trials.empty() || !suspect) db::add_matrix(connection, fingerprint, matrix);
    db::add_trials(connection, fingerprint, environment, matrix.csr_bytes, trials);
    if (suspect) db::add_suspect(connection, key, *suspect);
  };
  if (suspect) {
    impl_->note(key, *suspect, write);
  } else {
    impl_->attempt_write(write);
  }
}

std::vector<TrialRecord> Database::trials(const TrialKey& key, const std::string& catalogue) {
  auto trials = impl_->ask(key, [&](Connection& connection, const std::string& fingerprint, std::int64_t environment) {
    return db::find_trials(connection, fingerprint, environment, catalogue);
  });
  impl_->add_from_layers(trials, [&](Database& layer) { return layer.trials(key, catalogue); });
  return trials;
}

void Database::mark_tuned(const TrialKey& key, const std::string& effort, const std::string& catalogue) {
  impl_->attempt_write([&](Connection& connection) {
    Statement(connection,
              "INSERT OR REPLACE INTO tuning (matrix, environment, effort, catalogue) VALUES (?1, ?2, ?3, ?4)")
        .bind(key.pattern.text(), db::add_environment(connection, key), effort, catalogue)
        .run();
  });
}

std::vector<std::string> Database::tunings(const TrialKey& key, const std::string& catalogue) {
  auto all = impl_->ask(key, [&](Connection& connection, const std::string& fingerprint, std::int64_t environment) {
    std::vector<std::string> efforts;
    Statement statement(connection,
                        "SELECT effort FROM tuning WHERE matrix = ?1 AND environment = ?2 AND catalogue = ?3 "
                        "ORDER BY effort");
    statement.bind(fingerprint, environment, catalogue);
    while (statement.step()) statement.read(efforts.emplace_back());
    return efforts;
  });
  for (const auto& layer : impl_->layers) {
    for (auto& effort : layer->tunings(key, catalogue)) {
      if (std::find(all.begin(), all.end(), effort) == all.end()) all.push_back(std::move(effort));
    }
  }
  return all;
}

void Database::note_suspect(const TrialKey& key, const Candidate& candidate) {
  impl_->note(key, candidate, [&](Connection& connection) { db::add_suspect(connection, key, candidate); });
}

void Database::clear_suspect(const TrialKey& key, const Candidate& candidate) noexcept {
  impl_->end_note(key, candidate);
  impl_->clear_notes();
}

void Database::absolve(const TrialKey& key, const Candidate& candidate) noexcept {
  impl_->end_note(key, candidate);
  impl_->clear_notes([&](Connection& connection) { db::remove_all_notes(connection, key, candidate); });
}

std::vector<Suspect> Database::suspects(const TrialKey& key) { return impl_->ask(key, db::find_suspects); }

void Database::rehearse() noexcept {
  try {
    const TrialKey key;
    const Candidate candidate;
    (void)knows(key.pattern);
    const std::scoped_lock lock(impl_->mutex);
    auto& connection = impl_->connection;
    const db::Transaction taken_back(connection, db::Transaction::Waiting::no);
    db::add_suspect(connection, key, candidate);
    (void)db::find_suspects(connection, key.pattern.text(), db::add_environment(connection, key));
    db::remove_all_notes(connection, key, candidate);
  } catch (const std::exception&) {
    // Who asks or writes next will say what fails.
  }
}

std::vector<TunedMatrix> Database::list(const Selection& selection) {
  return impl_->attempt([&](Connection& connection) {
    std::vector<TunedMatrix> all;
    // Columns beside a max() are those of the row that has it.
    Statement statement(
        connection,
        "SELECT matrix, environment, count(DISTINCT format || ' ' || params), csr_bytes, max(id) FROM trial WHERE " +
            db::chosen(db::kind_of("trial"), selection) + " GROUP BY matrix, environment ORDER BY max(id) DESC");
    bind(statement, selection);
    while (statement.step()) {
      std::string fingerprint;
      std::int64_t environment = 0;
      std::int64_t trials = 0;
      std::int64_t csr_bytes = 0;
      statement.read(fingerprint, environment, trials, csr_bytes);
      auto recorded = db::read_recorded(connection, fingerprint, environment);
      if (!recorded) continue;
      recorded->matrix.csr_bytes = csr_bytes;
      all.push_back({std::move(recorded->key), std::move(recorded->matrix), trials});
    }
    return all;
  });
}

bool Database::knows(const Fingerprint& pattern) {
  const bool known = impl_->attempt([&](Connection& connection) {
    Statement statement(
        connection, "SELECT 1 FROM trial WHERE matrix = ?1 UNION ALL SELECT 1 FROM tuning WHERE matrix = ?1 LIMIT 1");
    return statement.bind(pattern.text()).step();
  });
  return known || std::ranges::any_of(impl_->layers, [&](const auto& layer) { return layer->knows(pattern); });
}

std::int64_t Database::matrices() {
  auto matrices = impl_->attempt([&](Connection& connection) {
    std::int64_t count = 0;
    Statement statement(connection, "SELECT count(*) FROM matrix");
    if (statement.step()) statement.read(count);
    return count;
  });
  for (const auto& layer : impl_->layers) matrices += layer->matrices();
  return matrices;
}

std::vector<RecordedMatrix> Database::recorded(const std::string& backend, std::string_view type) {
  auto all = impl_->attempt([&](Connection& connection) { return db::find_recorded(connection, backend, type); });
  if (impl_->layers.empty()) return all;
  using Identity = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;
  const auto identity_of = [](const TrialKey& key) {
    return Identity{
        key.pattern.text() + key.value_type, key.operation, key.device, key.toolkit, key.driver, key.library};
  };
  std::set<Identity> known;
  for (const auto& one : all) known.insert(identity_of(one.key));
  for (std::size_t i = 0; i < impl_->layers.size(); ++i) {
    for (auto& one : impl_->layers[i]->recorded(backend, type)) {
      if (!known.insert(identity_of(one.key)).second) continue;
      one.layer = i + 1;
      all.push_back(std::move(one));
    }
  }
  return all;
}

// Read by many threads at once.
std::optional<std::vector<TrialRecord>> Database::kept_passed(const TrialKey& key, const std::string& catalogue) {
  if (catalogue.empty()) return std::nullopt;
  const auto kept = impl_->ask(key, db::find_kept);
  return kept ? db::trials_in(kept->trials, db::versions_in(catalogue), impl_->shared_params) : std::nullopt;
}

std::vector<TrialRecord> Database::passed(const TrialKey& key, const std::string& catalogue) {
  std::vector<TrialRecord> trials;
  if (auto kept = kept_passed(key, catalogue)) {
    trials = std::move(*kept);
  } else {
    trials = impl_->ask(key, [&](Connection& connection, const std::string& fingerprint, std::int64_t environment) {
      return db::find_passed(connection, fingerprint, environment, catalogue, impl_->parsed);
    });
  }
  impl_->add_from_layers(trials, [&](Database& layer) { return layer.passed(key, catalogue); });
  return trials;
}

std::vector<std::pair<std::string, double>> Database::coefficients(const std::string& backend,
                                                                   const std::string& device) {
  auto coefficients = impl_->attempt([&](Connection& connection) {
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
  for (const auto& layer : impl_->layers) {
    if (!coefficients.empty()) break;
    coefficients = layer->coefficients(backend, device);
  }
  return coefficients;
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
  auto known = impl_->attempt([&](Connection& connection) {
    std::optional<double> bandwidth;
    Statement statement(connection,
                        "SELECT copy_bandwidth FROM machine WHERE host = ?1 AND backend = ?2 AND device = ?3");
    statement.bind(db::this_process().host, backend, device);
    if (statement.step()) statement.read(bandwidth.emplace());
    // No memory moves less or more.
    if (bandwidth && !(*bandwidth > 1e7 && *bandwidth < 1e15)) bandwidth.reset();
    return bandwidth;
  });
  for (const auto& layer : impl_->layers) {
    if (!known) known = layer->copy_bandwidth(backend, device);
  }
  return known;
}

void Database::record_copy_bandwidth(const std::string& backend, const std::string& device, double bytes_a_second) {
  impl_->attempt_write([&](Connection& connection) {
    Statement(connection,
              "INSERT OR REPLACE INTO machine (host, backend, device, copy_bandwidth) VALUES (?1, ?2, ?3, ?4)")
        .bind(db::this_process().host, backend, device, bytes_a_second)
        .run();
  });
}

Database::Impl& Database::impl_of(std::size_t layer) const {
  return layer == 0 ? *impl_ : *impl_->layers.at(layer - 1)->impl_;
}

const fs::path& Database::file() const { return impl_->file; }

const fs::path& Database::file_of_layer(std::size_t layer) const {
  return layer == 0 ? impl_->file : impl_->layers.at(layer - 1)->impl_->layer_file;
}

}  // namespace autospmv
