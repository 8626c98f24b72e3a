#include "db/file/sqlite.hpp"

#include <limits>

#include "tests/db/support.hpp"

namespace autospmv::db {
namespace {

using namespace std::string_literals;

std::int64_t count_rows(const Connection& connection) {
  Statement statement(connection, "SELECT count(*) FROM t");
  std::int64_t count = -1;
  if (statement.step()) statement.read(count);
  return count;
}

TEST(Sqlite, ReturnsWhatWasBound) {
  auto connection = Connection::in_memory();
  connection.execute("CREATE TABLE t (i INTEGER, d REAL, s TEXT) STRICT");
  const std::string text = "with \0 in it and an e-acute \xc3\xa9"s;
  Statement insert(connection, "INSERT INTO t VALUES (?1, ?2, ?3)");
  insert.bind(std::numeric_limits<std::int64_t>::min(), 0.1, text).run();
  insert.bind(1, std::numeric_limits<double>::infinity(), std::string_view{}).run();

  Statement select(connection, "SELECT i, d, s FROM t ORDER BY i");
  std::int64_t integer = 0;
  double real = 0;
  std::string read_text;
  ASSERT_TRUE(select.step());
  select.read(integer, real, read_text);
  EXPECT_EQ(integer, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(real, 0.1);
  EXPECT_EQ(read_text, text);
  ASSERT_TRUE(select.step());
  select.read(integer, real, read_text);
  EXPECT_EQ(real, std::numeric_limits<double>::infinity());
  EXPECT_EQ(read_text, "");
  EXPECT_FALSE(select.step());
}

TEST(Sqlite, RollsBackUnlessCommitted) {
  auto connection = Connection::in_memory();
  connection.execute("CREATE TABLE t (i INTEGER)");
  {
    const Transaction transaction(connection);
    connection.execute("INSERT INTO t VALUES (1)");
  }
  EXPECT_EQ(count_rows(connection), 0);
  {
    Transaction transaction(connection);
    connection.execute("INSERT INTO t VALUES (1)");
    transaction.commit();
  }
  EXPECT_EQ(count_rows(connection), 1);
}

TEST(Sqlite, ChecksForeignKeys) {
  auto connection = Connection::in_memory();
  connection.execute("CREATE TABLE p (i INTEGER PRIMARY KEY); CREATE TABLE t (i INTEGER REFERENCES p (i))");
  EXPECT_THROW(connection.execute("INSERT INTO t VALUES (1)"), SqliteError);
}

TEST(Sqlite, SaysWhatIsWrongInOneLine) {
  const auto connection = Connection::in_memory();
  try {
    const Statement statement(connection, "SELECT 1 FROM nowhere");
    FAIL() << "no such table, and no error";
  } catch (const SqliteError& error) {
    EXPECT_STREQ(error.what(), "no such table: nowhere");
    EXPECT_FALSE(error.damaged());
  }
}

TEST(Sqlite, FiresNoTriggerWhileTheyAreOff) {
  auto connection = Connection::in_memory();
  connection.execute(
      "CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1), (2);"
      "CREATE TRIGGER keep BEFORE DELETE ON t BEGIN SELECT raise(ABORT, 'kept'); END");
  EXPECT_THROW(connection.execute("DELETE FROM t WHERE i = 1"), SqliteError);
  {
    const TriggersOff off(connection);
    connection.execute("DELETE FROM t WHERE i = 1");
    EXPECT_EQ(connection.changes(), 1);
  }
  EXPECT_THROW(connection.execute("DELETE FROM t"), SqliteError);
  EXPECT_EQ(count_rows(connection), 1);
}

TEST(Sqlite, PreparesAStatementOnce) {
  auto connection = Connection::in_memory();
  connection.execute("CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1), (2)");
  const std::string sql = "SELECT i FROM t WHERE i >= ?1 ORDER BY i";
  std::int64_t number = 0;
  {
    Statement first(connection, sql);
    ASSERT_TRUE(first.bind(1).step());
    // Two of the same text at once do not share a row.
    Statement second(connection, sql);
    ASSERT_TRUE(second.bind(2).step());
    second.read(number);
    EXPECT_EQ(number, 2);
    first.read(number);
    EXPECT_EQ(number, 1);
    EXPECT_TRUE(connection.idle().empty());
  }
  EXPECT_EQ(connection.idle().size(), 1U);
  Statement again(connection, std::string(sql));
  EXPECT_TRUE(connection.idle().empty());
  EXPECT_FALSE(again.step()) << "the value of the last time is gone";
}

TEST(Sqlite, AnUnfinishedQueryLeavesNoLock) {
  const test::TemporaryDirectory directory;
  Connection connection(directory / "a.db", Access::write);
  connection.execute("CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1), (2)");
  {
    Statement query(connection, "SELECT i FROM t");
    ASSERT_TRUE(query.step());
  }
  Connection other(directory / "a.db", Access::write);
  other.execute("PRAGMA busy_timeout = 1; DELETE FROM t");
  EXPECT_EQ(count_rows(connection), 0);
}

TEST(Sqlite, AStatementFollowsChangesOfTheSchema) {
  const test::TemporaryDirectory directory;
  Connection connection(directory / "a.db", Access::write);
  connection.execute("CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1)");
  EXPECT_EQ(count_rows(connection), 1);
  test::change_file(directory / "a.db", "DROP TABLE t; CREATE TABLE t (s TEXT, i INTEGER)");
  EXPECT_EQ(count_rows(connection), 0);
  test::change_file(directory / "a.db", "DROP TABLE t");
  EXPECT_THROW(count_rows(connection), SqliteError);
}

TEST(Sqlite, AConnectionMovesWithItsStatements) {
  auto connection = Connection::in_memory();
  connection.execute("CREATE TABLE t (i INTEGER)");
  EXPECT_EQ(count_rows(connection), 0);
  auto moved = std::move(connection);
  EXPECT_EQ(count_rows(moved), 0);
  moved = Connection::in_memory();
  EXPECT_THROW(count_rows(moved), SqliteError) << "the statements of another database";
}

TEST(Sqlite, ReadsAFileThatMustNotBeTouched) {
  const test::TemporaryDirectory directory;
  const auto file = directory / "100%? #1.db";
  test::change_file(file, "PRAGMA journal_mode = wal; CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1)");
  const Connection connection(file, Access::immutable);
  EXPECT_EQ(count_rows(connection), 1);
  EXPECT_EQ(directory.names(), std::set<std::string>{"100%? #1.db"});
}

TEST(Sqlite, CopiesAFileWithItsLogToMemory) {
  const test::TemporaryDirectory directory;
  Connection source(directory / "a.db", Access::write);
  source.execute("PRAGMA journal_mode = wal; CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1), (2)");
  auto copy = Connection::in_memory();
  copy.copy_from(source);
  copy.execute("INSERT INTO t VALUES (3)");
  EXPECT_EQ(count_rows(copy), 3);
  EXPECT_EQ(count_rows(source), 2);
}

TEST(Sqlite, NoticesThatAFileLostItsName) {
  const test::TemporaryDirectory directory;
  Connection connection(directory / "a.db", Access::write);
  connection.execute("CREATE TABLE t (i INTEGER)");
  EXPECT_FALSE(connection.moved());
  std::filesystem::rename(directory / "a.db", directory / "b.db");
  EXPECT_TRUE(connection.moved());
}

}  // namespace
}  // namespace autospmv::db
