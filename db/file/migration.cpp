#include "db/file/migration.hpp"

#include <array>
#include <string>

namespace autospmv::db {

namespace {

// Version 2 keeps the time of a plain loop of launches. Trials from before it have no samples of one.
constexpr const char* add_loop = R"sql(
  ALTER TABLE trial ADD COLUMN loop_median_s        REAL    NOT NULL DEFAULT 0;
  ALTER TABLE trial ADD COLUMN loop_low_quartile_s  REAL    NOT NULL DEFAULT 0;
  ALTER TABLE trial ADD COLUMN loop_high_quartile_s REAL    NOT NULL DEFAULT 0;
  ALTER TABLE trial ADD COLUMN loop_samples         INTEGER NOT NULL DEFAULT 0;)sql";

// Version 3 keeps what was fitted to trials: the coefficients of a cost model, by their names.
constexpr const char* add_coefficients = R"sql(
  CREATE TABLE coefficient (
    backend   TEXT NOT NULL,
    device    TEXT NOT NULL,
    name      TEXT NOT NULL,
    value     REAL NOT NULL,
    fitted_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (backend, device, name)
  ) STRICT, WITHOUT ROWID;)sql";

// Version 4 keeps what is true of a machine and takes long to measure.
constexpr const char* add_machine = R"sql(
  CREATE TABLE machine (
    host           TEXT NOT NULL,
    backend        TEXT NOT NULL,
    device         TEXT NOT NULL,
    copy_bandwidth REAL NOT NULL,  -- bytes a second, read and written
    measured_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (host, backend, device)
  ) STRICT, WITHOUT ROWID;)sql";

// Version 5 keeps which candidates cannot be captured into a graph. Before it, all that were tried could be.
constexpr const char* add_capturable = R"sql(
  ALTER TABLE trial ADD COLUMN capturable INTEGER NOT NULL DEFAULT 1;)sql";

// Version 6 keeps what a matrix was read from.
constexpr const char* add_source = R"sql(
  ALTER TABLE matrix ADD COLUMN source TEXT NOT NULL DEFAULT '';)sql";

// Version 7 keeps what predictions need of all matrices, made of trials and features, in one piece for each backend and
// type of values. It may be deleted at any time.
constexpr const char* add_points = R"sql(
  CREATE TABLE points (
    backend    TEXT    NOT NULL,
    value_type TEXT    NOT NULL,
    maker      TEXT    NOT NULL,  -- how they were made of features
    upto       INTEGER NOT NULL,  -- the last trial that is in it
    bytes      BLOB    NOT NULL,
    PRIMARY KEY (backend, value_type)
  ) STRICT;)sql";

// Version 8 keeps the features of a matrix and its trials that passed, likewise in one piece each.
constexpr const char* add_passed = R"sql(
  CREATE TABLE passed (
    matrix      TEXT    NOT NULL,
    environment INTEGER NOT NULL,
    upto        INTEGER NOT NULL,  -- the last trial when it was made
    described   BLOB    NOT NULL,
    trials      BLOB    NOT NULL,
    PRIMARY KEY (matrix, environment)
  ) STRICT;)sql";

bool is_at(const Connection& connection, std::int64_t version) {
  return connection.number("PRAGMA application_id") == application_id &&
         connection.number("PRAGMA user_version") == version;
}

// The version of a database that is ours or empty and not ahead of us; throws Error for all others.
std::int64_t checked_version(const Connection& connection, std::int64_t newest) {
  const auto version = connection.number("PRAGMA user_version");
  if (connection.number("PRAGMA application_id") != application_id) {
    const bool empty = version == 0 && connection.number("SELECT count(*) FROM sqlite_schema") == 0;
    if (!empty) throw InvalidArgument("it is a database of another program");
  }
  if (version < 0 || version > newest) {
    throw Error("its schema has version " + std::to_string(version) + " and this library knows versions up to " +
                std::to_string(newest) + " only");
  }
  return version;
}

void set_pragma(Connection& connection, const std::string& name, std::int64_t value) {
  connection.execute("PRAGMA " + name + " = " + std::to_string(value));
}

}  // namespace

std::span<const char* const> migrations() {
  static const std::array steps = {schema,         add_loop,   add_coefficients, add_machine,
                                   add_capturable, add_source, add_points,       add_passed};
  return steps;
}

bool is_up_to_date(const Connection& connection) {
  return is_at(connection, static_cast<std::int64_t>(migrations().size()));
}

void migrate(Connection& connection, std::span<const char* const> steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  if (is_at(connection, newest)) return;

  // Only under the lock do the header and the tables belong to one moment: another process may be migrating.
  Transaction transaction(connection);
  const auto version = checked_version(connection, newest);
  for (const auto* const step : steps.subspan(static_cast<std::size_t>(version))) connection.execute(step);
  set_pragma(connection, "application_id", application_id);
  set_pragma(connection, "user_version", newest);
  transaction.commit();
}

}  // namespace autospmv::db
