#include "db/migration.hpp"

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

}  // namespace
}  // namespace autospmv::db
