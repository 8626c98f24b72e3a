// What goes wrong with a file, before it is opened or later, and that it never costs a product.
#include <sys/resource.h>

#include <csignal>

#include "tests/db/opening.hpp"

namespace autospmv {
namespace {

namespace fs = std::filesystem;
using test::ChildProcess;
using test::contains;
using test::damaged_database;
using test::expect_works;
using test::give_up_root;
using test::key_of;
using test::Names;
using test::no_warnings;
using test::record_one;
using test::TemporaryDirectory;
using test::trial_of;
using test::Warnings;

void expect_set_aside(const TemporaryDirectory& directory, const std::string& name, const std::string& content) {
  Warnings warnings;
  {
    const auto database = Database::open(directory / "trials.db", warnings.sink());
    EXPECT_EQ(database->file(), directory / "trials.db");
    expect_works(*database);
  }
  ASSERT_EQ(warnings.count(), 1U);
  EXPECT_TRUE(contains(warnings.texts()[0], "renamed to " + name)) << warnings.texts()[0];
  EXPECT_TRUE(test::read_file(directory / name) == content);
  EXPECT_FALSE(Database::open(directory / "trials.db", no_warnings())->trials(key_of(77)).empty());
}

TEST(Damage, OfOursIsSetAside) {
  const TemporaryDirectory directory;
  for (int i = 1; i <= 3; ++i) {
    const auto content = damaged_database(std::to_string(i));
    test::write_file(directory / "trials.db", content);
    expect_set_aside(directory, "trials.db.corrupt-" + std::to_string(i), content);
  }
}

TEST(Damage, ATruncatedFileIsSetAside) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  record_one(*Database::open(file, no_warnings()), key_of(1), trial_of("csr", {}, 1e-3));
  fs::resize_file(file, 4096 + 100);
  expect_set_aside(directory, "trials.db.corrupt-1", test::read_file(file));
}

TEST(Damage, ABrokenSchemaIsSetAside) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  Database::open(file, no_warnings());
  auto content = test::read_file(file);
  const auto at = content.find("CREATE TABLE trial");
  ASSERT_NE(at, std::string::npos);
  content.replace(at, 12, "CREATE ABCDE");
  test::write_file(file, content);
  expect_set_aside(directory, "trials.db.corrupt-1", content);
}

TEST(Damage, TheLogGoesWithTheFile) {
  const TemporaryDirectory directory;
  test::write_file(directory / "trials.db", damaged_database());
  test::write_file(directory / "trials.db-wal", "rubbish too");
  expect_set_aside(directory, "trials.db.corrupt-1", damaged_database());
  EXPECT_TRUE(test::read_file(directory / "trials.db.corrupt-1-wal") == "rubbish too");
  EXPECT_EQ(directory.names(),
            (Names{"trials.db", "trials.db.corrupt-1", "trials.db.corrupt-1-wal", "trials.db.corrupt-1-shm"}));
}

TEST(Damage, FoundLaterIsSetAsideToo) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  {
    const auto database = Database::open(file, no_warnings());
    for (int i = 0; i < 1000; ++i) record_one(*database, key_of(1), trial_of("csr", {{"i", i}}, 1e-3));
  }
  // The header and the schema lie in the first pages; the trials fill those at the end.
  auto content = test::read_file(file);
  content.replace(content.size() / 2, content.size() / 2, content.size() / 2, '\xff');
  test::write_file(file, content);

  Warnings warnings;
  {
    const auto database = Database::open(file, warnings.sink());
    EXPECT_EQ(warnings.count(), 0U);
    EXPECT_TRUE(database->trials(key_of(1)).empty());
    expect_works(*database);
  }
  EXPECT_EQ(warnings.count(), 1U);
  EXPECT_TRUE(test::read_file(directory / "trials.db.corrupt-1") == content);
  EXPECT_FALSE(Database::open(file, no_warnings())->trials(key_of(77)).empty());
}

TEST(Damage, ThatCannotBeSetAsideMeansMemory) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  test::write_file(file, damaged_database());
  fs::permissions(directory.path(), fs::perms{0555});
  const auto try_it = [&] {
    give_up_root();
    Warnings warnings;
    const auto database = Database::open(file, warnings.sink());
    return database->file().empty() && warnings.count() == 1 ? 0 : 1;
  };
  EXPECT_EQ(ChildProcess(try_it).wait(), 0);
  fs::permissions(directory.path(), fs::perms::owner_all);
  EXPECT_EQ(directory.names(), Names{"trials.db"});
}

TEST(Damage, IsSetAsideOnceByManyProcesses) {
  constexpr int rounds = 10;
  constexpr int processes = 4;
  for (int round = 0; round < rounds; ++round) {
    const TemporaryDirectory directory;
    const auto file = directory / "trials.db";
    test::write_file(file, damaged_database());
    test::run_together(processes, [&](int process) {
      const auto database = Database::open(file, {});
      record_one(*database, key_of(1), trial_of("csr", {{"process", process}}, 1e-3));
      return database->file() == file ? 0 : 1;
    });
    // Processes that end at the same moment may leave their log; whoever comes next finishes it.
    EXPECT_EQ(Database::open(file, no_warnings())->trials(key_of(1)).size(), static_cast<std::size_t>(processes));
    EXPECT_FALSE(directory.names().contains("trials.db.corrupt-2"));
    EXPECT_TRUE(test::read_file(directory / "trials.db.corrupt-1") == damaged_database());
  }
}
// ---- After opening -------------------------------------------------------------------------------------------------

TEST(Failure, ARemovedFileMeansMemory) {
  const TemporaryDirectory directory;
  Warnings warnings;
  const auto database = Database::open(directory / "trials.db", warnings.sink());
  record_one(*database, key_of(1), trial_of("csr", {}, 1e-3));
  fs::remove(directory / "trials.db");
  expect_works(*database);
  expect_works(*database);
  EXPECT_FALSE(database->trials(key_of(1)).empty());  // known before
  ASSERT_EQ(warnings.count(), 1U);
  EXPECT_TRUE(contains(warnings.texts()[0], "memory")) << warnings.texts()[0];
  EXPECT_FALSE(fs::exists(directory / "trials.db"));
}

TEST(Failure, AFullDiskMeansMemory) {
  const TemporaryDirectory directory;
  const auto fill = [&] {
    Warnings warnings;
    const auto database = Database::open(directory / "trials.db", warnings.sink());
    record_one(*database, key_of(1), trial_of("csr", {}, 1e-3));
    // No file may grow beyond this, which every write past it notices as on a full disk.
    constexpr rlim_t bytes = 128 << 10;
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 2000; ++i) record_one(*database, key_of(2), trial_of("ell", {{"i", i}}, 1e-3));
    if (warnings.count() != 1) return 2;
    if (database->trials(key_of(1)).empty()) return 3;
    return database->trials(key_of(2)).size() == 2000 ? 0 : 4;
  };
  EXPECT_EQ(ChildProcess(fill).wait(), 0);
}

TEST(Failure, AMissingTableMeansMemory) {
  const TemporaryDirectory directory;
  Warnings warnings;
  const auto database = Database::open(directory / "trials.db", warnings.sink());
  test::change_file(directory / "trials.db", "PRAGMA foreign_keys = OFF; DROP TABLE trial");
  expect_works(*database);
  EXPECT_EQ(warnings.count(), 1U);
}

}  // namespace
}  // namespace autospmv
