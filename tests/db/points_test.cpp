// Recorded matrices as points: kept from one process to the next, and never other than what the rows say.
#include <algorithm>
#include <map>

#include "tests/db/support.hpp"

namespace autospmv {
namespace {

using test::key_of;
using test::no_warnings;
using test::record_one;
using test::TemporaryDirectory;
using test::trial_of;

class Points : public testing::Test {
 protected:
  /// Two coordinates of each matrix; counts how many were made.
  PointMaker maker(const std::string& name = "sum", double factor = 1) {
    return {name, 2, [this, factor](const MatrixRecord& matrix, std::span<double> coordinates) {
              ++made_;
              if (matrix.features.empty()) return false;
              coordinates[0] = factor * static_cast<double>(matrix.nnz);
              coordinates[1] = factor * matrix.features.front().second;
              return true;
            }};
  }

  /// The first coordinate by pattern and device.
  static std::map<std::string, double> places(const RecordedPoints& all) {
    std::map<std::string, double> found;
    for (std::size_t p = 0; p < all.points.size(); ++p) {
      const auto key = all.key_of(all.points[p]);
      const auto name = std::to_string(key.pattern.low) + " " + key.device;
      EXPECT_TRUE(found.emplace(name, all.coordinates_of(p)[0]).second) << "twice: " << name;
    }
    return found;
  }

  std::map<std::string, double> ask(Database& database, const std::string& name = "sum", double factor = 1) {
    made_ = 0;
    return places(database.points("host", "double", maker(name, factor)));
  }

  std::map<std::string, double> ask_again(const std::string& name = "sum", double factor = 1) {
    return ask(*Database::open(file_, no_warnings()), name, factor);
  }

  void add(Database& database, std::uint64_t pattern, int trials, const std::string& type = "double") {
    auto key = key_of(pattern);
    key.value_type = type;
    auto matrix = test::matrix_record();
    matrix.nnz = static_cast<std::int64_t>(pattern);
    std::vector<TrialRecord> records;
    records.reserve(static_cast<std::size_t>(trials));
    for (int i = 0; i < trials; ++i) records.push_back(trial_of("ell", {{"T", i}}, 1e-3));
    database.record(key, matrix, records);
  }

  TemporaryDirectory directory_;
  std::filesystem::path file_ = directory_ / "trials.db";
  int made_ = 0;
};

TEST_F(Points, AreMadeOnceOfManyTrials) {
  {
    const auto database = Database::open(file_, no_warnings());
    add(*database, 1, 1500);
    add(*database, 2, 3, "double in 8 bits");
    add(*database, 3, 3, "float");
    EXPECT_EQ(ask(*database), (std::map<std::string, double>{{"1 a cpu", 1}, {"2 a cpu", 2}}));
    EXPECT_EQ(made_, 2);
  }
  EXPECT_EQ(ask_again().size(), 2U);
  EXPECT_EQ(made_, 0) << "they were kept";
  // What comes later is added, and what was there already is not.
  {
    const auto database = Database::open(file_, no_warnings());
    add(*database, 1, 2);
    add(*database, 4, 2);
  }
  EXPECT_EQ(ask_again(), (std::map<std::string, double>{{"1 a cpu", 1}, {"2 a cpu", 2}, {"4 a cpu", 4}}));
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(
      Database::open(file_, no_warnings())
          ->matrix_at(Database::open(file_, no_warnings())->points("host", "double", maker()), {key_of(4).pattern, 0})
          ->nnz,
      4);
}

TEST_F(Points, AreKeptOfTheLastTrialsTooForThoseWhoReadTheFile) {
  add(*Database::open(file_, no_warnings()), 1, 1500);
  EXPECT_EQ(ask_again().size(), 1U);
  add(*Database::open(file_, no_warnings()), 2, 3);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ask_again().size(), 2U);
    EXPECT_EQ(made_, 1) << "of three trials nothing is kept";
  }
  Database::open(file_, no_warnings())->keep_passed();
  EXPECT_EQ(ask_again().size(), 2U);
  EXPECT_EQ(made_, 2);
  EXPECT_EQ(ask_again().size(), 2U);
  EXPECT_EQ(made_, 0);
}

TEST_F(Points, OfAnotherWayAreMadeAgain) {
  add(*Database::open(file_, no_warnings()), 7, 1500);
  EXPECT_EQ(ask_again()["7 a cpu"], 7);
  EXPECT_EQ(ask_again("another", 2)["7 a cpu"], 14);
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(ask_again("another", 2)["7 a cpu"], 14);
  EXPECT_EQ(made_, 0);
}

TEST_F(Points, GoWithWhatIsForgotten) {
  {
    const auto database = Database::open(file_, no_warnings());
    add(*database, 1, 1500);
    add(*database, 2, 1500);
  }
  EXPECT_EQ(ask_again().size(), 2U);
  Database::open(file_, no_warnings())->forget({.pattern = key_of(2).pattern});
  EXPECT_EQ(ask_again(), (std::map<std::string, double>{{"1 a cpu", 1}}));
  // The numbers of trials that are gone are given to others.
  add(*Database::open(file_, no_warnings()), 3, 1500);
  EXPECT_EQ(ask_again(), (std::map<std::string, double>{{"1 a cpu", 1}, {"3 a cpu", 3}}));
  const auto other = Database::in_memory();
  add(*other, 5, 1);
  Database::open(file_, no_warnings())->merge(*other);
  EXPECT_EQ(ask_again().size(), 3U);
}

TEST_F(Points, ThatAreDamagedAreMadeAgainOrLeftOut) {
  {
    const auto database = Database::open(file_, no_warnings());
    for (std::uint64_t i = 1; i <= 4; ++i) add(*database, i, 400);
  }
  const auto right = ask_again();
  ASSERT_EQ(right.size(), 4U);
  const auto damage = [&](const std::string& bytes) {
    test::change_file(file_, "UPDATE points SET bytes = CAST(" + bytes + " AS BLOB)");
    return ask_again();
  };
  for (const auto* bytes : {"''", "x'00'", "substr(bytes, 2)", "substr(bytes, 1, length(bytes) - 1)", "bytes || 'a'",
                            "zeroblob(length(bytes))"}) {
    EXPECT_EQ(damage(bytes), right) << bytes;
  }
  // No numbers, and an environment that is not there: these points are nowhere.
  const auto cut = [](const std::string& with) { return "substr(bytes, 1, 24) || " + with + " || substr(bytes, 33)"; };
  EXPECT_EQ(damage(cut("x'ffffffffffffff7f'")).size(), 3U);
  test::change_file(file_, "DELETE FROM points");
  EXPECT_EQ(ask_again(), right);
  EXPECT_EQ(damage("substr(bytes, 1, 32) || x'000000000000f87f' || substr(bytes, 41)").size(), 3U);
}

TEST_F(Points, OfLayersComeBelow) {
  {
    const auto site = Database::open(file_, no_warnings());
    add(*site, 1, 2);
    add(*site, 2, 2);
  }
  const auto top = Database::in_memory();
  add(*top, 2, 1);
  top->put_under({Database::layer(file_, no_warnings())});
  const auto all = top->points("host", "double", maker());
  EXPECT_EQ(places(all).size(), 2U);
  for (const auto& point : all.points) {
    EXPECT_EQ(all.environments[point.environment].layer, point.pattern.low == 2 ? 0U : 1U);
    EXPECT_EQ(top->matrix_at(all, point)->nnz, static_cast<std::int64_t>(point.pattern.low));
  }
}

TEST_F(Points, DoNotWaitForAWriter) {
  add(*Database::open(file_, no_warnings()), 1, 1500);
  const auto database = Database::open(file_, no_warnings());
  db::Connection writer(file_, db::Access::write);
  db::Transaction transaction(writer);
  EXPECT_EQ(ask(*database).size(), 1U);
  EXPECT_EQ(test::number_from(file_, "SELECT count(*) FROM points"), 0);
}

}  // namespace
}  // namespace autospmv
