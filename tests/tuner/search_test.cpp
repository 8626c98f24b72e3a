// Searches are replayed on recorded trials: no device runs anything here.

#include "tuner/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "features/recorded.hpp"
#include "tests/tuner/recorded.hpp"
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

TEST(Search, LearnsFromTrialsOfAFormatAboutItsOtherParameters) {
  const std::vector<Prospect> prospects = {prospect("a", 8, 1e-6), prospect("a", 16, 1.1e-6), prospect("b", 8, 1.2e-6)};
  const auto search = make_search(prospects, Effort::measure, {});
  ASSERT_EQ(search->next(), &prospects[0]);
  search->report(passed(4e-6), 0);
  EXPECT_EQ(search->next(), &prospects[2]) << "a was four times as slow as predicted";
}

TEST(Search, ExpectsOfOtherFormatsWhatAllHaveMissed) {
  const std::vector<Prospect> prospects = {prospect("a", 1, 1e-6), prospect("b", 1, 1.1e-6), prospect("c", 1, 1.3e-6)};
  const auto search = make_search(prospects, Effort::measure, {});
  ASSERT_EQ(search->next(), &prospects[0]);
  search->report(passed(1.4e-6), 0);
  ASSERT_EQ(search->next(), &prospects[1]);
  search->report(passed(1.6e-6), 0);
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

TEST(Search, GivesEveryFormatItsTurnWhereOnlyAVagueModelIsKnown) {
  std::vector<Prospect> prospects;
  prospects.reserve(32);
  for (int i = 0; i < 30; ++i) prospects.push_back(prospect("a", i + 1, 1e-6, Tier::model));
  prospects.push_back(prospect("b", 1, 2e-6, Tier::model));
  prospects.push_back(prospect("hopeless", 1, 9e-6, Tier::model));
  const SearchRules rules;
  for (auto& one : prospects) one.prediction.deviation = 2 * rules.vague;
  const auto search = make_search(prospects, Effort::measure, {}, rules);
  std::map<std::string, int> trials;
  while (const auto* const next = search->next()) ++trials[next->candidate.format];
  EXPECT_EQ(trials["a"], rules.most_blind_of_format);
  EXPECT_EQ(trials["b"], 1);
  EXPECT_EQ(trials.count("hopeless"), 0U);
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

TEST(OnlineSearch, LearnsFromWhatIsKnown) {
  const std::vector<Prospect> prospects = {prospect("csr", 1, 4e-6), prospect("a", 8, 1e-6), prospect("a", 16, 1e-6),
                                           prospect("b", 1, 1.5e-6)};
  const std::vector known{tried(prospects[0], passed(4e-6)), tried(prospects[1], passed(8e-6))};
  EXPECT_EQ(make_online_search(prospects, known, {})->next(), &prospects[3]) << "a was eight times as slow";
}

TEST(OnlineSearch, ExpectsOfOtherFormatsWhatAllHaveMissed) {
  const std::vector<Prospect> prospects = {prospect("a", 1, 1e-4), prospect("b", 1, 1e-4), prospect("c", 1, 1.2e-4)};
  const std::vector as_predicted{tried(prospects[0], passed(1.5e-4)), tried(prospects[1], passed(1e-4))};
  EXPECT_EQ(make_online_search(prospects, as_predicted, {})->next(), nullptr);
  const std::vector one_missed{tried(prospects[0], passed(1.5e-4))};
  EXPECT_EQ(make_online_search(prospects, one_missed, {})->next(), &prospects[1]);
  const std::vector both_missed{tried(prospects[0], passed(1.5e-4)), tried(prospects[1], passed(1.5e-4))};
  EXPECT_EQ(make_online_search(prospects, both_missed, {})->next(), nullptr) << "c will be no faster than they are";
}

// ---- Replays -----------------------------------------------------------------------------------------------------

// Of best time / chosen time.
struct Quality {
  double logs = 0;
  double worst = 1;
  int matrices = 0;
  int trials = 0;
  int most_trials = 0;

  void add(double ratio, int made) {
    logs += std::log(ratio);
    worst = std::min(worst, ratio);
    ++matrices;
    trials += made;
    most_trials = std::max(most_trials, made);
  }
  [[nodiscard]] double mean() const { return std::exp(logs / matrices); }
};

struct Replayed {
  Quality measured;
  Quality estimated;
  Quality online;
};

using Trials = std::map<Candidate, const TrialRecord*>;

double total(const TrialRecord& trial, const Limits& limits) {
  return trial.measurement.setup_seconds + static_cast<double>(limits.expected_calls) * trial.measurement.warm.median;
}

// Seconds of all calls, trials included, where a conversion takes as long again from the products beside it.
double online_total(const std::vector<Prospect>& prospects, const Trials& trials, const Limits& limits, int& made) {
  const auto& first = *trials.at(fallback_prospect(prospects, limits).candidate);
  const auto search = make_online_search(prospects, std::vector{first}, limits);
  double best = first.measurement.warm.median;
  double spent = 0;
  made = 1;
  while (const auto* const next = search->next()) {
    const auto& measurement = trials.at(next->candidate)->measurement;
    best = std::min(best, measurement.warm.median);
    spent += 2 * measurement.setup_seconds + SearchRules{}.products_of_trial * (measurement.warm.median - best);
    search->report(measurement, 0);
    ++made;
  }
  return spent + static_cast<double>(limits.expected_calls) * best;
}

// Every matrix is predicted from all others, or by the model alone, and searched as if it were new.
Replayed replay(const testing::Recording& recording, bool blind) {
  const auto records = testing::recorded_matrices(recording);
  const auto& device = recording.device;
  const auto model = testing::model_of(recording);
  const auto experience = testing::experience_of<double>(records, device, model);
  const Limits limits;
  Replayed replayed;
  for (const auto& record : records) {
    const auto features = features_of_record(record.matrix.features);
    Trials trials;
    for (const auto& trial : record.trials) trials.emplace(trial.candidate, &trial);
    const auto predictor = blind ? Predictor<double>(model)
                                 : Predictor<double>(experience, experience->near(*features, record.key.pattern));
    auto prospects = all_prospects<double>(*features, device, predictor);
    std::erase_if(prospects, [&](const Prospect& one) { return !trials.contains(one.candidate); });
    double best = INFINITY;
    for (const auto& one : prospects) best = std::min(best, total(*trials.at(one.candidate), limits));

    const auto search = make_search(prospects, Effort::measure, limits, search_rules(device.backend));
    double found = INFINITY;
    int made = 0;
    while (const auto* const next = search->next()) {
      const auto& trial = *trials.at(next->candidate);
      found = std::min(found, total(trial, limits));
      search->report(trial.measurement, trial.measurement.setup_seconds + 40 * trial.measurement.warm.median);
      ++made;
    }
    replayed.measured.add(best / found, made);
    const auto* const estimate = by_estimate(prospects, limits, INT64_MAX).front();
    replayed.estimated.add(best / total(*trials.at(estimate->candidate), limits), 0);
    const double online = online_total(prospects, trials, limits, made);
    replayed.online.add(best / online, made);
  }
  return replayed;
}

TEST(Replay, AFewTrialsFindNearlyTheBestWhereOtherMatricesAreKnown) {
  const auto [measured, estimated, online] = replay(testing::gpu_recording(), false);
  ASSERT_GT(measured.matrices, 30);
  EXPECT_LE(measured.most_trials, SearchRules{}.most_trials);
  EXPECT_GE(measured.mean(), 0.97) << "worst " << measured.worst;
  EXPECT_GE(measured.worst, 0.8);
  EXPECT_GE(estimated.mean(), 0.8) << "worst " << estimated.worst;
  EXPECT_GE(online.mean(), 0.85) << "worst " << online.worst;
  EXPECT_LE(online.trials, 6 * online.matrices);
  RecordProperty("measure", std::to_string(measured.mean()) + " worst " + std::to_string(measured.worst));
  RecordProperty("estimate", std::to_string(estimated.mean()) + " worst " + std::to_string(estimated.worst));
  RecordProperty("online", std::to_string(online.mean()) + " worst " + std::to_string(online.worst));
}

TEST(Replay, MoreTrialsFindThemWhereNothingIsKnown) {
  const auto [measured, estimated, online] = replay(testing::gpu_recording(), true);
  EXPECT_GE(measured.mean(), 0.96) << "worst " << measured.worst;
  EXPECT_LE(measured.most_trials, SearchRules{}.most_blind_trials);
  EXPECT_GE(online.mean(), 0.7) << "worst " << online.worst;
}

TEST(Replay, OnAProcessorTheModelAloneFindsWhatIsNearlyTheBest) {
  const auto [measured, estimated, online] = replay(testing::host_recording(), true);
  ASSERT_GT(measured.matrices, 50);
  EXPECT_GE(measured.mean(), 0.96) << "worst " << measured.worst;
  EXPECT_GE(estimated.mean(), 0.86) << "worst " << estimated.worst;
  RecordProperty("measure", std::to_string(measured.mean()) + " worst " + std::to_string(measured.worst));
  RecordProperty("estimate", std::to_string(estimated.mean()) + " worst " + std::to_string(estimated.worst));
  RecordProperty("online", std::to_string(online.mean()) + " worst " + std::to_string(online.worst));
  RecordProperty("trials", std::to_string(measured.trials) + " online " + std::to_string(online.trials));
}

TEST(Replay, OnAProcessorOthersTeachMore) {
  const auto [measured, estimated, online] = replay(testing::host_recording(), false);
  EXPECT_GE(measured.mean(), 0.97) << "worst " << measured.worst;
  EXPECT_GE(estimated.mean(), 0.88) << "worst " << estimated.worst;
  RecordProperty("measure", std::to_string(measured.mean()) + " worst " + std::to_string(measured.worst));
  RecordProperty("estimate", std::to_string(estimated.mean()) + " worst " + std::to_string(estimated.worst));
  RecordProperty("online", std::to_string(online.mean()) + " worst " + std::to_string(online.worst));
  RecordProperty("trials", std::to_string(measured.trials) + " online " + std::to_string(online.trials));
}

}  // namespace
}  // namespace autospmv
