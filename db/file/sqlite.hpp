// SQLite with destructors: Connection, Statement, Transaction and no more.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/uncopied.hpp"
#include "db/rows.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace autospmv::db {

class SqliteError : public Error {
 public:
  /// `code` is one of SQLite's primary result codes.
  SqliteError(int code, const std::string& text) : Error(text), code_(code) {}

  [[nodiscard]] int code() const { return code_; }

  /// The file is no database, or no longer one.
  [[nodiscard]] bool damaged() const;

 private:
  int code_;
};

enum class Access : std::uint8_t {
  write,      ///< begins the file where there is none; reads only, where it cannot be written
  read,       ///< may still need to write beside the file, for a log that must be shared or replayed
  immutable,  ///< touches the file alone, and trusts that nobody changes it meanwhile
};

struct Finalize {
  void operator()(sqlite3_stmt* handle) const noexcept;
};

/// Prepared statements that nobody uses at the moment, by their own text.
using IdleStatements = std::map<std::string_view, std::unique_ptr<sqlite3_stmt, Finalize>>;

/// One thread at a time. Every member throws SqliteError unless it says otherwise, and OutOfMemory where SQLite has run
/// out of it.
class Connection {
 public:
  Connection(const std::filesystem::path& file, Access access);
  static Connection in_memory();

  /// Runs statements that give no rows.
  void execute(const std::string& sql);

  /// The integer that a query of one row and column gives; 0 without a row.
  [[nodiscard]] std::int64_t number(std::string_view query) const;

  /// Rows that the last statement inserted, changed or deleted.
  [[nodiscard]] std::int64_t changes() const;

  /// Becomes a copy of another database.
  void copy_from(Connection& source);

  [[nodiscard]] bool read_only() const;

  /// The first bytes of the file as they lie there, at most so many, whatever they are. Takes no lock, and drops none.
  [[nodiscard]] std::string first_bytes(std::size_t most) const;

  /// Whether the file is no longer found under its name. Never throws.
  [[nodiscard]] bool moved() const noexcept;

  [[nodiscard]] sqlite3* handle() const { return open_->handle.get(); }
  [[nodiscard]] IdleStatements& idle() const { return open_->idle; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };

  // SQLite closes nothing of which a statement is left, so those go first.
  struct Open {
    std::unique_ptr<sqlite3, Close> handle;
    IdleStatements idle;
  };

  Connection(const std::string& name, int flags);

  std::unique_ptr<Open> open_ = std::make_unique<Open>();
};

/// A prepared statement. Lives no longer than its connection, which then keeps it, at rest, for the next one of the
/// same text: to prepare a query takes longer than to run it.
class Statement : Uncopied {
 public:
  Statement(const Connection& connection, std::string_view sql);
  ~Statement();

  /// Starts over with these values for ?1, ?2 and so on: integers, double, text.
  template <class... Values>
  Statement& bind(const Values&... values) {
    reset();
    int index = 0;
    (bind_one(++index, values), ...);
    return *this;
  }

  /// The same with values whose types are known at run time only.
  Statement& bind_all(std::span<const Value> values);

  /// Moves to the next row; false after the last.
  bool step();

  /// For statements that give no rows.
  void run() {
    while (step()) {
    }
  }

  /// The columns of the current row, from the first on: std::int64_t, double, std::string.
  template <class... Values>
  void read(Values&... values) const {
    int column = 0;
    (read_one(column++, values), ...);
  }

  /// The columns of the current row from `first` on, as many as there are types, each as what it is asked for.
  [[nodiscard]] std::vector<Value> values(std::span<const ColumnInfo> columns, int first = 0) const;

 private:
  void reset();
  [[nodiscard]] sqlite3_stmt* handle() const { return node_.mapped().get(); }
  void bind_one(int index, std::integral auto value) { bind_integer(index, static_cast<std::int64_t>(value)); }
  void bind_one(int index, double value);
  void bind_one(int index, std::string_view value);
  void bind_integer(int index, std::int64_t value);
  void read_one(int column, std::int64_t& value) const;
  void read_one(int column, double& value) const;
  void read_one(int column, std::string& value) const;

  IdleStatements& idle_;
  IdleStatements::node_type node_;  // out of the map while it is used: two of the same text may be in use at once
};

/// While it lives, this connection's statements fire no trigger; those of others do.
class TriggersOff : Uncopied {
 public:
  explicit TriggersOff(const Connection& connection);
  ~TriggersOff();

 private:
  const Connection& connection_;
};

/// While it lives, this connection's statements read one state of the file, and ask for its lock but once.
class Snapshot : Uncopied {
 public:
  explicit Snapshot(Connection& connection);
  ~Snapshot();

 private:
  Connection& connection_;
};

/// Takes the right to write at once, rather than at the first write: a transaction that has read before it asks can
/// only fail when somebody else was faster. Rolled back unless committed.
class Transaction : Uncopied {
 public:
  enum class Waiting : std::uint8_t { yes, no };  ///< for whoever writes at the moment

  explicit Transaction(Connection& connection, Waiting waiting = Waiting::yes);
  ~Transaction();

  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace autospmv::db
