// What is better, what limits allow, and which effort covers which, of trials as the database returns them.
#include "tuner/objective.hpp"

#include <gtest/gtest.h>

#include "db/database.hpp"
#include "tests/db/support.hpp"
#include "tuner/context/keys.hpp"

namespace autospmv {
namespace {

using test::key_of;
using test::matrix_record;
using test::record_one;
using test::trial_of;

const std::int64_t csr_bytes = matrix_record().csr_bytes;

Limits calls(std::int64_t expected_calls) {
  Limits limits;
  limits.expected_calls = expected_calls;
  return limits;
}

std::string winner_text(Database& database, const Limits& limits) {
  const auto winner = winner_of(database.trials(key_of(1)), limits, csr_bytes);
  return winner ? winner->candidate.text() : "none";
}

std::vector<TrialRecord> by_total(Database& database, const Limits& limits) {
  auto trials = database.trials(key_of(1));
  sort_by_total(trials, limits);
  return trials;
}

std::vector<std::string> texts_by_total(Database& database, const Limits& limits) {
  std::vector<std::string> texts;
  for (const auto& trial : by_total(database, limits)) texts.push_back(trial.candidate.text());
  return texts;
}

TEST(Objective, WinnerWeighsSetupAgainstCalls) {
  const auto database = Database::in_memory();
  auto slow_to_build = trial_of("hyb", {}, 1e-3);
  slow_to_build.measurement.setup_seconds = 1;
  record_one(*database, key_of(1), slow_to_build);
  record_one(*database, key_of(1), trial_of("csr", {}, 2e-3));
  EXPECT_EQ(winner_text(*database, calls(900)), "csr");
  EXPECT_EQ(winner_text(*database, calls(1100)), "hyb");
}

TEST(Objective, OnlyWhatPassedAndWasMeasuredWins) {
  const auto database = Database::in_memory();
  for (const auto outcome : {Outcome::refused, Outcome::wrong_answer, Outcome::failed}) {
    auto trial = trial_of("fast_" + std::to_string(static_cast<int>(outcome)), {}, 1e-9);
    trial.measurement.outcome = outcome;
    record_one(*database, key_of(1), trial);
  }
  auto unmeasured = trial_of("unmeasured", {}, 0);
  unmeasured.measurement.warm.samples = 0;
  record_one(*database, key_of(1), unmeasured);
  EXPECT_EQ(winner_text(*database, {}), "none");
  record_one(*database, key_of(1), trial_of("csr", {}, 1));
  EXPECT_EQ(winner_text(*database, {}), "csr");
}

TEST(Objective, KeepsTheMemoryLimit) {
  const auto database = Database::in_memory();
  auto large = trial_of("large", {}, 1e-3);
  large.measurement.bytes = 2000;  // twice the CSR arrays of matrix_record()
  record_one(*database, key_of(1), large);
  record_one(*database, key_of(1), trial_of("small", {}, 2e-3));
  Limits limits;
  EXPECT_EQ(winner_text(*database, limits), "large");
  limits.memory_factor = 2;
  EXPECT_EQ(winner_text(*database, limits), "large");
  limits.memory_factor = 1.999;
  EXPECT_EQ(winner_text(*database, limits), "small");
  limits.memory_factor = 0.5;
  EXPECT_EQ(winner_text(*database, limits), "none");
}

TEST(Objective, UnlimitedMemoryAlsoFitsAMatrixOfUnknownSize) {
  const auto database = Database::in_memory();
  database->record(key_of(1), MatrixRecord{}, std::vector{trial_of("csr", {}, 1e-3)});
  EXPECT_TRUE(winner_of(database->trials(key_of(1)), {}, 0));
}

TEST(Objective, KeepsToDeterministicCandidatesIfAsked) {
  const auto database = Database::in_memory();
  auto atomics = trial_of("coo", {}, 1e-3);
  atomics.deterministic = false;
  record_one(*database, key_of(1), atomics);
  record_one(*database, key_of(1), trial_of("csr", {}, 2e-3));
  Limits limits;
  EXPECT_EQ(winner_text(*database, limits), "coo");
  limits.deterministic = true;
  EXPECT_EQ(winner_text(*database, limits), "csr");
}

TEST(Objective, KeepsToWhatCanBeCapturedUnlessNothingIs) {
  const auto database = Database::in_memory();
  auto children = trial_of("suraa", {}, 1e-3);
  children.capturable = false;
  record_one(*database, key_of(1), children);
  record_one(*database, key_of(1), trial_of("csr", {}, 2e-3));
  EXPECT_EQ(winner_text(*database, {}), "csr");
  EXPECT_EQ(winner_text(*database, {.capture = false}), "suraa");
}

TEST(Objective, TiesAreBrokenTheSameWayInEveryOrder) {
  auto small = trial_of("z", {}, 1e-3);
  small.measurement.bytes = 999;
  const std::vector trials{trial_of("b", {{"T", 1}}, 1e-3), trial_of("a", {{"T", 2}}, 1e-3),
                           trial_of("a", {{"T", 1}}, 1e-3), small};
  const std::vector<std::string> expected{"z", "a T=1", "a T=2", "b T=1"};
  const auto forward = Database::in_memory();
  forward->record(key_of(1), matrix_record(), trials);
  EXPECT_EQ(texts_by_total(*forward, {}), expected);
  const auto backward = Database::in_memory();
  backward->record(key_of(1), matrix_record(), std::vector(trials.rbegin(), trials.rend()));
  EXPECT_EQ(texts_by_total(*backward, {}), expected);
  EXPECT_EQ(winner_text(*backward, {}), "z");
}

// Noise puts what is this close in any order: the one that stores less is the better one.
TEST(Objective, TiesWithinNoiseGoToFewerBytesThenToFewerParameters) {
  const auto database = Database::in_memory();
  const auto key = key_of(1);
  auto large = trial_of("large", {}, 1e-5);
  large.measurement.bytes = 5000;
  auto small = trial_of("small", {{"T", 1}, {"block", 2}}, 1.009e-5);
  small.measurement.bytes = 10;
  auto simple = trial_of("simple", {{"T", 1}}, 1.009e-5);
  simple.measurement.bytes = 10;
  auto slow = trial_of("slow", {}, 1.02e-5);
  slow.measurement.bytes = 0;
  for (const auto& trial : {slow, small, large}) record_one(*database, key, trial);
  EXPECT_EQ(winner_of(database->trials(key), {}, csr_bytes)->candidate.format, "small");
  record_one(*database, key, simple);
  EXPECT_EQ(winner_of(database->trials(key), {}, csr_bytes)->candidate.format, "simple");
}

TEST(Objective, TrialsComeCheapestFirstAndFailuresLast) {
  const auto database = Database::in_memory();
  auto refused = trial_of("a", {}, 0);
  refused.measurement.outcome = Outcome::refused;
  refused.measurement.detail = "padding of 17";
  auto slow_to_build = trial_of("b", {}, 1e-3);
  slow_to_build.measurement.setup_seconds = 5;
  database->record(key_of(1), matrix_record(),
                   std::vector{refused, slow_to_build, trial_of("c", {}, 3e-3), trial_of("d", {}, 2e-3)});
  EXPECT_EQ(texts_by_total(*database, calls(1000)), (std::vector<std::string>{"d", "c", "b", "a"}));
  EXPECT_EQ(texts_by_total(*database, calls(100'000)), (std::vector<std::string>{"b", "d", "c", "a"}));
  EXPECT_EQ(by_total(*database, {}).back().measurement.detail, "padding of 17");
}

TEST(Objective, WhoHasTriedMoreHasTriedLess) {
  const auto covers = [](const std::string& mark, Effort effort, const Limits& limits = {}) {
    return is_covered(std::vector{mark}, effort, limits);
  };
  EXPECT_TRUE(covers("measure", Effort::measure));
  EXPECT_FALSE(covers("measure", Effort::exhaustive));
  EXPECT_TRUE(covers("exhaustive", Effort::exhaustive));
  EXPECT_TRUE(covers("exhaustive", Effort::measure));
  EXPECT_TRUE(covers("exhaustive", Effort::online));
  EXPECT_TRUE(covers("measure", Effort::online)) << "the short list is the same";
  EXPECT_FALSE(covers("online", Effort::measure));
  EXPECT_FALSE(covers("exhaustive", Effort::estimate));
  EXPECT_TRUE(covers("measure", Effort::measure, {.deterministic = true}));
  EXPECT_FALSE(covers("measure deterministic", Effort::measure));
  EXPECT_TRUE(covers("measure deterministic", Effort::online, {.deterministic = true}));
  EXPECT_FALSE(covers("measure", Effort::measure, {.capture = false})) << "what cannot be captured was left out";
  EXPECT_FALSE(covers("measure uncaptured", Effort::measure));
  EXPECT_FALSE(is_covered({}, Effort::measure, {}));

  const auto many = calls(many_calls);
  EXPECT_EQ(effort_mark(Effort::measure, many), "measure for many calls");
  EXPECT_EQ(effort_mark(Effort::exhaustive, many), "exhaustive") << "it tries all of them either way";
  EXPECT_FALSE(covers("measure", Effort::measure, many));
  EXPECT_TRUE(covers("measure for many calls", Effort::measure, many));
  EXPECT_TRUE(covers("measure for many calls", Effort::measure));
  EXPECT_TRUE(covers("exhaustive", Effort::measure, many));
  EXPECT_TRUE(covers("measure", Effort::online, many));
}

}  // namespace
}  // namespace autospmv
