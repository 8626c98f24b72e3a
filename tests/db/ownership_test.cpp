// Whose a file is that lies where a database should: what is not ours is left as it is.
#include <algorithm>

#include "tests/db/opening.hpp"

namespace autospmv {
namespace {

namespace fs = std::filesystem;
using test::expect_works;
using test::key_of;
using test::no_warnings;
using test::record_one;
using test::ScopedVariable;
using test::TemporaryDirectory;
using test::trial_of;
using test::Warnings;

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
  OwnPlace() { fs::create_directories(file_.parent_path()); }

  TemporaryDirectory directory_;
  ScopedVariable cache_{"XDG_CACHE_HOME", directory_.path().c_str()};
  ScopedVariable chosen_{"AUTOSPMV_DB", nullptr};
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
    (void)database->list();
  }
  EXPECT_FALSE(database->trials(key_of(2)).empty());
  EXPECT_FALSE(fs::exists(directory / "trials.db.corrupt-1"));
}

}  // namespace
}  // namespace autospmv
