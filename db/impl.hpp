// What stands behind a Database.
#pragma once

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/machine/shortage.hpp"
#include "core/uncopied.hpp"
#include "db/database.hpp"
#include "db/file/opening.hpp"
#include "db/file/sqlite.hpp"
#include "db/keeping/passed.hpp"
#include "db/matrices.hpp"
#include "db/suspects.hpp"
#include "db/trials.hpp"

namespace autospmv {

struct Database::Impl : Uncopied {
  Impl(db::Connection opened, std::filesystem::path path, Warn warn_user)
      : connection(std::move(opened)), file(std::move(path)), on_file(!file.empty()), warn(std::move(warn_user)) {}
  ~Impl() {
    if (std::any_of(noted.begin(), noted.end(), [](const Note& note) { return note.over; })) clear_notes();
  }

  /// What body(connection) returns. Where the file fails, the body runs again on what takes its place; where even that
  /// fails, there is nothing to return. Throws what says that memory ran out.
  template <class Body>
  std::invoke_result_t<Body, db::Connection&> attempt(const Body& body) {
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
    using Answer = std::invoke_result_t<Query, db::Connection&, const std::string&, std::int64_t>;
    return attempt([&](db::Connection& target) {
      const auto environment = db::find_environment(target, key);
      return environment ? query(target, key.pattern.text(), *environment) : Answer();
    });
  }

  template <class Body>
  void attempt_write(const Body& body) {
    attempt([&](db::Connection& target) {
      // A file that was deleted while it is open takes all writes, and nobody will ever read them.
      if (target.moved()) throw Error("it was removed or replaced");
      db::Transaction transaction(target);
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
    clear_notes([](db::Connection& /*target*/) {});
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

  /// What change(connection) returns, which changes all that it means to or nothing. Throws Error where the file cannot
  /// be changed: unlike attempt_write(), it writes nowhere else.
  template <class Change>
  auto change_or_throw(const Change& change) {
    const std::scoped_lock lock(mutex);
    if (connection.moved()) throw Error("database " + file.string() + " was removed or replaced");
    const db::TriggersOff off(connection);  // those that keep trials from being deleted
    db::Transaction transaction(connection);
    auto result = change(connection);
    transaction.commit();
    return result;
  }

  /// Adds the trials that layers know of candidates that are not there yet, before all others.
  template <class Ask>
  void add_from_layers(std::vector<TrialRecord>& trials, const Ask& ask) const {
    std::vector<TrialRecord> lower;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      auto more = ask(*layers[i]);
      for (auto& trial : more) trial.layer = i + 1;
      append_unknown(lower, std::move(more), trials);
    }
    if (lower.empty()) return;
    lower.insert(lower.end(), std::make_move_iterator(trials.begin()), std::make_move_iterator(trials.end()));
    trials = std::move(lower);
  }

  std::mutex mutex;
  db::Connection connection;
  db::ParsedParams parsed;
  db::SharedParams shared_params;  // of those that are read without the mutex
  const std::filesystem::path file;
  bool on_file;
  std::vector<std::shared_ptr<Database>> layers;  // the uppermost first
  std::filesystem::path layer_file;               // of one that is a layer itself
  std::string layer_state;                        // of that file, when it was opened
  std::string name = "the database in memory";    // where it is on no file

 private:
  // Those of candidates that are neither among all nor above; `more` has each once. Mostly one database alone knows of
  // a matrix, and there is nothing to compare.
  static void append_unknown(std::vector<TrialRecord>& all, std::vector<TrialRecord> more,
                             std::span<const TrialRecord> above) {
    if (more.empty()) return;
    if (all.empty() && above.empty()) {
      all = std::move(more);
      return;
    }
    std::set<Candidate> known;
    for (const auto& trial : all) known.insert(trial.candidate);
    for (const auto& trial : above) known.insert(trial.candidate);
    for (auto& trial : more) {
      if (!known.contains(trial.candidate)) all.push_back(std::move(trial));
    }
  }

  // A suspect that this object has noted: to clear it must take no memory.
  struct Note {
    TrialKey key;
    Candidate candidate;
    bool over = false;
  };

  template <class Body>
  std::invoke_result_t<Body, db::Connection&> lost(const char* reason) {
    if (!std::exchange(has_lost, true)) tell(name + " failed: " + reason);
    return std::invoke_result_t<Body, db::Connection&>();
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

}  // namespace autospmv
