// What is found under a path, what goes wrong there later, and that neither ever costs a product.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "db/migration.hpp"
#include "tests/db/support.hpp"

namespace autospmv {
namespace {

namespace fs = std::filesystem;
using test::ChildProcess;
using test::key_of;
using test::no_warnings;
using test::record_one;
using test::TemporaryDirectory;
using test::trial_of;
using test::Warnings;
using Names = std::set<std::string>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string error_of_opening(const fs::path& file) {
  try {
    Database::open(file, no_warnings());
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Takes what it is given and gives it back, wherever it keeps it.
void expect_works(Database& database) {
  record_one(database, key_of(77), trial_of("csr", {}, 1e-3));
  EXPECT_TRUE(database.winner(key_of(77), {}));
  database.note_suspect(key_of(77), {"csr", {}});
  EXPECT_TRUE(database.suspects(key_of(77)).empty());
  database.clear_suspect(key_of(77), {"csr", {}});
  database.mark_tuned(key_of(77), "measure", "csr:1");
  EXPECT_TRUE(database.tuned(key_of(77), "measure", "csr:1"));
  EXPECT_FALSE(database.list({}).empty());
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
  EXPECT_TRUE(again->winner(key_of(77), {}));
  EXPECT_TRUE(again->tuned(key_of(77), "measure", "csr:1"));
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
  EXPECT_TRUE(other->winner(key_of(1), {}));
}

// ---- The default place ---------------------------------------------------------------------------------------------

class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~ScopedVariable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

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

// ---- Places that cannot be written
// -----------------------------------------------------------------------------------

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

// Permissions do not bind root: a process that may become somebody else does.
void give_up_root() {
  constexpr uid_t nobody = 65534;
  if (geteuid() != 0) return;
  if (setgid(nobody) != 0 || setuid(nobody) != 0) throw std::runtime_error("cannot become nobody");
}

// The exit code is 0 where the file gave a hit, took a new record into memory and warned once.
int read_without_permission(const fs::path& file) {
  give_up_root();
  Warnings warnings;
  const auto database = Database::open(file, warnings.sink());
  if (!database->winner(key_of(1), {})) return 1;
  record_one(*database, key_of(2), trial_of("csr", {}, 1e-3));
  if (!database->winner(key_of(2), {})) return 2;
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
    return database->winner(key_of(2), {}) && !database->winner(key_of(1), {}) && warnings.count() == 1 ? 0 : 1;
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

// A database of ours, of which nothing but the header is left.
std::string damaged_database(const std::string& rest = "rubbish") {
  const TemporaryDirectory directory;
  Database::open(directory / "trials.db", no_warnings());
  constexpr std::size_t header = 100;
  return test::read_file(directory / "trials.db").substr(0, header) + std::string(4096 - header, '\xff') + rest;
}

// Exactly as it was: its bytes, its neighbours, the moment of its last change.
void expect_left_alone(const TemporaryDirectory& directory, const std::string& name, const std::string& reason) {
  SCOPED_TRACE(name);
  const auto file = directory / name;
  const auto names = directory.names();
  const auto content = test::read_file(file);
  const auto changed_at = fs::last_write_time(file);
  const auto expected = "cannot use database " + file.string() + ": " + reason;
  for (int i = 0; i < 2; ++i) {
    try {
      i == 0 ? Database::open(file, no_warnings()) : Database::look(file);
      ADD_FAILURE() << "it was used";
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.what(), expected);
    }
  }
  EXPECT_TRUE(test::read_file(file) == content);
  EXPECT_EQ(fs::last_write_time(file), changed_at);
  EXPECT_EQ(directory.names(), names);
}

TEST(Others, AreLeftAlone) {
  const TemporaryDirectory directory;
  test::write_file(directory / "matrix.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
  test::write_file(directory / "byte", "x");
  test::write_file(directory / "long", std::string(100'000, 'S'));
  for (const auto* name : {"matrix.mtx", "byte", "long"}) expect_left_alone(directory, name, "it is no database");

  const std::string another = "it is a database of another program";
  test::change_file(directory / "places.sqlite", "CREATE TABLE bookmarks (url TEXT)");
  expect_left_alone(directory, "places.sqlite", another);
  test::change_file(directory / "wal.sqlite", "PRAGMA journal_mode = wal; CREATE TABLE bookmarks (url TEXT)");
  expect_left_alone(directory, "wal.sqlite", another);
  auto broken = test::read_file(directory / "places.sqlite");
  std::fill(broken.begin() + 100, broken.end(), '\xff');
  test::write_file(directory / "broken.sqlite", broken);
  expect_left_alone(directory, "broken.sqlite", another);
}

// Where a user's own database lies by default.
class OwnPlace : public testing::Test {
 protected:
  OwnPlace() {
    setenv("XDG_CACHE_HOME", directory_.path().c_str(), 1);
    unsetenv("AUTOSPMV_DB");
    fs::create_directories(file_.parent_path());
  }
  ~OwnPlace() override {
    unsetenv("XDG_CACHE_HOME");
    if (before_) setenv("XDG_CACHE_HOME", before_->c_str(), 1);
    if (chosen_) setenv("AUTOSPMV_DB", chosen_->c_str(), 1);
  }

  static std::optional<std::string> variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }

  const std::optional<std::string> before_ = variable("XDG_CACHE_HOME");
  const std::optional<std::string> chosen_ = variable("AUTOSPMV_DB");
  TemporaryDirectory directory_;
  fs::path file_ = directory_ / "autospmv/trials.db";
};

TEST_F(OwnPlace, ADamagedDatabaseIsOurs) {
  ASSERT_EQ(Database::default_path(), file_);
  const auto content = std::string("SQLite format 3\0", 16) + std::string(5000, '\xff');
  test::write_file(file_, content);
  Warnings warnings;
  expect_works(*Database::open(file_, warnings.sink()));
  EXPECT_EQ(warnings.count(), 1U);
  EXPECT_TRUE(test::read_file(file_.string() + ".corrupt-1") == content);
}

TEST_F(OwnPlace, ATextIsNot) {
  test::write_file(file_, "my notes");
  EXPECT_THROW(Database::open(file_, no_warnings()), InvalidArgument);
  EXPECT_EQ(test::read_file(file_), "my notes");
}

TEST(Others, ThatTakeThePlaceOfOursAreNotMoved) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  Warnings warnings;
  const auto database = Database::open(file, warnings.sink());
  for (int i = 0; i < 100; ++i) record_one(*database, key_of(1), trial_of("csr", {{"i", i}}, 1e-3));
  const std::string text(50'000, 'x');
  for (const auto* log : {"-wal", "-shm"}) fs::remove(file.string() + log);
  test::write_file(file, text);
  for (int i = 0; i < 3; ++i) {
    record_one(*database, key_of(2), trial_of("csr", {}, 1e-3));
    (void)database->list({});
  }
  EXPECT_TRUE(database->winner(key_of(2), {}));
  EXPECT_FALSE(fs::exists(directory / "trials.db.corrupt-1"));
}

// ---- Looking -------------------------------------------------------------------------------------------------------

TEST(Looking, BeginsNothing) {
  const TemporaryDirectory directory;
  for (const auto* name : {"trials.db", "a/b/trials.db"}) {
    const auto database = Database::look(directory / name);
    EXPECT_TRUE(database->list({}).empty());
    EXPECT_TRUE(database->file().empty());
    expect_works(*database);
  }
  EXPECT_EQ(directory.names(), Names{});
  test::write_file(directory / "empty.db", "");
  EXPECT_TRUE(Database::look(directory / "empty.db")->list({}).empty());
  EXPECT_EQ(fs::file_size(directory / "empty.db"), 0U);
}

TEST(Looking, LeavesEverythingAsItWas) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  record_one(*Database::open(file, no_warnings()), key_of(1), trial_of("csr", {}, 1e-3));
  const auto content = test::read_file(file);
  const auto changed_at = fs::last_write_time(directory.path());
  const auto database = Database::look(file);
  EXPECT_TRUE(database->winner(key_of(1), {}));
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
  EXPECT_TRUE(Database::look(file)->winner(key_of(2), {}));
  EXPECT_TRUE(test::read_file(file) == content);
  EXPECT_TRUE(test::read_file(file.string() + "-wal") == log);
}

TEST(Looking, ReadsAnOlderSchemaAndLeavesItOld) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  Database::open(file, no_warnings());
  test::change_file(file, "DROP TABLE machine; DROP TABLE coefficient; PRAGMA user_version = 2");
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

// ---- Damage --------------------------------------------------------------------------------------------------------

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
  EXPECT_TRUE(Database::open(directory / "trials.db", no_warnings())->winner(key_of(77), {}));
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
    EXPECT_FALSE(database->winner(key_of(1), {}));
    expect_works(*database);
  }
  EXPECT_EQ(warnings.count(), 1U);
  EXPECT_TRUE(test::read_file(directory / "trials.db.corrupt-1") == content);
  EXPECT_TRUE(Database::open(file, no_warnings())->winner(key_of(77), {}));
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
    EXPECT_EQ(Database::open(file, no_warnings())->trials(key_of(1), {}).size(), static_cast<std::size_t>(processes));
    EXPECT_FALSE(directory.names().contains("trials.db.corrupt-2"));
    EXPECT_TRUE(test::read_file(directory / "trials.db.corrupt-1") == damaged_database());
  }
}

// ---- Failure after opening
// -------------------------------------------------------------------------------------------

TEST(Failure, ARemovedFileMeansMemory) {
  const TemporaryDirectory directory;
  Warnings warnings;
  const auto database = Database::open(directory / "trials.db", warnings.sink());
  record_one(*database, key_of(1), trial_of("csr", {}, 1e-3));
  fs::remove(directory / "trials.db");
  expect_works(*database);
  expect_works(*database);
  EXPECT_TRUE(database->winner(key_of(1), {}));  // known before
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
    if (!database->winner(key_of(1), {})) return 3;
    return database->trials(key_of(2), {}).size() == 2000 ? 0 : 4;
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
