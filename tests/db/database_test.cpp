// What is recorded and what is made of it. Everything here is in memory or in one healthy file.
#include "db/database.hpp"

#include <limits>
#include <set>
#include <thread>

#include "tests/db/support.hpp"

namespace autospmv {
namespace {

using test::key_of;
using test::matrix_record;
using test::record_one;
using test::trial_of;

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<std::string> texts_of(const std::vector<TrialRecord>& trials) {
  std::vector<std::string> texts;
  texts.reserve(trials.size());
  for (const auto& trial : trials) texts.push_back(trial.candidate.text());
  return texts;
}

void expect_equal(const Timing& a, const Timing& b) {
  EXPECT_EQ(a.median, b.median);
  EXPECT_EQ(a.low_quartile, b.low_quartile);
  EXPECT_EQ(a.high_quartile, b.high_quartile);
  EXPECT_EQ(a.samples, b.samples);
}

TEST(Database, ReturnsEveryFieldOfATrial) {
  const auto database = Database::in_memory();
  TrialRecord trial;
  trial.candidate = {"ellr_t", {{"T", 4}, {"block", -256}}};
  trial.format_version = 3;
  trial.deterministic = false;
  trial.capturable = false;
  trial.measurement = {Outcome::wrong_answer,  "row 7: it's \"off\"",
                       {1e-5, 9e-6, 2e-5, 41}, {3e-5, 2e-5, 4e-5, 11},
                       {5e-5, 4e-5, 6e-5, 3},  0.25,
                       std::int64_t{1} << 40,  infinity};
  record_one(*database, key_of(1), trial);

  const auto trials = database->trials(key_of(1));
  ASSERT_EQ(trials.size(), 1U);
  const auto& got = trials[0];
  EXPECT_EQ(got.candidate, trial.candidate);
  EXPECT_EQ(got.format_version, 3);
  EXPECT_FALSE(got.deterministic);
  EXPECT_FALSE(got.capturable);
  EXPECT_EQ(got.measurement.outcome, Outcome::wrong_answer);
  EXPECT_EQ(got.measurement.detail, trial.measurement.detail);
  expect_equal(got.measurement.warm, trial.measurement.warm);
  expect_equal(got.measurement.cold, trial.measurement.cold);
  expect_equal(got.measurement.loop, trial.measurement.loop);
  EXPECT_EQ(got.measurement.setup_seconds, 0.25);
  EXPECT_EQ(got.measurement.bytes, std::int64_t{1} << 40);
  EXPECT_EQ(got.measurement.worst_error, infinity);
}

TEST(Database, KnowsNothingOfAnotherMatrixOrEnvironment) {
  const auto database = Database::in_memory();
  record_one(*database, key_of(1), trial_of("csr", {}, 1e-3));
  EXPECT_FALSE(database->trials(key_of(1)).empty());
  EXPECT_TRUE(database->trials(key_of(2)).empty());
  for (const auto member : {&TrialKey::value_type, &TrialKey::operation, &TrialKey::backend, &TrialKey::device,
                            &TrialKey::toolkit, &TrialKey::driver, &TrialKey::library}) {
    auto key = key_of(1);
    key.*member += "?";
    EXPECT_TRUE(database->trials(key).empty()) << key.*member;
    EXPECT_TRUE(database->trials(key).empty()) << key.*member;
  }
}

TEST(Database, OnlyTheLastTrialOfACandidateCounts) {
  const auto database = Database::in_memory();
  record_one(*database, key_of(1), trial_of("ell", {{"T", 1}}, 1e-3));
  record_one(*database, key_of(1), trial_of("csr", {}, 2e-3));
  record_one(*database, key_of(1), trial_of("ell", {{"T", 1}}, 3e-3));
  const auto before = database->trials(key_of(1));
  EXPECT_EQ(texts_of(before), (std::vector<std::string>{"csr", "ell T=1"}));
  EXPECT_EQ(before.back().measurement.warm.median, 3e-3);

  auto failed = trial_of("csr", {}, 0);
  failed.measurement.outcome = Outcome::failed;
  record_one(*database, key_of(1), failed);
  const auto after = database->trials(key_of(1));
  EXPECT_EQ(texts_of(after), (std::vector<std::string>{"ell T=1", "csr"}));
  EXPECT_EQ(after.back().measurement.outcome, Outcome::failed);

  // Within one batch too.
  database->record(key_of(1), matrix_record(), std::vector{trial_of("csr", {}, 9e-3), trial_of("csr", {}, 1e-3)});
  EXPECT_EQ(database->trials(key_of(1)).back().measurement.warm.median, 1e-3);
}

TEST(Database, KeepsToTheCatalogue) {
  const auto database = Database::in_memory();
  auto newer = trial_of("sell", {}, 1e-3);
  newer.format_version = 12;
  record_one(*database, key_of(1), trial_of("sell", {}, 2e-3));
  record_one(*database, key_of(1), newer);
  record_one(*database, key_of(1), trial_of("csr", {}, 3e-3));
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts_of(database->trials(key_of(1), "csr:1 sell:12")), (Texts{"sell", "csr"}));
  EXPECT_EQ(database->trials(key_of(1), "csr:1 sell:12").front().format_version, 12);
  // An older library still finds its own trial, though a newer one has tried the candidate since.
  EXPECT_EQ(database->trials(key_of(1), "csr:1 sell:1").front().format_version, 1);
  EXPECT_EQ(texts_of(database->trials(key_of(1), "csr:1 sell:2")), Texts{"csr"});
  EXPECT_EQ(texts_of(database->trials(key_of(1), "csr:1")), Texts{"csr"});
  EXPECT_TRUE(database->trials(key_of(1), "csr:11 icsr:1 sell:123").empty());
}

TEST(Database, GivesWhatWasRecordedOfAllMatricesOfABackend) {
  const auto database = Database::in_memory();
  record_one(*database, key_of(1), trial_of("a", {{"T", 1}}, 3e-5));
  record_one(*database, key_of(1), trial_of("a", {{"T", 1}}, 2e-5));
  record_one(*database, key_of(1), trial_of("b", {}, 1e-5));
  auto failed = trial_of("c", {}, 1e-6);
  failed.measurement.outcome = Outcome::failed;
  record_one(*database, key_of(1), failed);
  record_one(*database, key_of(2), trial_of("a", {{"T", 1}}, 4e-5));
  auto elsewhere = key_of(3);
  elsewhere.backend = "cuda";
  record_one(*database, elsewhere, trial_of("a", {{"T", 1}}, 5e-5));
  database->record(key_of(4), {"without features", 1, 1, 1, 1, {}}, std::vector{trial_of("a", {}, 1e-5)});

  auto of_few_bits = key_of(5);
  of_few_bits.value_type = "float in 8 bits";
  record_one(*database, of_few_bits, trial_of("a", {{"T", 1}}, 6e-5));

  EXPECT_EQ(database->matrices(), 5);
  EXPECT_EQ(Database::in_memory()->matrices(), 0);
  const auto recorded = database->recorded("host", "double");
  ASSERT_EQ(recorded.size(), 2U);
  EXPECT_EQ(recorded[0].key, key_of(1));
  EXPECT_EQ(recorded[0].matrix.features.size(), matrix_record().features.size());
  const auto passed = database->passed(recorded[0].key);
  ASSERT_EQ(passed.size(), 2U) << "the last of each candidate that passed";
  EXPECT_EQ(passed[0].candidate.format, "a");
  EXPECT_EQ(passed[0].measurement.outcome, Outcome::passed);
  EXPECT_EQ(passed[0].measurement.warm.median, 2e-5);
  EXPECT_EQ(passed[1].candidate.format, "b");
  EXPECT_EQ(database->passed(recorded[0].key, "b:1").size(), 1U);
  EXPECT_EQ(database->recorded("cuda", "double").size(), 1U);
  EXPECT_EQ(database->recorded("host", "float").size(), 1U) << "however few bits they take";
}

TEST(Database, GivesWhatPassedWithParametersThatItHasReadBefore) {
  const auto database = Database::in_memory();
  constexpr int more_than_are_remembered = 5000;
  std::vector<TrialRecord> trials;
  trials.reserve(more_than_are_remembered);
  for (int T = 0; T < more_than_are_remembered; ++T) trials.push_back(trial_of("a", {{"T", T}, {"U", 1}}, 1e-5));
  database->record(key_of(1), matrix_record(), trials);
  for (int reading = 0; reading < 2; ++reading) {
    std::set<Params> read;
    for (const auto& trial : database->passed(key_of(1))) read.insert(trial.candidate.params);
    std::set<Params> recorded;
    for (const auto& trial : trials) recorded.insert(trial.candidate.params);
    EXPECT_EQ(read, recorded);
  }
}

TEST(Database, KeepsCoefficientsByDevice) {
  const auto database = Database::in_memory();
  using Values = std::vector<std::pair<std::string, double>>;
  EXPECT_TRUE(database->coefficients("cuda", "a device").empty());
  database->record_coefficients("cuda", "a device", Values{{"launch", 1.5}, {"cache", 2}});
  database->record_coefficients("cuda", "another", Values{{"launch", 7}});
  EXPECT_EQ(database->coefficients("cuda", "a device"), (Values{{"cache", 2}, {"launch", 1.5}}));
  database->record_coefficients("cuda", "a device", Values{{"launch", 3}});
  EXPECT_EQ(database->coefficients("cuda", "a device"), (Values{{"launch", 3}})) << "replaced, not added";
}

TEST(Database, RecordsAllOrNone) {
  test::Warnings warnings;
  const test::TemporaryDirectory directory;
  const auto database = Database::open(directory / "trials.db", warnings.sink());
  auto impossible = trial_of("csr", {}, 1e-3);
  impossible.measurement.warm.median = std::numeric_limits<double>::quiet_NaN();
  database->record(key_of(1), matrix_record(), std::vector{trial_of("ell", {}, 1e-3), impossible});
  EXPECT_TRUE(database->trials(key_of(1)).empty());
  ASSERT_EQ(warnings.count(), 1U);
  EXPECT_EQ(warnings.texts()[0], "trials are not recorded: that of csr holds impossible numbers");
}

TEST(Database, RemembersWhatWasTuned) {
  using Efforts = std::vector<std::string>;
  const auto database = Database::in_memory();
  EXPECT_TRUE(database->tunings(key_of(1), "csr:1").empty());
  database->mark_tuned(key_of(1), "measure", "csr:1");
  database->mark_tuned(key_of(1), "measure", "csr:1");
  EXPECT_EQ(database->tunings(key_of(1), "csr:1"), Efforts{"measure"});
  EXPECT_TRUE(database->tunings(key_of(1), "csr:1 ell:1").empty());
  EXPECT_TRUE(database->tunings(key_of(2), "csr:1").empty());
  database->mark_tuned(key_of(1), "exhaustive", "csr:1");
  EXPECT_EQ(database->tunings(key_of(1), "csr:1"), (Efforts{"exhaustive", "measure"}));
}

TEST(Database, ListsMostRecentFirst) {
  const auto database = Database::in_memory();
  EXPECT_TRUE(database->list().empty());
  record_one(*database, key_of(1), trial_of("csr", {}, 1e-3));
  record_one(*database, key_of(2), trial_of("csr", {}, 1e-3));
  auto larger = matrix_record();
  larger.csr_bytes = 1001;
  larger.label = "";  // does not take the name away
  larger.features.clear();
  database->record(key_of(1), larger, std::vector{trial_of("ell", {{"T", 2}}, 5e-4), trial_of("csr", {}, 2e-3)});

  const auto all = database->list();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].key, key_of(1));
  EXPECT_EQ(all[0].trials, 2) << "of which one was made twice";
  EXPECT_EQ(all[0].matrix.label, "a matrix");
  EXPECT_EQ(all[0].matrix.rows, 10);
  EXPECT_EQ(all[0].matrix.cols, 20);
  EXPECT_EQ(all[0].matrix.nnz, 30);
  EXPECT_EQ(all[0].matrix.csr_bytes, 1001);
  EXPECT_EQ(all[0].matrix.features, (std::vector<std::pair<std::string, double>>{{"diagonals", 7}, {"npr_mean", 3}}));
  EXPECT_EQ(all[1].key, key_of(2));
  EXPECT_EQ(all[1].trials, 1);
}

TEST(Database, TakesALaterLabelAndLaterFeatures) {
  const auto database = Database::in_memory();
  auto matrix = matrix_record();
  database->record(key_of(1), matrix, std::vector{trial_of("csr", {}, 1e-3)});
  matrix.label = "another name";
  matrix.features = {{"npr_mean", 4}, {"broken", std::numeric_limits<double>::quiet_NaN()}};
  database->record(key_of(1), matrix, {});
  const auto all = database->list();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].matrix.label, "another name");
  EXPECT_EQ(all[0].matrix.features, (std::vector<std::pair<std::string, double>>{{"diagonals", 7}, {"npr_mean", 4}}));
}

TEST(Database, SkipsRowsThatNoTrialCanHaveGiven) {
  const test::TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  {
    const auto database = Database::open(file, test::no_warnings());
    record_one(*database, key_of(1), trial_of("csr", {}, 1e-3));
  }
  const std::vector<std::string> spoilt = {"params = 'T='",
                                           "params = 'T=4 T=5'",
                                           "params = 'b=1 a=1'",
                                           "params = 'a=1 '",
                                           "params = '; DROP TABLE'",
                                           "outcome = 'excellent'",
                                           "outcome = 'timed out'",  // an outcome once
                                           "outcome = ''",
                                           "warm_median_s = -1e-9",
                                           "warm_median_s = -9e999",
                                           "setup_s = -1",
                                           "warm_low_quartile_s = 9e999",
                                           "cold_median_s = 9e999",
                                           "worst_error = -1",
                                           "bytes = -1",
                                           "warm_samples = 9999999999",
                                           "cold_samples = -1",
                                           "loop_median_s = -1",
                                           "loop_samples = 9999999999",
                                           "format_version = 9999999999"};
  for (std::size_t i = 0; i < spoilt.size(); ++i) {
    // A copy of the good row under another name, cheaper, with one column spoilt.
    db::Connection connection(file, db::Access::write);
    connection.execute("CREATE TEMP TABLE copy AS SELECT * FROM trial WHERE format = 'csr'");
    db::Statement(connection, "UPDATE copy SET id = NULL, warm_median_s = 1e-9, format = ?1")
        .bind("spoilt_" + std::to_string(i))
        .run();
    connection.execute("UPDATE copy SET " + spoilt[i]);
    connection.execute("INSERT INTO trial SELECT * FROM copy");
  }
  ASSERT_EQ(test::number_from(file, "SELECT count(*) FROM trial"), static_cast<std::int64_t>(1 + spoilt.size()));

  const auto database = Database::open(file, test::no_warnings());
  EXPECT_EQ(texts_of(database->trials(key_of(1))), std::vector<std::string>{"csr"});
  EXPECT_EQ(database->list().size(), 1U);
}

TEST(Database, SkipsMatricesWithoutAFingerprint) {
  const test::TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  record_one(*Database::open(file, test::no_warnings()), key_of(1), trial_of("csr", {}, 1e-3));
  test::change_file(file,
                    "INSERT INTO matrix (fingerprint, rows, cols, nnz, label) VALUES ('no digits', 1, 1, 1, '');"
                    "CREATE TEMP TABLE copy AS SELECT * FROM trial; UPDATE copy SET id = NULL, matrix = 'no digits';"
                    "INSERT INTO trial SELECT * FROM copy");
  EXPECT_EQ(Database::open(file, test::no_warnings())->list().size(), 1U);
}

TEST(Database, TrialsAreAppendOnly) {
  const test::TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  record_one(*Database::open(file, test::no_warnings()), key_of(1), trial_of("csr", {}, 1e-3));
  EXPECT_THROW(test::change_file(file, "UPDATE trial SET warm_median_s = 0"), db::SqliteError);
  EXPECT_THROW(test::change_file(file, "DELETE FROM trial"), db::SqliteError);
  EXPECT_EQ(test::number_from(file, "SELECT count(*) FROM trial WHERE warm_median_s = 1e-3"), 1);
}

TEST(Database, LooksTrialsUpByIndex) {
  const test::TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  Database::open(file, test::no_warnings());
  const db::Connection connection(file, db::Access::read);
  db::Statement statement(connection,
                          "EXPLAIN QUERY PLAN SELECT max(id) FROM trial WHERE matrix = ?1 AND environment = ?2 "
                          "AND format_version = 1 GROUP BY format, params");
  std::string plan;
  while (statement.step()) {
    std::int64_t ignored = 0;
    std::string detail;
    statement.read(ignored, ignored, ignored, detail);
    plan += detail + "; ";
  }
  EXPECT_NE(plan.find("SEARCH trial USING INDEX trial_by_candidate (matrix=? AND environment=?)"), std::string::npos)
      << plan;
}

TEST(Database, TakesARehearsalBack) {
  const test::TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  test::Warnings warnings;
  const auto database = Database::open(file, warnings.sink());
  db::Connection other(file, db::Access::write);
  const auto rows = [&] {
    return other.number("SELECT (SELECT count(*) FROM suspect) + (SELECT count(*) FROM environment)");
  };
  database->rehearse();
  EXPECT_EQ(rows(), 0);
  {
    const db::Transaction held(other);
    database->rehearse();
  }
  database->note_suspect(key_of(1), {"csr", {}});
  EXPECT_EQ(rows(), 2) << "a suspect and where it was launched";
  EXPECT_EQ(warnings.count(), 0U);
}

TEST(Database, ServesManyThreads) {
  constexpr int threads = 8;
  constexpr int batches = 25;
  const auto database = Database::in_memory();
  {
    std::vector<std::jthread> workers;
    workers.reserve(threads);
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        for (int i = 0; i < batches; ++i) {
          record_one(*database, key_of(1), trial_of("csr", {{"t", t}, {"i", i}}, 1e-3 * (1 + t + i)));
          (void)database->trials(key_of(1));
        }
      });
    }
  }
  EXPECT_EQ(database->trials(key_of(1)).size(), static_cast<std::size_t>(threads * batches));
}

}  // namespace
}  // namespace autospmv
