// Trials that passed, kept in one piece a matrix: never other than what the rows say.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/db/support.hpp"

namespace autospmv {
namespace {

using test::key_of;
using test::no_warnings;
using test::record_one;
using test::TemporaryDirectory;
using test::trial_of;

class Passed : public testing::Test {
 protected:
  void SetUp() override {
    const auto database = Database::open(file_, no_warnings());
    for (int t = 1; t <= 4; ++t) record_one(*database, key_of(1), trial_of("ell", {{"T", t}}, 1e-3 * t));
    record_one(*database, key_of(1), trial_of("csr", {}, 5e-3));
    // The last of a candidate counts, whatever came of it.
    record_one(*database, key_of(1), trial_of("ell", {{"T", 2}}, 7e-3));
    auto failed = trial_of("ell", {{"T", 3}}, 1e-4);
    failed.measurement.outcome = Outcome::failed;
    record_one(*database, key_of(1), failed);
    auto newer = trial_of("ell", {{"T", 4}}, 9e-3);
    newer.format_version = 2;
    record_one(*database, key_of(1), newer);
    record_one(*database, key_of(2), trial_of("csr", {}, 2e-3));
  }

  /// Of what passed, a line each, as another process sees it.
  [[nodiscard]] std::vector<std::string> found(const TrialKey& key, const std::string& catalogue) const {
    std::vector<std::string> lines;
    for (const auto& trial : Database::open(file_, no_warnings())->passed(key, catalogue)) {
      const auto& m = trial.measurement;
      lines.push_back(trial.candidate.text() + " " + std::to_string(trial.format_version) + " " +
                      std::to_string(m.warm.median) + " " + std::to_string(m.warm.samples) + " " +
                      std::to_string(m.setup_seconds) + " " + std::to_string(m.bytes));
    }
    return lines;
  }

  [[nodiscard]] std::int64_t kept() const { return test::number_from(file_, "SELECT count(*) FROM passed"); }

  TemporaryDirectory directory_;
  std::filesystem::path file_ = directory_ / "trials.db";
};

TEST_F(Passed, AreTheSameInOnePiece) {
  const std::vector<std::string> catalogues = {"csr:1 ell:1", "csr:1 ell:2", "ell:1", "csr:2", "another:1"};
  std::vector<std::vector<std::string>> before;
  before.reserve(catalogues.size());
  for (const auto& catalogue : catalogues) before.push_back(found(key_of(1), catalogue));
  EXPECT_EQ(before[0].size(), 4U);
  EXPECT_EQ(before[1].size(), 2U);
  Database::open(file_, no_warnings())->keep_passed();
  EXPECT_EQ(kept(), 2);
  for (std::size_t i = 0; i < catalogues.size(); ++i) EXPECT_EQ(found(key_of(1), catalogues[i]), before[i]);
  EXPECT_EQ(found(key_of(3), catalogues[0]).size(), 0U);
  // And it is the piece that is read.
  test::change_file(file_, "UPDATE passed SET trials = (SELECT trials FROM passed ORDER BY length(trials) LIMIT 1)");
  EXPECT_EQ(found(key_of(1), catalogues[0]), found(key_of(2), catalogues[0]));
}

TEST_F(Passed, OfMatricesThatAreDescribedTheSame) {
  const auto described = [&] {
    const PointMaker anywhere{"anywhere", 1, [](const MatrixRecord& /*matrix*/, std::span<double> coordinates) {
                                coordinates[0] = 0;
                                return true;
                              }};
    const auto database = Database::open(file_, no_warnings());
    const auto all = database->points("host", "double", anywhere);
    EXPECT_EQ(all.points.size(), 2U);
    return database->matrix_at(all, all.points.front());
  };
  const auto before = described();
  Database::open(file_, no_warnings())->keep_passed();
  const auto kept_matrix = described();
  ASSERT_TRUE(before && kept_matrix);
  EXPECT_EQ(kept_matrix->label, before->label);
  EXPECT_EQ(kept_matrix->nnz, before->nnz);
  EXPECT_EQ(kept_matrix->features, before->features);
  EXPECT_FALSE(kept_matrix->features.empty());
  test::change_file(file_, "UPDATE passed SET described = CAST(substr(described, 1, length(described) - 1) AS BLOB)");
  EXPECT_EQ(described()->features, before->features);
}

TEST_F(Passed, OfManyMatricesAreFoundTogether) {
  const PointMaker anywhere{"anywhere", 1, [](const MatrixRecord& /*matrix*/, std::span<double> coordinates) {
                              coordinates[0] = 0;
                              return true;
                            }};
  const std::string catalogue = "csr:1 ell:1";
  // What is known of all points together, and one by one.
  const auto expect_same = [&](Database& database) {
    const auto all = database.points("host", "double", anywhere);
    std::vector<std::size_t> which;
    for (std::size_t at = all.points.size(); at-- > 0;) which.push_back(at);
    const auto known = database.known(all, which, catalogue);
    ASSERT_EQ(known.size(), which.size());
    for (std::size_t i = 0; i < which.size(); ++i) {
      const auto& point = all.points[which[i]];
      const auto one = known[i]();
      const auto matrix = database.matrix_at(all, point);
      ASSERT_TRUE(one.matrix && matrix);
      EXPECT_EQ(one.matrix->features, matrix->features);
      const auto passed = database.passed(all.key_of(point), catalogue);
      ASSERT_EQ(one.passed.size(), passed.size());
      for (std::size_t t = 0; t < passed.size(); ++t) {
        EXPECT_EQ(one.passed[t].candidate, passed[t].candidate);
        EXPECT_EQ(one.passed[t].layer, passed[t].layer);
      }
    }
  };
  expect_same(*Database::open(file_, no_warnings()));
  Database::open(file_, no_warnings())->keep_passed();
  expect_same(*Database::open(file_, no_warnings()));
  const auto top = Database::in_memory();
  top->put_under({Database::layer(file_, no_warnings())});
  expect_same(*top);
  // Of one matrix both know something.
  record_one(*top, key_of(1), trial_of("ell", {{"T", 9}}, 1e-3));
  expect_same(*top);
  const auto all = top->points("host", "double", anywhere);
  ASSERT_EQ(all.points.size(), 2U);
  // Where it is in one piece, the rows are not asked.
  test::change_file(file_, "UPDATE passed SET trials = (SELECT trials FROM passed ORDER BY length(trials) LIMIT 1)");
  const auto alone = Database::open(file_, no_warnings());
  const auto points = alone->points("host", "double", anywhere);
  const std::vector<std::size_t> both = {0, 1};
  for (const auto& one : alone->known(points, both, catalogue)) EXPECT_EQ(one().passed.size(), 1U);
  // And where the piece is damaged, they are.
  test::change_file(file_, "UPDATE passed SET trials = x'00', described = x'00'");
  expect_same(*alone);
}

TEST_F(Passed, ThatCameLaterCount) {
  const auto database = Database::open(file_, no_warnings());
  database->keep_passed();
  record_one(*database, key_of(2), trial_of("ell", {{"T", 1}}, 1e-3));
  EXPECT_EQ(found(key_of(2), "csr:1 ell:1").size(), 2U);
  EXPECT_EQ(found(key_of(1), "csr:1 ell:1").size(), 4U);
}

TEST_F(Passed, ThatAreForgottenAreNotKept) {
  Database::open(file_, no_warnings())->keep_passed();
  Database::open(file_, no_warnings())->forget({.format = "ell"});
  EXPECT_EQ(kept(), 0);
  EXPECT_EQ(found(key_of(1), "csr:1 ell:1").size(), 1U);
}

TEST_F(Passed, ThatAreDamagedAreReadRowByRow) {
  const auto right = found(key_of(1), "csr:1 ell:1");
  Database::open(file_, no_warnings())->keep_passed();
  for (const auto* bytes :
       {"''", "x'00'", "substr(trials, 2)", "substr(trials, 1, length(trials) - 1)", "trials || 'a'",
        "zeroblob(length(trials))", "substr(trials, 1, 24) || x'ffffffffffffffff'"}) {
    Database::open(file_, no_warnings())->keep_passed();
    test::change_file(file_, "UPDATE passed SET trials = CAST(" + std::string(bytes) + " AS BLOB)");
    EXPECT_EQ(found(key_of(1), "csr:1 ell:1"), right) << bytes;
  }
  // Numbers that no trial of ours can have given.
  Database::open(file_, no_warnings())->keep_passed();
  test::change_file(
      file_,
      "UPDATE passed SET trials = CAST(substr(trials, 1, 35) || x'ffffffffffffff7f' || substr(trials, 44) "
      "AS BLOB)");
  EXPECT_EQ(found(key_of(1), "csr:1 ell:1").size(), right.size() - 1);
}

}  // namespace
}  // namespace autospmv
