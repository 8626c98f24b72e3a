// What is forgotten is gone, and nothing else is.
#include "tests/db/support.hpp"

namespace autospmv {
namespace {

using test::key_of;
using test::no_warnings;
using test::number_from;
using test::on_device;
using test::TemporaryDirectory;
using test::trial_of;

MatrixRecord labelled(const std::string& label) {
  auto record = test::matrix_record();
  record.label = label;
  return record;
}

// Two trials, a finished tuning and a suspect of each of the matrices 1 "a", 2 "b" and 3 "b", on "cpu" and on "gpu".
class Forget : public testing::Test {
 protected:
  Forget() {
    for (const auto* device : {"cpu", "gpu"}) {
      add(1, "a", device);
      add(2, "b", device);
      add(3, "b", device);
    }
  }

  void add(std::uint64_t pattern, const std::string& label, const std::string& device) {
    const auto key = on_device(pattern, device);
    database_->record(key, labelled(label), std::vector{trial_of("csr", {}, 1e-3), trial_of("ell", {}, 2e-3)});
    database_->mark_tuned(key, "measure", "csr:1 ell:1");
    database_->note_suspect(key, {"csr", {}});
  }

  [[nodiscard]] bool knows(std::uint64_t pattern, const std::string& device) {
    const auto key = on_device(pattern, device);
    const bool trials = !database_->trials(key).empty();
    EXPECT_EQ(!database_->tunings(key, "csr:1 ell:1").empty(), trials) << "a tuning without trials would stay empty";
    return trials;
  }

  [[nodiscard]] std::int64_t count(const std::string& table) const {
    return number_from(file_, "SELECT count(*) FROM " + table);
  }

  TemporaryDirectory directory_;
  std::filesystem::path file_ = directory_ / "trials.db";
  std::shared_ptr<Database> database_ = Database::open(file_, no_warnings());
};

TEST_F(Forget, AMatrixByItsFingerprint) {
  EXPECT_EQ(database_->forget({.pattern = key_of(2).pattern}), (Forgotten{1, 4, 2, 2}));
  EXPECT_FALSE(knows(2, "cpu"));
  EXPECT_FALSE(knows(2, "gpu"));
  for (const auto pattern : {1, 3}) EXPECT_TRUE(knows(pattern, "cpu") && knows(pattern, "gpu")) << pattern;
  EXPECT_EQ(count("feature"), 4);
  EXPECT_EQ(database_->forget({.pattern = key_of(2).pattern}), Forgotten{});
}

TEST_F(Forget, EveryMatrixOfALabel) {
  EXPECT_EQ(database_->forget({.label = "b"}), (Forgotten{2, 8, 4, 4}));
  EXPECT_TRUE(knows(1, "cpu") && knows(1, "gpu"));
  EXPECT_FALSE(knows(2, "cpu") || knows(3, "gpu"));
  EXPECT_EQ(database_->forget({.label = "c"}), Forgotten{});
}

TEST_F(Forget, ADevice) {
  EXPECT_EQ(database_->forget({.device = "gpu"}), (Forgotten{0, 6, 3, 3}));
  for (const auto pattern : {1, 2, 3}) EXPECT_TRUE(knows(pattern, "cpu") && !knows(pattern, "gpu")) << pattern;
  EXPECT_EQ(count("environment"), 1);
  EXPECT_EQ(count("matrix"), 3);
}

TEST_F(Forget, AMatrixOnADevice) {
  EXPECT_EQ(database_->forget({.label = "a", .device = "gpu"}), (Forgotten{0, 2, 1, 1}));
  EXPECT_TRUE(knows(1, "cpu") && !knows(1, "gpu") && knows(2, "gpu"));
  EXPECT_EQ(database_->forget({.label = "a", .device = "cpu"}), (Forgotten{1, 2, 1, 1}));
}

TEST_F(Forget, SuspectsAlone) {
  database_->clear_suspect(on_device(3, "gpu"), {"csr", {}});
  EXPECT_EQ(database_->forget({.label = "a", .only_suspects = true}), (Forgotten{0, 0, 2, 2}));
  EXPECT_EQ(database_->forget({.only_suspects = true}), (Forgotten{0, 0, 3, 3}));
  EXPECT_EQ(count("trial"), 12);
  // What was tuned without a suspect is no longer complete; the rest is.
  for (const auto pattern : {1, 2}) EXPECT_TRUE(database_->tunings(on_device(pattern, "gpu"), "csr:1 ell:1").empty());
  EXPECT_TRUE(knows(3, "gpu"));
}

TEST_F(Forget, ASuspectOfAMatrixWithoutTrials) {
  database_->note_suspect(on_device(4, "cpu"), {"csr", {}});
  EXPECT_EQ(database_->forget({.pattern = key_of(4).pattern, .only_suspects = true}), (Forgotten{0, 0, 0, 1}));
}

TEST_F(Forget, EverythingAndThenGoesOn) {
  EXPECT_EQ(database_->forget({}), (Forgotten{3, 12, 6, 6}));
  for (const auto* table : {"matrix", "feature", "environment", "trial", "tuning", "suspect"}) {
    EXPECT_EQ(count(table), 0) << table;
  }
  add(1, "a", "cpu");
  EXPECT_TRUE(knows(1, "cpu"));
}

TEST_F(Forget, OtherwiseTrialsAreKept) {
  database_->forget({.label = "a"});
  EXPECT_THROW(test::change_file(file_, "DELETE FROM trial"), db::SqliteError);
  EXPECT_EQ(count("trial"), 8);
}

TEST_F(Forget, SaysThatItCouldNot) {
  test::change_file(file_, "PRAGMA foreign_keys = OFF; DROP TABLE feature");
  EXPECT_THROW(database_->forget({.label = "a"}), Error);
  EXPECT_EQ(count("trial"), 12) << "all or none";
  std::filesystem::remove(file_);
  EXPECT_THROW(database_->forget({}), Error);
}

}  // namespace
}  // namespace autospmv
