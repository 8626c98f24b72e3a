// What is found under a path that cannot be written or read, or can, and that it never costs a product.
#include <sys/stat.h>

#include <cstdlib>

#include "db/file/migration.hpp"
#include "tests/db/opening.hpp"

namespace autospmv {
namespace {

namespace fs = std::filesystem;
using test::ChildProcess;
using test::contains;
using test::expect_works;
using test::give_up_root;
using test::key_of;
using test::Names;
using test::no_warnings;
using test::record_one;
using test::ScopedVariable;
using test::TemporaryDirectory;
using test::trial_of;
using test::Warnings;

std::string error_of_opening(const fs::path& file) {
  try {
    Database::open(file, no_warnings());
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_memory_only(const fs::path& file) {
  SCOPED_TRACE(file);
  Warnings warnings;
  const auto database = Database::open(file, warnings.sink());
  EXPECT_TRUE(database->file().empty());
  expect_works(*database);
  ASSERT_EQ(warnings.count(), 1U);
  EXPECT_TRUE(contains(warnings.texts()[0], "memory only")) << warnings.texts()[0];
  EXPECT_FALSE(contains(warnings.texts()[0], "\n"));
}

// ---- A good place --------------------------------------------------------------------------------------------------

TEST(Opening, BeginsAFileAndItsDirectories) {
  const TemporaryDirectory directory;
  const auto file = directory / "a/b/trials.db";
  {
    const auto database = Database::open(file, no_warnings());
    EXPECT_EQ(database->file(), file);
    expect_works(*database);
  }
  const auto again = Database::open(file, no_warnings());
  EXPECT_FALSE(again->trials(key_of(77)).empty());
  EXPECT_EQ(again->tunings(key_of(77), "csr:1"), std::vector<std::string>{"measure"});
}

TEST(Opening, LeavesNothingBesideTheFile) {
  const TemporaryDirectory directory;
  expect_works(*Database::open(directory / "trials.db", no_warnings()));
  EXPECT_EQ(directory.names(), Names{"trials.db"});
}

TEST(Opening, WritesAheadOnALocalFileSystem) {
  const TemporaryDirectory directory;
  const auto database = Database::open(directory / "trials.db", no_warnings());
  const db::Connection connection(directory / "trials.db", db::Access::read);
  db::Statement statement(connection, "PRAGMA journal_mode");
  std::string mode;
  ASSERT_TRUE(statement.step());
  statement.read(mode);
  EXPECT_EQ(mode, "wal");
}

TEST(Opening, AnEmptyFileIsBegun) {
  const TemporaryDirectory directory;
  test::write_file(directory / "trials.db", "");
  expect_works(*Database::open(directory / "trials.db", no_warnings()));
  EXPECT_EQ(directory.names(), Names{"trials.db"});
}

TEST(Opening, FollowsLinks) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "real");
  fs::create_symlink(directory / "real", directory / "link");
  const auto database = Database::open(directory / "link/trials.db", no_warnings());
  EXPECT_EQ(database->file(), directory / "real/trials.db");
}

TEST(Opening, OneFileServesManyConnections) {
  const TemporaryDirectory directory;
  const auto one = Database::open(directory / "trials.db", no_warnings());
  const auto other = Database::open(directory / "trials.db", no_warnings());
  record_one(*one, key_of(1), trial_of("csr", {}, 1e-3));
  EXPECT_FALSE(other->trials(key_of(1)).empty());
}

// ---- The default place ---------------------------------------------------------------------------------------------
fs::path default_path_with(const char* own, const char* cache, const char* home) {
  const ScopedVariable set_own("AUTOSPMV_DB", own);
  const ScopedVariable set_cache("XDG_CACHE_HOME", cache);
  const ScopedVariable set_home("HOME", home);
  return Database::default_path();
}

TEST(DefaultPath, IsTheFirstThatIsSet) {
  EXPECT_EQ(default_path_with("some/file.db", "/cache", "/home/me"), "some/file.db");
  EXPECT_EQ(default_path_with(nullptr, "/cache", "/home/me"), "/cache/autospmv/trials.db");
  EXPECT_EQ(default_path_with("", "", "/home/me"), "/home/me/.cache/autospmv/trials.db");
  EXPECT_EQ(default_path_with(nullptr, "relative", "/home/me"), "/home/me/.cache/autospmv/trials.db");
}

TEST(DefaultPath, IsNowhereWithoutAHome) {
  EXPECT_TRUE(default_path_with(nullptr, nullptr, nullptr).empty());
  EXPECT_TRUE(default_path_with("", "", "").empty());
  expect_memory_only({});
}

// ---- Places that cannot be written ---------------------------------------------------------------------------------

TEST(Opening, NoDirectoryAndNoFileMeansMemory) {
  const TemporaryDirectory directory;
  test::write_file(directory / "file.txt", "text");
  expect_memory_only(directory / "file.txt/trials.db");
  expect_memory_only(directory / "file.txt/deeper/trials.db");
  EXPECT_EQ(test::read_file(directory / "file.txt"), "text");
  expect_memory_only("/proc/trials.db");
  expect_memory_only("/proc/none/trials.db");
}

TEST(Opening, WhatIsNoRegularFileMeansMemory) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "trials.db");
  expect_memory_only(directory / "trials.db");
  ASSERT_EQ(mkfifo((directory / "fifo").c_str(), 0600), 0);
  expect_memory_only(directory / "fifo");
  expect_memory_only("/dev/full");
  EXPECT_EQ(directory.names(), (Names{"trials.db", "fifo"}));
}

// The exit code is 0 where the file gave a hit, took a new record into memory and warned once.
int read_without_permission(const fs::path& file) {
  give_up_root();
  Warnings warnings;
  const auto database = Database::open(file, warnings.sink());
  if (database->trials(key_of(1)).empty()) return 1;
  record_one(*database, key_of(2), trial_of("csr", {}, 1e-3));
  if (database->trials(key_of(2)).empty()) return 2;
  if (warnings.count() != 1) return 3;
  return contains(warnings.texts()[0], "memory") ? 0 : 4;
}

struct Modes {
  std::string name;
  int directory;
  int file;
};

class WithoutPermission : public testing::TestWithParam<Modes> {};

TEST_P(WithoutPermission, TrialsAreReadAndNewOnesKeptInMemory) {
  const TemporaryDirectory directory;
  const auto place = directory / "place";
  const auto file = place / "trials.db";
  record_one(*Database::open(file, no_warnings()), key_of(1), trial_of("csr", {}, 1e-3));
  const auto before = test::read_file(file);
  fs::permissions(directory.path(), fs::perms{0755});
  fs::permissions(file, static_cast<fs::perms>(GetParam().file));
  fs::permissions(place, static_cast<fs::perms>(GetParam().directory));
  EXPECT_EQ(ChildProcess([&] { return read_without_permission(file); }).wait(), 0);
  fs::permissions(place, fs::perms::owner_all);
  EXPECT_TRUE(test::read_file(file) == before);
}

INSTANTIATE_TEST_SUITE_P(Opening, WithoutPermission,
                         testing::Values(Modes{"NeitherFileNorDirectory", 0555, 0444}, Modes{"NotTheFile", 0777, 0444},
                                         Modes{"NotTheDirectory", 0555, 0666}),
                         [](const auto& modes) { return modes.param.name; });

TEST(Opening, WhatCannotBeReadMeansMemory) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  record_one(*Database::open(file, no_warnings()), key_of(1), trial_of("csr", {}, 1e-3));
  fs::permissions(directory.path(), fs::perms{0755});
  fs::permissions(file, fs::perms::none);
  const auto try_it = [&] {
    give_up_root();
    Warnings warnings;
    const auto database = Database::open(file, warnings.sink());
    record_one(*database, key_of(2), trial_of("csr", {}, 1e-3));
    return !database->trials(key_of(2)).empty() && database->trials(key_of(1)).empty() && warnings.count() == 1 ? 0 : 1;
  };
  EXPECT_EQ(ChildProcess(try_it).wait(), 0);
}

// ---- Versions ------------------------------------------------------------------------------------------------------

TEST(Opening, RefusesANewerVersion) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  Database::open(file, no_warnings());
  test::change_file(file, "PRAGMA user_version = 99");
  EXPECT_EQ(error_of_opening(file), "cannot use database " + file.string() +
                                        ": its schema has version 99 and this library knows versions up to " +
                                        std::to_string(db::migrations().size()) + " only");
  EXPECT_EQ(directory.names(), Names{"trials.db"});
}

TEST(Opening, RefusesTheDatabaseOfAnotherProgram) {
  const TemporaryDirectory directory;
  const auto file = directory / "places.sqlite";
  test::change_file(file, "CREATE TABLE bookmarks (url TEXT)");
  const auto before = test::read_file(file);
  EXPECT_EQ(error_of_opening(file), "cannot use database " + file.string() + ": it is a database of another program");
  EXPECT_TRUE(test::read_file(file) == before);
}

}  // namespace
}  // namespace autospmv
