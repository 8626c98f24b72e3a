// What a search tries next, by predictions and results that are made up.

#include "tuner/search/search.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/tuner/support.hpp"

namespace autospmv {
namespace {

Prospect prospect(const std::string& format, std::int64_t t, double seconds, Tier tier = Tier::neighbour) {
  Prospect prospect;
  prospect.candidate = {format, {{"T", t}}};
  prospect.prediction = {.seconds = seconds, .setup_seconds = 0, .deviation = 0.1, .tier = tier};
  return prospect;
}

Measurement passed(double seconds, double setup = 0) {
  Measurement measurement;
  measurement.outcome = Outcome::passed;
  measurement.warm = {seconds, seconds, seconds, 5};
  measurement.setup_seconds = setup;
  return measurement;
}

TEST(Search, TriesBaselinesFirstThenTheMostPromising) {
  std::vector<Prospect> prospects = {prospect("b", 1, 2e-6), prospect("a", 1, 1e-6), prospect("csr", 1, 9e-6),
                                     prospect("csr", 2, 8e-6)};
  prospects[2].baseline = prospects[3].baseline = true;
  const auto search = make_search(prospects, Effort::measure, {});
  EXPECT_EQ(search->next(), &prospects[3]) << "the better of a baseline's candidates";
  search->report(passed(8e-6), 0);
  EXPECT_EQ(search->next(), &prospects[1]);
}

TEST(Search, CorrectsOtherParametersOfAFormatByItsTrials) {
  const std::vector<Prospect> prospects = {prospect("a", 8, 1e-6), prospect("a", 16, 1.1e-6), prospect("b", 8, 1.2e-6)};
  const auto search = make_search(prospects, Effort::measure, {});
  ASSERT_EQ(search->next(), &prospects[0]);
  search->report(passed(4e-6), 0);
  EXPECT_EQ(search->next(), &prospects[2]) << "a was four times as slow as predicted";
}

TEST(Search, ExpectsOfOtherFormatsTheErrorOfAll) {
  const std::vector<Prospect> prospects = {prospect("a", 1, 1e-6), prospect("b", 1, 1.05e-6),
                                           prospect("c", 1, 1.39e-6)};
  const auto search = make_search(prospects, Effort::measure, {});
  ASSERT_EQ(search->next(), &prospects[0]);
  search->report(passed(1.4e-6), 0);
  ASSERT_EQ(search->next(), &prospects[1]);
  search->report(passed(1.5e-6), 0);
  EXPECT_EQ(search->next(), nullptr) << "c will take as much longer than predicted";
}

TEST(Search, EndsWhenNothingThatIsLeftCouldWin) {
  const std::vector<Prospect> prospects = {prospect("a", 1, 1e-6), prospect("b", 1, 2e-6)};
  const auto search = make_search(prospects, Effort::measure, {});
  ASSERT_EQ(search->next(), &prospects[0]);
  search->report(passed(1e-6), 0);
  EXPECT_EQ(search->next(), nullptr);
}

TEST(Search, EndsWhenTheBudgetIsSpent) {
  std::vector<Prospect> prospects = {prospect("csr", 1, 1e-6)};
  prospects[0].baseline = true;
  for (int i = 0; i < 20; ++i) prospects.push_back(prospect(std::string(1, static_cast<char>('f' + i)), 1, 1e-6));
  const SearchRules rules;
  const auto count = [&](double seconds_of_trial) {
    const auto search = make_search(prospects, Effort::measure, {.expected_calls = 1000}, rules);
    int trials = 0;
    for (; search->next() != nullptr; ++trials) search->report(passed(1e-6), seconds_of_trial);
    return trials;
  };
  EXPECT_EQ(count(0), rules.most_trials);
  EXPECT_EQ(count(1), rules.least_trials);
}

TEST(Search, ARefusedCandidateLeavesItsPlaceToAnother) {
  std::vector<Prospect> prospects;
  prospects.reserve(40);
  for (int i = 0; i < 40; ++i) prospects.push_back(prospect("a", i + 1, 1e-6));
  const SearchRules rules;
  const auto search = make_search(prospects, Effort::measure, {}, rules);
  Measurement refused;
  refused.outcome = Outcome::refused;
  int asked = 0;
  for (; search->next() != nullptr; ++asked) search->report(refused, 0);
  EXPECT_EQ(asked, 40);
}

TEST(Search, GivesEveryFormatTrialsWhereOnlyAVagueModelIsKnown) {
  std::vector<Prospect> prospects;
  prospects.reserve(32);
  for (int i = 0; i < 30; ++i) prospects.push_back(prospect("a", i + 1, 1e-6, Tier::model));
  prospects.push_back(prospect("b", 1, 2e-6, Tier::model));
  prospects.push_back(prospect("slow", 1, 9e-6, Tier::model));
  const SearchRules rules;
  for (auto& one : prospects) one.prediction.deviation = 2 * rules.vague;
  const auto search = make_search(prospects, Effort::measure, {}, rules);
  std::map<std::string, int> trials;
  while (const auto* const next = search->next()) ++trials[next->candidate.format];
  EXPECT_EQ(trials["a"], rules.most_blind_of_format);
  EXPECT_EQ(trials["b"], 1);
  EXPECT_EQ(trials.count("slow"), 0U);
}

TEST(Search, FollowsAModelThatIsNotVague) {
  std::vector<Prospect> prospects = {prospect("a", 1, 1e-6, Tier::model), prospect("b", 1, 2e-6, Tier::model)};
  for (auto& one : prospects) one.prediction.deviation = SearchRules{}.vague / 2;
  const auto search = make_search(prospects, Effort::measure, {});
  ASSERT_EQ(search->next(), &prospects[0]);
  search->report(passed(1e-6), 0);
  EXPECT_EQ(search->next(), nullptr) << "b would have to be twice as fast as predicted";
}

TEST(Search, TriesAllThatIsAdmittedOrNothing) {
  std::vector<Prospect> prospects = {prospect("a", 1, 1e-6), prospect("b", 1, 1), prospect("c", 1, 1e-6)};
  prospects[2].refusal = "no";
  prospects[1].deterministic = false;
  EXPECT_EQ(make_search(prospects, Effort::exhaustive, {})->most(), 2U);
  EXPECT_EQ(make_search(prospects, Effort::exhaustive, {.deterministic = true})->most(), 1U);
  prospects[1].deterministic = true;
  prospects[1].capturable = false;
  EXPECT_EQ(make_search(prospects, Effort::exhaustive, {})->most(), 2U) << "to be seen";
  EXPECT_EQ(make_search(prospects, Effort::measure, {})->most(), 1U) << "it could not win";
  EXPECT_EQ(make_search(prospects, Effort::measure, {.capture = false})->most(), 2U);
  EXPECT_EQ(make_search(prospects, Effort::cached, {})->next(), nullptr);
  EXPECT_EQ(make_search(prospects, Effort::estimate, {})->next(), nullptr);
}

TrialRecord tried(const Prospect& prospect, const Measurement& measurement) {
  return {prospect.candidate, 1, true, measurement};
}

TEST(OnlineSearch, TriesWhatPromisesMost) {
  std::vector<Prospect> prospects = {prospect("csr", 1, 4e-6), prospect("a", 1, 1e-6), prospect("b", 1, 2e-6),
                                     prospect("c", 1, 3.9e-6)};
  prospects[1].prediction.setup_seconds = 1;  // never pays
  prospects[3].prediction.setup_seconds = 1e-4;
  const auto search = make_online_search(prospects, std::vector{tried(prospects[0], passed(4e-6))}, {});
  ASSERT_EQ(search->next(), &prospects[2]);
  search->report(passed(2e-6), 0);
  EXPECT_EQ(search->next(), nullptr) << "nothing that is left would pay";
}

TEST(OnlineSearch, DoubtIsAReasonForATrialThatCostsLittle) {
  std::vector<Prospect> prospects = {prospect("csr", 1, 4e-6), prospect("a", 1, 4e-6)};
  const std::vector known{tried(prospects[0], passed(4e-6))};
  EXPECT_EQ(make_online_search(prospects, known, {})->next(), &prospects[1]);
  prospects[1].prediction.setup_seconds = 20 * 4e-6;
  EXPECT_EQ(make_online_search(prospects, known, {})->next(), nullptr);
  prospects[1].prediction.deviation = 1;
  EXPECT_EQ(make_online_search(prospects, known, {})->next(), &prospects[1]);
  EXPECT_EQ(make_online_search(prospects, known, {.expected_calls = 100})->next(), nullptr);
}

TEST(OnlineSearch, CorrectsPredictionsByWhatIsKnown) {
  const std::vector<Prospect> prospects = {prospect("csr", 1, 4e-6), prospect("a", 8, 1e-6), prospect("a", 16, 1e-6),
                                           prospect("b", 1, 1.5e-6)};
  const std::vector known{tried(prospects[0], passed(4e-6)), tried(prospects[1], passed(8e-6))};
  EXPECT_EQ(make_online_search(prospects, known, {})->next(), &prospects[3]) << "a was eight times as slow";
}

TEST(OnlineSearch, ExpectsOfOtherFormatsTheErrorOfAll) {
  const std::vector<Prospect> prospects = {prospect("a", 1, 1e-4), prospect("b", 1, 1e-4), prospect("c", 1, 1.2e-4)};
  const std::vector as_predicted{tried(prospects[0], passed(1.5e-4)), tried(prospects[1], passed(1e-4))};
  EXPECT_EQ(make_online_search(prospects, as_predicted, {})->next(), nullptr);
  const std::vector one_slower{tried(prospects[0], passed(1.5e-4))};
  EXPECT_EQ(make_online_search(prospects, one_slower, {})->next(), &prospects[1]);
  const std::vector both_slower{tried(prospects[0], passed(1.5e-4)), tried(prospects[1], passed(1.5e-4))};
  EXPECT_EQ(make_online_search(prospects, both_slower, {})->next(), nullptr) << "c will be no faster than they are";
}

// That b takes nine tenths of a's time is all that is known; a takes half of what the model says.
TEST(OnlineSearch, TakesOfOtherDevicesTheOrderOnly) {
  for (const auto tier : {Tier::sibling, Tier::neighbour}) {
    const std::vector<Prospect> prospects = {prospect("a", 1, 2e-4, tier), prospect("b", 1, 1.8e-4, tier)};
    const std::vector known{tried(prospects[0], passed(1e-4))};
    const auto* const expected = tier == Tier::sibling ? &prospects[1] : nullptr;
    EXPECT_EQ(make_online_search(prospects, known, {})->next(), expected) << name_of(tier);
  }
}

}  // namespace
}  // namespace autospmv
