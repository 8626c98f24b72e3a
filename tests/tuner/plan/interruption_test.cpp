// What is left of a tuning that ended early, and of candidates that were in hand when a process died.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "autospmv/autospmv.hpp"
#include "db/file/sqlite.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/context/prospects.hpp"
#include "tuner/measure/first_launch.hpp"
#include "tuner/measure/session.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {
namespace {

using testing::host_options;
using testing::make_matrix;
using testing::TemporaryFolder;

class Interruption : public ::testing::Test {
 protected:
  // As so many processes leave it behind that died while they launched this candidate.
  void let_processes_die_of(const Candidate& candidate, int deaths) {
    const auto database = Database::open(file_, {});
    for (int i = 0; i < deaths; ++i) {
      database->note_suspect(key_, candidate);
      db::Connection(file_, db::Access::write)
          .execute("UPDATE suspect SET pid = -1, start_ticks = " + std::to_string(i) + " WHERE pid <> -1");
    }
  }

  // Its candidates, in the order in which they were tried.
  [[nodiscard]] std::vector<std::string> tried() const {
    const db::Connection connection(file_, db::Access::read);
    db::Statement statement(connection,
                            "SELECT trim(format || ' ' || params) FROM trial GROUP BY format, params ORDER BY min(id)");
    std::vector<std::string> tried;
    while (statement.step()) statement.read(tried.emplace_back());
    return tried;
  }

  [[nodiscard]] std::int64_t trials_made() const {
    const db::Connection connection(file_, db::Access::read);
    db::Statement statement(connection, "SELECT count(*) FROM trial");
    std::int64_t count = 0;
    if (statement.step()) statement.read(count);
    return count;
  }

  Tuned<double> tune_again(const TuneOptions& how = {}) { return tune(matrix_, Context(options_), how); }

  // A candidate in the middle of those that a tuning multiplies by, all of which are forgotten again.
  Candidate one_of_many() {
    (void)tune_again();
    const auto database = Database::open(file_, {});
    auto trials = database->trials(key_);
    std::erase_if(trials, [](const TrialRecord& trial) { return !is_timed(trial.measurement); });
    EXPECT_GT(trials.size(), 4U);
    database->forget({});
    return trials.at(trials.size() / 2).candidate;
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "trials.db";
  // A short list may end before it comes to what was skipped or doubted.
  ContextOptions options_ = [this] {
    auto options = host_options(file_);
    options.effort = Effort::exhaustive;
    return options;
  }();
  Matrix<double> matrix_ = make_matrix<double>("gen:pde:10");
  TrialKey key_ = key_of(matrix_, Context(options_));
};

TEST_F(Interruption, KeepsTheTrialsBeforeItAndNotesNothing) {
  bool stop = false;
  int begun = 0;
  const auto progress = [&](const Progress& /*progress*/) { stop = ++begun == 4; };
  EXPECT_THROW(tune_again({.progress = progress, .stop = [&] { return stop; }}), Interrupted);
  const auto before = tried();
  EXPECT_EQ(before.size(), 3U);
  EXPECT_TRUE(Database::open(file_, {})->suspects(key_).empty());

  const auto rest = tune_again();
  EXPECT_GT(rest.new_trials, 0);
  EXPECT_TRUE(rest.winner);
  const auto after = tried();
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
}

TEST_F(Interruption, AsTheContextIsTold) {
  int begun = 0;
  options_.progress = [&](const Progress& progress) {
    EXPECT_LT(progress.done, progress.total);
    EXPECT_FALSE(progress.candidate.empty());
    ++begun;
  };
  options_.stop = [&] { return begun == 3; };
  const Context context(options_);
  const std::vector<double> x(static_cast<std::size_t>(matrix_.cols()), 1);
  std::vector<double> y(static_cast<std::size_t>(matrix_.rows()));
  EXPECT_THROW((void)make_plan(matrix_, context), Interrupted);
  EXPECT_EQ(tried().size(), 2U);
  begun = 0;
  EXPECT_THROW(auto_spmv(matrix_, x, y, {.context = &context}), Interrupted);
  // Of two other candidates, or again of the same where they were disturbed.
  EXPECT_EQ(trials_made(), 4);
  begun = 4;
  auto_spmv(matrix_, x, y, {.context = &context});
  EXPECT_GT(begun, 4);

  std::vector<double> expected(y.size());
  options_.effort = Effort::cached;
  options_.database = DatabaseChoice::memory();
  const Context plain(options_);
  auto_spmv(matrix_, x, expected, {.context = &plain});
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-12);
}

TEST_F(Interruption, OfABenchmarkToo) {
  bool stop = false;
  int begun = 0;
  const auto progress = [&](const Progress& /*progress*/) { stop = ++begun == 3; };
  const TuneOptions how{.progress = progress, .stop = [&] { return stop; }};
  EXPECT_THROW(bench(matrix_, Context(options_), {{"csr_scalar"}, {"csr_vector"}}, how), Interrupted);
  EXPECT_EQ(tried().size(), 2U);
  EXPECT_TRUE(Database::open(file_, {})->suspects(key_).empty());
}

TEST_F(Interruption, InTheMiddleOfATrialGivesItUp) {
  bool stop = false;
  // What a trial does last before its samples is to say that the candidate was launched.
  const auto view = data_of(matrix_).on({});
  Session<double> session(view, host_device(), tuning_rules, 1, find_format<double>,
                          {[&] { stop = true; }, [&] { return stop; }});
  Prospect prospect;
  prospect.candidate = {"csr_scalar", {}};
  EXPECT_THROW(session.attempt(prospect), Interrupted);
  EXPECT_TRUE(session.records().empty());
}

TEST_F(Interruption, WhatWasInHandAtADeathIsTriedLast) {
  const auto doubted = one_of_many();
  for (int deaths = 1; deaths < fatal_deaths; ++deaths) {
    let_processes_die_of(doubted, deaths);
    (void)tune_again();
    ASSERT_FALSE(tried().empty());
    EXPECT_EQ(tried().back(), doubted.text());
    const auto database = Database::open(file_, {});
    EXPECT_TRUE(database->suspects(key_).empty()) << "it has survived";
    database->forget({});
  }
}

TEST_F(Interruption, WhatWasInHandAtManyDeathsIsSkippedUntilItIsForgotten) {
  const auto killer = one_of_many();
  let_processes_die_of(killer, fatal_deaths);
  std::vector<std::string> warnings;
  options_.logger = [&](LogLevel /*level*/, std::string_view message) { warnings.emplace_back(message); };
  (void)tune_again();
  auto names = tried();
  EXPECT_EQ(std::count(names.begin(), names.end(), killer.text()), 0);
  EXPECT_EQ(warnings, std::vector{killer.text() + " is skipped: 3 processes died while launching it"});
  // On a busy machine some are tried again.
  (void)tune_again();
  EXPECT_EQ(tried(), names) << "all others were tried";

  Database::open(file_, {})->forget({.only_suspects = true});
  EXPECT_GE(tune_again().new_trials, 1);
  names = tried();
  EXPECT_EQ(std::count(names.begin(), names.end(), killer.text()), 1);
}

TEST_F(Interruption, NoEstimateIsDoubted) {
  const auto doubted = one_of_many();
  let_processes_die_of(doubted, 1);
  const Context context(options_);
  const auto features = extract_features(data_of(matrix_).on({}), Place{});
  const auto& service = service_of(context);
  const auto prospects = prospects_of<double>(features, key_, service, predictor_of<double>(features, key_, service));
  EXPECT_EQ(prospects.back().candidate, doubted);
  EXPECT_TRUE(prospects.back().doubted);
  for (const auto* prospect : by_estimate(prospects, {}, 1)) EXPECT_NE(prospect->candidate, doubted);
}

}  // namespace
}  // namespace autospmv
