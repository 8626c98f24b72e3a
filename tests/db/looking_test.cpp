// What a look at a database sees, and that it changes nothing.
#include <csignal>

#include "tests/db/opening.hpp"

namespace autospmv {
namespace {

namespace fs = std::filesystem;
using test::ChildProcess;
using test::damaged_database;
using test::expect_works;
using test::key_of;
using test::Names;
using test::no_warnings;
using test::record_one;
using test::TemporaryDirectory;
using test::trial_of;

TEST(Looking, BeginsNothing) {
  const TemporaryDirectory directory;
  for (const auto* name : {"trials.db", "a/b/trials.db"}) {
    const auto database = Database::look(directory / name);
    EXPECT_TRUE(database->list().empty());
    EXPECT_TRUE(database->file().empty());
    expect_works(*database);
  }
  EXPECT_EQ(directory.names(), Names{});
  test::write_file(directory / "empty.db", "");
  EXPECT_TRUE(Database::look(directory / "empty.db")->list().empty());
  EXPECT_EQ(fs::file_size(directory / "empty.db"), 0U);
}

TEST(Looking, LeavesEverythingAsItWas) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  record_one(*Database::open(file, no_warnings()), key_of(1), trial_of("csr", {}, 1e-3));
  const auto content = test::read_file(file);
  const auto changed_at = fs::last_write_time(directory.path());
  const auto database = Database::look(file);
  EXPECT_FALSE(database->trials(key_of(1)).empty());
  expect_works(*database);
  EXPECT_EQ(fs::last_write_time(directory.path()), changed_at) << "no file was made beside it, not even for a moment";
  EXPECT_TRUE(test::read_file(file) == content);
}

TEST(Looking, SeesWhatIsStillInTheLog) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  const auto leave_a_log = [&] {
    record_one(*Database::open(file, {}), key_of(1), trial_of("csr", {}, 1e-3));
    const auto database = Database::open(file, {});
    record_one(*database, key_of(2), trial_of("csr", {}, 1e-3));
    kill(getpid(), SIGKILL);
    return 0;
  };
  ChildProcess(leave_a_log).wait();
  const auto log = test::read_file(file.string() + "-wal");
  ASSERT_FALSE(log.empty());
  const auto content = test::read_file(file);
  EXPECT_FALSE(Database::look(file)->trials(key_of(2)).empty());
  EXPECT_TRUE(test::read_file(file) == content);
  EXPECT_TRUE(test::read_file(file.string() + "-wal") == log);
}

TEST(Looking, ReadsAnOlderSchemaAndLeavesItOld) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  Database::open(file, no_warnings());
  test::change_file(
      file,
      "DROP TABLE machine; DROP TABLE coefficient; ALTER TABLE trial DROP COLUMN capturable; "
      "ALTER TABLE matrix DROP COLUMN source; DROP TABLE points; DROP TABLE passed; PRAGMA user_version = 2");
  const auto content = test::read_file(file);
  EXPECT_TRUE(Database::look(file)->coefficients("host", "a cpu").empty());
  EXPECT_TRUE(test::read_file(file) == content);
}

TEST(Looking, DamageIsAnErrorAndStays) {
  const TemporaryDirectory directory;
  const auto content = damaged_database();
  test::write_file(directory / "trials.db", content);
  EXPECT_THROW(Database::look(directory / "trials.db"), Error);
  EXPECT_EQ(directory.names(), Names{"trials.db"});
  EXPECT_TRUE(test::read_file(directory / "trials.db") == content);
}

TEST(Memory, HasANameToo) {
  for (const auto& database : {Database::open(":memory:", no_warnings()), Database::look(":memory:")}) {
    EXPECT_TRUE(database->file().empty());
    expect_works(*database);
  }
  EXPECT_FALSE(fs::exists(":memory:"));
}

}  // namespace
}  // namespace autospmv
