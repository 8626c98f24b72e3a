#include "db/database.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/machine/shortage.hpp"
#include "core/uncopied.hpp"
#include "db/forgetting.hpp"
#include "db/matrices.hpp"
#include "db/opening.hpp"
#include "db/process.hpp"
#include "db/sqlite.hpp"
#include "db/suspects.hpp"
#include "db/trials.hpp"

namespace autospmv {

namespace fs = std::filesystem;
using db::Connection;
using db::Statement;
using db::Transaction;

namespace {

// SQLite's own name for it.
bool means_memory(const fs::path& file) { return file == ":memory:"; }

}  // namespace

struct Database::Impl : Uncopied {
  Impl(Connection opened, fs::path path, Warn warn_user)
      : connection(std::move(opened)), file(std::move(path)), on_file(!file.empty()), warn(std::move(warn_user)) {}
  ~Impl() {
    if (std::any_of(noted.begin(), noted.end(), [](const Note& note) { return note.over; })) clear_notes();
  }

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

  /// What query(connection, fingerprint, environment) returns of the rows of a key; nothing where there are none.
  template <class Query>
  auto ask(const TrialKey& key, const Query& query) {
    using Answer = std::invoke_result_t<Query, Connection&, const std::string&, std::int64_t>;
    return attempt([&](Connection& target) {
      const auto environment = db::find_environment(target, key);
      return environment ? query(target, key.pattern.text(), *environment) : Answer();
    });
  }

  template <class Body>
  void attempt_write(const Body& body) {
    attempt([&](Connection& target) {
      // A file that was deleted while it is open takes all writes, and nobody will ever read them.
      if (target.moved()) throw Error("it was removed or replaced");
      Transaction transaction(target);
      for (const auto& note : noted) {
        if (note.over) db::remove_suspect(target, note.key, note.candidate);
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
        db::remove_own_notes(connection);
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
  return impl_->ask(key, [&](Connection& connection, const std::string& fingerprint, std::int64_t environment) {
    return db::find_trials(connection, fingerprint, environment, catalogue);
  });
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
  return impl_->ask(key, [&](Connection& connection, const std::string& fingerprint, std::int64_t environment) {
    std::vector<std::string> efforts;
    Statement statement(connection,
                        "SELECT effort FROM tuning WHERE matrix = ?1 AND environment = ?2 AND catalogue = ?3 "
                        "ORDER BY effort");
    statement.bind(fingerprint, environment, catalogue);
    while (statement.step()) statement.read(efforts.emplace_back());
    return efforts;
  });
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

std::vector<TunedMatrix> Database::list() {
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
      auto recorded = db::read_recorded(connection, fingerprint, environment);
      if (!recorded) continue;
      recorded->matrix.csr_bytes = csr_bytes;
      all.push_back({std::move(recorded->key), std::move(recorded->matrix), trials});
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
  return impl_->attempt([&](Connection& connection) { return db::find_recorded(connection, backend, type); });
}

std::vector<TrialRecord> Database::passed(const TrialKey& key, const std::string& catalogue) {
  return impl_->ask(key, [&](Connection& connection, const std::string& fingerprint, std::int64_t environment) {
    return db::find_passed(connection, fingerprint, environment, catalogue);
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
  const auto forgotten = db::forget_chosen(connection, selection);
  transaction.commit();
  return forgotten;
}

const fs::path& Database::file() const { return impl_->file; }

}  // namespace autospmv
