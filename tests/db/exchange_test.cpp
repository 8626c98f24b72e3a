// What travels between files arrives, once, whichever way it goes.
#include <algorithm>
#include <map>

#include "tests/db/support.hpp"

namespace autospmv {
namespace {

using test::key_of;
using test::matrix_record;
using test::no_warnings;
using test::on_device;
using test::TemporaryDirectory;
using test::trial_of;

/// All rows, as visit() hands them out.
std::vector<std::pair<std::string, std::vector<Value>>> rows_of(Database& database, const Selection& selection = {}) {
  std::vector<std::pair<std::string, std::vector<Value>>> rows;
  database.visit(selection, [&](const Row& row) { rows.emplace_back(row.kind->name, row.values); });
  return rows;
}

std::map<std::string, int> counts_of(Database& database, const Selection& selection) {
  std::map<std::string, int> counts;
  for (const auto& [kind, values] : rows_of(database, selection)) ++counts[kind];
  return counts;
}

std::shared_ptr<Database> copy_of(Database& database) {
  std::vector<Row> rows;
  database.visit({}, [&](const Row& row) { rows.push_back(row); });
  std::size_t next = 0;
  return Database::of_rows([&](Row& row) {
    if (next == rows.size()) return false;
    row = rows[next++];
    return true;
  });
}

// What anybody may write into a text: quotes, line ends, NUL, bytes that are no UTF-8, SQL, a name of another kind.
const std::vector<std::string> hostile = {"",
                                          "'; DROP TABLE trial; --",
                                          "\"\\\n\r\t\x01",
                                          std::string("a\0b", 3),
                                          "\xff\xfe\xc3",
                                          "\xed\xa0\x80",
                                          "\xe2\x80\xae\xf0\x9f\x92\xa3",
                                          "{\"row\":\"trial\"}"};

/// Every text column of every table holds every hostile text, and the numbers are extreme ones.
void fill_with_hostile_rows(const std::filesystem::path& file) {
  Database::open(file, no_warnings());
  const db::Connection connection(file, db::Access::write);
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    // Texts of a key must differ from each other; foreign keys take any.
    const auto& text = hostile[i];
    db::Statement(connection,
                  "INSERT INTO matrix (fingerprint, rows, cols, nnz, label, source, first_seen_at) "
                  "VALUES (?1, ?2, -1, 9223372036854775807, ?1, ?1, ?1)")
        .bind(text, i)
        .run();
    db::Statement(connection, "INSERT INTO feature VALUES (?1, ?1, 9e999), (?1, ?1 || '2', -9e999), (?1, 'x', 0.1)")
        .bind(text)
        .run();
    db::Statement(connection, "INSERT INTO environment VALUES (?2, ?1, ?1, ?1, ?1, ?1, ?1, ?1)")
        .bind(text, i + 1)
        .run();
    db::Statement(connection,
                  "INSERT INTO trial (matrix, environment, format, format_version, params, deterministic, outcome, "
                  "detail, warm_median_s, warm_low_quartile_s, warm_high_quartile_s, warm_samples, cold_median_s, "
                  "cold_low_quartile_s, cold_high_quartile_s, cold_samples, setup_s, bytes, csr_bytes, worst_error, "
                  "created_at) VALUES (?1, ?2, ?1, -9223372036854775808, ?1, 7, ?1, ?1, 1e-320, -1.5, "
                  "0.1, -1, 1.7976931348623157e308, 4.35, 2e-6, 3, 5, 6, 7, 9e999, ?1)")
        .bind(text, i + 1)
        .run();
    db::Statement(connection, "INSERT INTO tuning VALUES (?1, ?2, ?1, ?1, ?1)").bind(text, i + 1).run();
    db::Statement(connection, "INSERT INTO suspect VALUES (?1, ?2, ?1, ?1, ?1, -1, -1, ?1)").bind(text, i + 1).run();
    db::Statement(connection, "INSERT INTO coefficient VALUES (?1, ?1, ?1, -0.1, ?1)").bind(text).run();
    db::Statement(connection, "INSERT INTO machine VALUES (?1, ?1, ?1, 5e-324, ?1)").bind(text).run();
  }
}

TEST(Exchange, RowsArriveWhateverTheyHold) {
  const TemporaryDirectory directory;
  fill_with_hostile_rows(directory / "trials.db");
  const auto database = Database::open(directory / "trials.db", no_warnings());
  const auto rows = rows_of(*database);
  EXPECT_EQ(rows.size(), hostile.size() * 9);
  EXPECT_EQ(rows_of(*copy_of(*database)), rows);
  const auto merged = Database::in_memory();
  merged->merge(*database);
  EXPECT_EQ(rows_of(*merged), rows);
  EXPECT_EQ(merged->merge(*database), Merged{});
  EXPECT_EQ(rows_of(*merged), rows);
}

// What one process would have recorded, dealt out to several databases by what share(i) says of the i-th step.
template <class Share>
void tune(const std::vector<std::shared_ptr<Database>>& databases, const Share& share) {
  const auto at = [&](int step) -> Database& { return *databases[share(step) % databases.size()]; };
  int step = 0;
  for (const auto pattern : {1, 2, 3}) {
    for (const auto* device : {"cpu", "gpu"}) {
      const auto key = on_device(pattern, device);
      for (int i = 0; i < 4; ++i) {
        at(step++).record(key, matrix_record(), std::vector{trial_of("ell", {{"T", i}}, 1e-3 * (i + 1))});
      }
      at(step++).mark_tuned(key, "measure", "ell:1");
    }
  }
  at(step++).record_coefficients("host", "cpu",
                                 std::vector<std::pair<std::string, double>>{{"wave", 1.5}, {"step", 2}});
  at(step++).record_copy_bandwidth("host", "cpu", 1e11);
}

// Without when it was, which a second tuning cannot repeat.
std::vector<std::pair<std::string, std::vector<Value>>> without_moments(Database& database) {
  auto rows = rows_of(database);
  for (auto& [kind, values] : rows) {
    if (kind != "feature") values.pop_back();
  }
  return rows;
}

TEST(Exchange, HalvesMakeTheWhole) {
  const auto whole = Database::in_memory();
  tune({whole}, [](int) { return 0; });
  const std::vector halves = {Database::in_memory(), Database::in_memory()};
  tune(halves, [](int step) { return step; });
  for (const bool swapped : {false, true}) {
    const auto merged = Database::in_memory();
    merged->merge(*halves[swapped ? 1 : 0]);
    merged->merge(*halves[swapped ? 0 : 1]);
    EXPECT_EQ(without_moments(*merged), without_moments(*whole));
  }
}

// Trials of one candidate in two files, some of them in both, in whatever order their clocks gave.
TEST(Exchange, MergeCommutesAndMayBeRepeated) {
  const auto trial_at = [](Database& database, double seconds, const std::string& moment) {
    std::vector<Row> rows;
    const auto one = Database::in_memory();
    one->record(key_of(1), matrix_record(), std::vector{trial_of("csr", {}, seconds)});
    one->visit({}, [&](const Row& row) { rows.push_back(row); });
    for (auto& row : rows) {
      if (row.kind->name == "trial") row.values.back() = moment;
      if (row.kind->name == "matrix") row.values.back() = std::string("2026");
    }
    std::size_t next = 0;
    const auto dated = Database::of_rows([&](Row& row) { return next < rows.size() && (row = rows[next++], true); });
    // Behind what is there, whatever the moments say: as a clock that was set back would have it.
    database.merge(*dated);
  };
  const auto make = [&](const std::vector<std::pair<double, std::string>>& trials) {
    auto database = Database::in_memory();
    for (const auto& [seconds, moment] : trials) trial_at(*database, seconds, moment);
    return database;
  };
  using List = std::vector<std::pair<double, std::string>>;
  const std::vector<List> lists = {{},
                                   {{1e-3, "a"}},
                                   {{1e-3, "a"}, {2e-3, "c"}},
                                   {{2e-3, "c"}, {3e-3, "b"}},
                                   {{1e-3, "a"}, {1e-3, "a"}, {4e-3, "b"}},
                                   {{5e-3, "d"}, {4e-3, "b"}, {1e-3, "a"}}};
  for (const auto& a : lists) {
    for (const auto& b : lists) {
      const auto one = make(a);
      const auto other = make(b);
      one->merge(*make(b));
      other->merge(*make(a));
      EXPECT_EQ(rows_of(*one), rows_of(*other));
      EXPECT_EQ(one->merge(*make(b)), Merged{});
      EXPECT_EQ(one->merge(*make(a)), Merged{});
      EXPECT_EQ(rows_of(*one), rows_of(*other));
      EXPECT_TRUE(one->faults().empty());
    }
  }
}

TEST(Exchange, NamesAndFitsOfTwoFilesBecomeOne) {
  const auto named = [](const std::string& label, const std::string& source) {
    auto database = Database::in_memory();
    auto record = matrix_record();
    record.label = label;
    record.source = source;
    database->record(key_of(1), record, std::vector{trial_of("csr", {}, 1e-3)});
    return database;
  };
  const auto one = named("", "/a/cant.mtx");
  one->merge(*named("cant", ""));
  EXPECT_EQ(one->list().at(0).matrix.label, "cant");
  EXPECT_EQ(one->list().at(0).matrix.source, "/a/cant.mtx");

  using Fit = std::vector<std::pair<std::string, double>>;
  const auto earlier = Database::in_memory();
  earlier->record_coefficients("host", "cpu", Fit{{"step", 1}, {"wave", 2}});
  const auto later = Database::in_memory();
  usleep(5000);
  later->record_coefficients("host", "cpu", Fit{{"step", 3}});
  later->merge(*earlier);
  EXPECT_EQ(later->coefficients("host", "cpu"), (Fit{{"step", 3}}));
  EXPECT_EQ(earlier->merge(*later).fits, 1);
  EXPECT_EQ(earlier->coefficients("host", "cpu"), (Fit{{"step", 3}})) << "a fit is never mixed with another";
}

TEST(Exchange, WhatIsInHandIsNoKnowledge) {
  const TemporaryDirectory directory;
  const auto database = Database::open(directory / "trials.db", no_warnings());
  database->note_suspect(key_of(1), {"csr", {}});
  EXPECT_TRUE(rows_of(*database).empty());
}

TEST(Exchange, ChoosesRows) {
  const auto database = Database::in_memory();
  tune({database}, [](int) { return 0; });
  auto floats = key_of(9);
  floats.value_type = "float in 8 bits";
  auto record = matrix_record();
  record.label = "nine";
  database->record(floats, record, std::vector{trial_of("csr", {}, 1e-3), trial_of("ell", {}, 2e-3)});
  using Counts = std::map<std::string, int>;
  EXPECT_EQ(counts_of(*database, {.pattern = key_of(2).pattern}),
            (Counts{{"matrix", 1}, {"feature", 2}, {"trial", 8}, {"tuning", 2}}));
  EXPECT_EQ(counts_of(*database, {.device = "gpu"}),
            (Counts{{"matrix", 3}, {"feature", 6}, {"trial", 12}, {"tuning", 3}}));
  EXPECT_EQ(counts_of(*database, {.device = "cpu"}),
            (Counts{{"matrix", 3}, {"feature", 6}, {"trial", 12}, {"tuning", 3}, {"coefficient", 2}, {"machine", 1}}));
  EXPECT_EQ(counts_of(*database, {.value_type = "float"}), (Counts{{"matrix", 1}, {"feature", 2}, {"trial", 2}}));
  EXPECT_EQ(counts_of(*database, {.value_type = "flo"}), Counts{});
  EXPECT_EQ(counts_of(*database, {.format = "csr"}), (Counts{{"matrix", 1}, {"feature", 2}, {"trial", 1}}));
  EXPECT_EQ(counts_of(*database, {.label = "nine", .backend = "host"}),
            (Counts{{"matrix", 1}, {"feature", 2}, {"trial", 2}}));
  EXPECT_EQ(counts_of(*database, {.backend = "cuda"}), Counts{});
  EXPECT_EQ(counts_of(*database, {.before = "2000"}), Counts{});
  EXPECT_EQ(counts_of(*database, {.since = "2000"})["trial"], 26);
  EXPECT_EQ(database->list({.format = "csr"}).size(), 1U);
  EXPECT_EQ(database->statistics({.device = "gpu"}).trials, 12);
  EXPECT_EQ(database->forget({.format = "csr"}), (Forgotten{0, 1, 0, 0}));
  EXPECT_EQ(database->forget({.device = "gpu", .since = "2000"}), (Forgotten{0, 12, 3, 0}));
}

TEST(Exchange, RowsThatNoDatabaseHoldsAreRefused) {
  const auto database = Database::in_memory();
  tune({database}, [](int) { return 0; });
  std::vector<Row> rows;
  database->visit({}, [&](const Row& row) { rows.push_back(row); });
  const auto refuses = [](const std::vector<Row>& some) {
    std::size_t next = 0;
    EXPECT_THROW(Database::of_rows([&](Row& row) { return next < some.size() && (row = some[next++], true); }),
                 InvalidArgument);
  };
  const auto of_kind = [&](std::string_view kind) {
    return *std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.kind->name == kind; });
  };
  refuses({rows[0], rows[0]});  // the same matrix twice
  refuses({of_kind("trial")});  // of a matrix that nothing is known of
  refuses({of_kind("feature")});
  refuses({of_kind("machine"), of_kind("machine")});
}

TEST(Exchange, SaysWhatIsWrongWithAFile) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  test::record_one(*Database::open(file, no_warnings()), key_of(1), trial_of("csr", {}, 1e-3));
  EXPECT_TRUE(Database::look(file)->faults().empty());
  test::change_file(file, "PRAGMA foreign_keys = OFF; DELETE FROM matrix");
  EXPECT_EQ(Database::look(file)->faults().size(), 2U);
  fill_with_hostile_rows(directory / "other.db");
  EXPECT_FALSE(Database::look(directory / "other.db")->faults().empty());
}

TEST(Exchange, MergeAndVacuumThrowWhereNothingCanBeWritten) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  const auto database = Database::open(file, no_warnings());
  const auto other = Database::in_memory();
  test::record_one(*other, key_of(1), trial_of("csr", {}, 1e-3));
  other->record_copy_bandwidth("host", "cpu", 1e11);
  test::change_file(file, "DROP TABLE machine");
  EXPECT_THROW(database->merge(*other), Error);
  EXPECT_EQ(test::number_from(file, "SELECT count(*) FROM trial"), 0) << "all or nothing";
  std::filesystem::remove(file);
  EXPECT_THROW(database->merge(*other), Error);
  EXPECT_THROW(database->vacuum(), Error);
}

}  // namespace
}  // namespace autospmv
