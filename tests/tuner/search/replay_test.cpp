// Searches are replayed on recorded trials: how good they have to be.

#include <gtest/gtest.h>

#include <string>

#include "tests/tuner/search/replay.hpp"
#include "tuner/online/budget.hpp"

namespace autospmv {
namespace {

// Each recording is read once.
const testing::Replay& replay_of(const testing::Recording& recording) {
  static const testing::Replay device(testing::gpu_recording());
  static const testing::Replay host(testing::host_recording());
  return recording.device.backend == Backend::host ? host : device;
}

TEST(Replay, AFewTrialsFindNearlyTheBestWhereOtherMatricesAreKnown) {
  const auto [measured, estimated, online] = testing::replayed(replay_of(testing::gpu_recording()), false);
  ASSERT_GT(measured.matrices, 30);
  EXPECT_LE(measured.most_trials, SearchRules{}.most_trials);
  EXPECT_GE(measured.mean(), 0.98) << "worst " << measured.worst;
  EXPECT_GE(measured.worst, 0.88);
  EXPECT_GE(estimated.mean(), 0.91) << "worst " << estimated.worst;
  EXPECT_GE(online.mean(), 0.85) << "worst " << online.worst;
  EXPECT_LE(online.trials, 6 * online.matrices);
  RecordProperty("measure", std::to_string(measured.mean()) + " worst " + std::to_string(measured.worst));
  RecordProperty("estimate", std::to_string(estimated.mean()) + " worst " + std::to_string(estimated.worst));
  RecordProperty("online", std::to_string(online.mean()) + " worst " + std::to_string(online.worst));
}

TEST(Replay, TheModelAloneFindsWhatIsNearlyTheBest) {
  const auto [measured, estimated, online] = testing::replayed(replay_of(testing::gpu_recording()), true);
  EXPECT_GE(measured.mean(), 0.98) << "worst " << measured.worst;
  EXPECT_LE(measured.most_trials, SearchRules{}.most_blind_trials);
  EXPECT_LE(measured.trials, 15 * measured.matrices);
  EXPECT_GE(estimated.mean(), 0.93) << "worst " << estimated.worst;
  EXPECT_GE(online.mean(), 0.89) << "worst " << online.worst;
  EXPECT_LE(online.trials, 5 * online.matrices);
}

TEST(Replay, OnAProcessorTheModelAloneDoesToo) {
  const auto [measured, estimated, online] = testing::replayed(replay_of(testing::host_recording()), true);
  ASSERT_GT(measured.matrices, 50);
  EXPECT_GE(measured.mean(), 0.98) << "worst " << measured.worst;
  EXPECT_GE(estimated.mean(), 0.86) << "worst " << estimated.worst;
  RecordProperty("measure", std::to_string(measured.mean()) + " worst " + std::to_string(measured.worst));
  RecordProperty("estimate", std::to_string(estimated.mean()) + " worst " + std::to_string(estimated.worst));
  RecordProperty("online", std::to_string(online.mean()) + " worst " + std::to_string(online.worst));
  RecordProperty("trials", std::to_string(measured.trials) + " online " + std::to_string(online.trials));
}

TEST(Replay, OnAProcessorOthersSayMore) {
  const auto [measured, estimated, online] = testing::replayed(replay_of(testing::host_recording()), false);
  EXPECT_GE(measured.mean(), 0.98) << "worst " << measured.worst;
  EXPECT_GE(estimated.mean(), 0.92) << "worst " << estimated.worst;
  RecordProperty("measure", std::to_string(measured.mean()) + " worst " + std::to_string(measured.worst));
  RecordProperty("estimate", std::to_string(estimated.mean()) + " worst " + std::to_string(estimated.worst));
  RecordProperty("online", std::to_string(online.mean()) + " worst " + std::to_string(online.worst));
  RecordProperty("trials", std::to_string(measured.trials) + " online " + std::to_string(online.trials));
}

// A user's device is seldom one of those that were recorded. The model, whose coefficients were fitted to them, says as
// much by itself.
TEST(Replay, AnotherDeviceSaysAsMuchAsTheModelAlone) {
  for (const auto& recording : {testing::gpu_recording(), testing::host_recording()}) {
    const testing::Replay replay(testing::by_sibling(recording));
    const auto blind = testing::replayed(replay, true).estimated;
    const auto [measured, estimated, online] = testing::replayed(replay, false);
    EXPECT_GE(measured.mean(), 0.97) << "worst " << measured.worst;
    EXPECT_GE(estimated.mean(), 0.90) << "worst " << estimated.worst;
    EXPECT_GE(online.mean(), 0.89) << "worst " << online.worst;
    EXPECT_GE(estimated.mean(), blind.mean() - 0.015);
  }
}

TEST(Replay, OnAnOlderProcessorOthersSayMore) {
  const testing::Replay replay(testing::older_recording());
  const auto [measured, estimated, online] = testing::replayed(replay, false);
  ASSERT_GT(measured.matrices, 50);
  EXPECT_GE(measured.mean(), 0.95) << "worst " << measured.worst;
  EXPECT_GE(estimated.mean(), 0.88) << "worst " << estimated.worst;
  RecordProperty("measure", std::to_string(measured.mean()) + " worst " + std::to_string(measured.worst));
  RecordProperty("estimate", std::to_string(estimated.mean()) + " worst " + std::to_string(estimated.worst));
}

testing::Regret noted_regret(const testing::Recording& recording, bool blind) {
  auto replayed = testing::regret(replay_of(recording), blind);
  const std::string name = blind ? "blind " : "known ";
  for (const auto& [products, quality] : replayed.totals) {
    ::testing::Test::RecordProperty(name + std::to_string(products),
                                    std::to_string(1 / quality.mean()) + " worst " + std::to_string(1 / quality.worst));
  }
  ::testing::Test::RecordProperty(name + "miss", std::to_string(replayed.worst_excess));
  return replayed;
}

TEST(RegretReplay, StaysWithinThePromiseOnAProcessor) {
  for (const bool blind : {true, false}) {
    const auto replayed = noted_regret(testing::host_recording(), blind);
    EXPECT_LE(replayed.worst_excess, 0) << blind;
    // Plain CSR itself is fast.
    EXPECT_LE(1 / replayed.totals.at(10'000).mean(), 0.88) << blind;
  }
}

TEST(RegretReplay, StaysWithinThePromiseOnADevice) {
  const auto lent = budget_rules(Backend::cuda).head_start - BudgetRules{}.head_start;
  const auto known = noted_regret(testing::gpu_recording(), false);
  EXPECT_LE(known.worst_excess, lent);
  EXPECT_LE(1 / known.totals.at(1000).mean(), 0.8);
  // What the model alone takes to be fast may take a hundred times as long, which is seen when it is verified.
  const auto blind = noted_regret(testing::gpu_recording(), true);
  EXPECT_LE(1 / blind.totals.at(1000).mean(), 0.82);
}

}  // namespace
}  // namespace autospmv
