#include "db/file/migration.hpp"

#include <array>

#include "tests/db/support.hpp"

namespace autospmv::db {
namespace {

constexpr const char* first = "CREATE TABLE a (i INTEGER); INSERT INTO a VALUES (7)";
constexpr const char* second = "ALTER TABLE a ADD COLUMN j INTEGER NOT NULL DEFAULT 8";
constexpr const char* third = "UPDATE a SET j = j + 1";

std::int64_t number_from(const Connection& connection, const std::string& sql) {
  Statement statement(connection, sql);
  std::int64_t number = -1;
  if (statement.step()) statement.read(number);
  return number;
}

std::string error_of(Connection& connection, std::span<const char* const> steps) {
  try {
    migrate(connection, steps);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Migration, RunsTheStepsThatAreMissing) {
  auto connection = Connection::in_memory();
  migrate(connection, std::array{first});
  EXPECT_EQ(number_from(connection, "PRAGMA user_version"), 1);
  migrate(connection, std::array{first, second, third});
  EXPECT_EQ(number_from(connection, "PRAGMA user_version"), 3);
  EXPECT_EQ(number_from(connection, "SELECT i FROM a"), 7);
  EXPECT_EQ(number_from(connection, "SELECT j FROM a"), 9);
  migrate(connection, std::array{first, second, third});
  EXPECT_EQ(number_from(connection, "SELECT j FROM a"), 9);
}

TEST(Migration, IsAllOrNothing) {
  auto connection = Connection::in_memory();
  migrate(connection, std::array{first});
  EXPECT_THROW(migrate(connection, std::array{first, second, "this is not SQL"}), SqliteError);
  EXPECT_EQ(number_from(connection, "PRAGMA user_version"), 1);
  EXPECT_THROW(number_from(connection, "SELECT j FROM a"), SqliteError);
}

TEST(Migration, RefusesANewerVersion) {
  auto connection = Connection::in_memory();
  migrate(connection, std::array{first, second});
  EXPECT_EQ(error_of(connection, std::array{first}),
            "its schema has version 2 and this library knows versions up to 1 only");
}

TEST(Migration, RefusesTheDatabaseOfAnotherProgram) {
  auto connection = Connection::in_memory();
  connection.execute("CREATE TABLE bookmarks (url TEXT)");
  EXPECT_EQ(error_of(connection, std::array{first}), "it is a database of another program");
  auto versioned = Connection::in_memory();
  versioned.execute("PRAGMA user_version = 1");
  EXPECT_EQ(error_of(versioned, std::array{first}), "it is a database of another program");
}

TEST(Migration, EndsWithTheVersionOfThisLibrary) {
  auto connection = Connection::in_memory();
  migrate(connection, migrations());
  EXPECT_EQ(number_from(connection, "PRAGMA user_version"), static_cast<std::int64_t>(migrations().size()));
  EXPECT_EQ(number_from(connection,
                        "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND NOT strict "
                        "AND name NOT LIKE 'sqlite_%'"),
            0);
}

TEST(Migration, TrialsFromBeforeTheLoopWereNotTimedInOne) {
  const test::TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  {
    Connection connection(file, Access::write);
    migrate(connection, migrations().first(1));
    connection.execute(
        "INSERT INTO matrix (fingerprint, rows, cols, nnz, label) VALUES ('" + test::key_of(1).pattern.text() +
        "', 10, 20, 30, 'old');"
        "INSERT INTO environment VALUES (1, 'double', 'n', 'host', 'a cpu', 'gcc 12', 'none', '0.1.0');"
        "INSERT INTO trial VALUES (NULL, '" +
        test::key_of(1).pattern.text() +
        "', 1, 'csr', 1, '', 1, 'passed', '', 1e-3, 9e-4, 2e-3, 20, 3e-3, 3e-3, 3e-3, 3, 0, 0, 1000, 0.5, 'then')");
  }
  const auto database = Database::open(file, test::no_warnings());
  const auto old = database->trials(test::key_of(1));
  ASSERT_EQ(old.size(), 1U);
  EXPECT_EQ(old[0].measurement.warm.median, 1e-3);
  EXPECT_EQ(old[0].measurement.loop.samples, 0);
  EXPECT_TRUE(old[0].capturable);
  auto trial = test::trial_of("csr", {}, 1e-3);
  trial.measurement.loop = {4e-3, 4e-3, 5e-3, 3};
  test::record_one(*database, test::key_of(1), trial);
  EXPECT_EQ(database->trials(test::key_of(1)).back().measurement.loop.median, 4e-3);
  EXPECT_EQ(test::number_from(file, "SELECT count(*) FROM trial WHERE loop_samples = 0"), 1);
}

}  // namespace
}  // namespace autospmv::db
