// What a database knows of a matrix on which plain CSR was not tried.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "tests/tuner/support.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/objective.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {
namespace {

class PartialKnowledge : public ::testing::Test {
 protected:
  PartialKnowledge() {
    auto options = testing::host_options();
    options.logger = [this](LogLevel /*level*/, std::string_view message) { warnings_.emplace_back(message); };
    context_.emplace(options);
  }

  TrialRecord trial(const std::string& format, double seconds) {
    const auto* const found = find_format<double>(format);
    const auto& device = service_of(*context_).device();
    const auto features = extract_features(data_of(matrix_).on(device), device);
    TrialRecord trial{
        {format, found->params(features, device).combinations().front()}, found->info().version, true, {}};
    trial.measurement.outcome = Outcome::passed;
    trial.measurement.warm = {seconds, seconds, seconds, 5};
    return trial;
  }

  void record(const std::vector<TrialRecord>& trials) {
    database().record(key_of(matrix_, *context_), {"", matrix_.rows(), matrix_.cols(), matrix_.nnz(), 0, {}}, trials);
  }

  Database& database() { return service_of(*context_).database(); }

  std::vector<std::string> warnings_;
  std::optional<Context> context_;
  Matrix<double> matrix_ = testing::make_matrix<double>("gen:pde:14");
};

constexpr double slow = 1;     // second a product, which no candidate takes
constexpr double fast = 1e-9;  // which none manages

TEST_F(PartialKnowledge, IsPassedOverByWhoOnlyAsksTheDatabase) {
  (void)bench(matrix_, *context_, parse_choices(std::vector<std::string>{"tjds block=4096", "coo value_bits=64"}));
  ASSERT_FALSE(database().trials(key_of(matrix_, *context_)).empty());
  const auto plan = make_plan(matrix_, *context_, {.effort = Effort::cached});
  EXPECT_EQ(plan.choice(), "csr_scalar");
  const auto known = plan.explain();
  EXPECT_EQ(known.source, "untried");
  EXPECT_EQ(known.passed_over, without_baseline);
  EXPECT_NE(known.text().find(without_baseline), std::string::npos) << known.text();
  EXPECT_NE(known.json().find(without_baseline), std::string::npos) << known.json();
  EXPECT_EQ(warnings_, std::vector<std::string>{without_baseline});
}

TEST_F(PartialKnowledge, DecidesOnceABaselineWasTried) {
  record({trial("tjds", 3e-6), trial("coo", 2e-6), trial("csr_scalar", 4e-6)});
  const auto plan = make_plan(matrix_, *context_, {.effort = Effort::cached});
  EXPECT_EQ(plan.choice().substr(0, 4), "coo ");
  EXPECT_EQ(plan.explain().source, "database");
  EXPECT_EQ(plan.explain().passed_over, "");
  EXPECT_TRUE(warnings_.empty()) << warnings_.front();
}

TEST_F(PartialKnowledge, OfABaselineThatFailedIsNoMore) {
  auto failed = trial("csr_scalar", 1e-6);
  failed.measurement = {};
  failed.measurement.outcome = Outcome::failed;
  record({trial("coo", 2e-6), failed});
  EXPECT_EQ(make_plan(matrix_, *context_, {.effort = Effort::cached}).explain().source, "untried");
  EXPECT_FALSE(warnings_.empty());
}

TEST_F(PartialKnowledge, StandsWhereAnEffortIsComplete) {
  record({trial("coo", 2e-6)});
  database().mark_tuned(key_of(matrix_, *context_), effort_mark(Effort::online, {}), format_catalogue());
  EXPECT_EQ(make_plan(matrix_, *context_, {.effort = Effort::cached}).explain().source, "database");
  EXPECT_TRUE(warnings_.empty()) << warnings_.front();
}

// The same candidate is better known by its trial than by any prediction.
TEST_F(PartialKnowledge, IsTakenForPredictionsByAnEstimate) {
  const auto blind = make_plan(matrix_, *context_, {.effort = Effort::estimate}).explain();
  ASSERT_EQ(blind.source, "estimated");
  auto first = trial(blind.choice.format, slow);
  first.candidate.params = *Params::parse(blind.choice.parameters);
  const bool is_baseline = blind.choice.format == "csr_scalar";
  record({trial("tjds", slow), trial("coo", slow)});
  if (!is_baseline) record({first});
  const auto known = make_plan(matrix_, *context_, {.effort = Effort::estimate}).explain();
  EXPECT_EQ(known.source, "estimated");
  EXPECT_EQ(known.passed_over, without_baseline);
  EXPECT_NE(known.choice.format, "tjds");
  EXPECT_NE(known.choice.format, "coo");
  const bool is_same = known.choice.format == blind.choice.format && known.choice.parameters == blind.choice.parameters;
  EXPECT_EQ(is_same, is_baseline) << "it is known to be slow";
  record({trial("tjds", fast)});
  EXPECT_EQ(make_plan(matrix_, *context_, {.effort = Effort::estimate}).explain().choice.format, "tjds");
}

TEST_F(PartialKnowledge, OfAFailureIsNotForgottenByAnEstimate) {
  const auto blind = make_plan(matrix_, *context_, {.effort = Effort::estimate});
  TrialRecord wrong{{blind.explain().choice.format, *Params::parse(blind.explain().choice.parameters)}, 0, true, {}};
  wrong.format_version = find_format<double>(wrong.candidate.format)->info().version;
  wrong.measurement.outcome = Outcome::wrong_answer;
  record({wrong});
  EXPECT_NE(make_plan(matrix_, *context_, {.effort = Effort::estimate}).choice(), blind.choice());
}

TEST_F(PartialKnowledge, IsOneMoreCandidateOnline) {
  record({trial("tjds", slow), trial("coo", fast)});
  Limits limits;
  limits.expected_calls = 1'000'000'000;  // so many that trials pay, whatever is predicted
  const auto plan = make_plan(matrix_, *context_, {.effort = Effort::online, .limits = limits});
  const auto x = testing::ramp(matrix_.cols());
  std::vector<double> y(x.size());
  while (!plan.settled()) plan(x, y);
  EXPECT_TRUE(testing::is_product(matrix_, 1.0, x, 0.0, y, y));
  const auto trials = database().trials(key_of(matrix_, *context_));
  const auto of = [&](const std::string& format) {
    return std::find_if(trials.begin(), trials.end(),
                        [&](const TrialRecord& one) { return one.candidate.format == format; });
  };
  ASSERT_NE(of("csr_scalar"), trials.end()) << "plain CSR was timed";
  ASSERT_NE(of("coo"), trials.end());
  EXPECT_GT(of("coo")->measurement.warm.median, fast) << "it was tried again";
  EXPECT_EQ(of("tjds")->measurement.warm.median, slow) << "what is known to be slow is left alone";
}

}  // namespace
}  // namespace autospmv
