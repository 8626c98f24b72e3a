// Which candidates there are for a matrix, and which are likely, before any is tried.
#include "tuner/context/prospects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "features/longest_row.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/search/search.hpp"

namespace autospmv {
namespace {

using testing::make_matrix;

TEST(AllProspects, AreThereForASearch) {
  const auto matrix = make_matrix<double>("gen:pde:10");
  const auto features = extract_features(data_of(matrix).on({}), Place{});
  const auto prospects = all_prospects<double>(features, host_device(), blind_predictor(host_device()));
  const auto few = make_search(prospects, Effort::measure, {});
  const auto admitted =
      std::count_if(prospects.begin(), prospects.end(), [](const Prospect& p) { return p.admitted(); });
  EXPECT_LT(admitted, static_cast<std::ptrdiff_t>(prospects.size())) << "nothing was refused";
  EXPECT_EQ(make_search(prospects, Effort::exhaustive, {})->most(), static_cast<std::size_t>(admitted));
  EXPECT_LT(few->most(), static_cast<std::size_t>(admitted));
  EXPECT_GT(few->most(), 3U);
  while (const auto* const next = few->next()) {
    EXPECT_TRUE(next->admitted());
    few->report({}, 0);
  }
  EXPECT_EQ(fallback_prospect(prospects, {}).cost.storage_bytes, 0);
}

TEST(AllProspects, LeaveOutWhatWinsNowhereUnlessItIsNamedOrEverythingIs) {
  const auto matrix = make_matrix<double>("gen:pde:10");
  const auto features = extract_features(data_of(matrix).on({}), Place{});
  const auto predictor = blind_predictor(host_device());
  const auto count_coo = [&](std::span<const FormatChoice> only, Choices choices) {
    const auto prospects = all_prospects<double>(features, host_device(), predictor, only, choices);
    return std::count_if(prospects.begin(), prospects.end(),
                         [](const Prospect& prospect) { return prospect.candidate.format == "coo"; });
  };
  ASSERT_FALSE(find_format<double>("coo")->info().is_offered_on(Backend::host));
  const std::vector<FormatChoice> named = {FormatChoice::of("coo")};
  EXPECT_EQ(count_coo({}, Choices::likely), 0);
  EXPECT_GT(count_coo(named, Choices::likely), 0);
  EXPECT_GT(count_coo({}, Choices::all), 0);
}

TEST(ByEstimate, KeepsToTheLimitsAndDistrustsWildPredictions) {
  std::vector<Prospect> prospects(3);
  prospects[0].candidate.format = "wild";
  prospects[0].prediction = {.seconds = 1e-6, .setup_seconds = 0, .deviation = 3, .tier = Tier::neighbour};
  prospects[1].candidate.format = "sure";
  prospects[1].prediction = {.seconds = 1.1e-6, .setup_seconds = 0, .deviation = 0.01, .tier = Tier::neighbour};
  prospects[1].cost.storage_bytes = 1000;
  prospects[2].candidate.format = "slow";
  prospects[2].prediction = {.seconds = 9e-6, .setup_seconds = 0, .deviation = 0.01, .tier = Tier::neighbour};
  EXPECT_EQ(by_estimate(prospects, {}, 100).front(), &prospects[1]);
  EXPECT_EQ(by_estimate(prospects, {.memory_factor = 1}, 100).size(), 2U);
  prospects[1].refusal = "no";
  EXPECT_EQ(by_estimate(prospects, {}, 100).size(), 2U);
  // A conversion that does not pay off in so few calls.
  prospects[1].refusal.clear();
  prospects[1].prediction.setup_seconds = 1e-3;
  EXPECT_NE(by_estimate(prospects, {.expected_calls = 10}, 100).front(), &prospects[1]);
}

TEST(ByEstimate, DiscountsTheLuckOfTheBestOfMany) {
  std::vector<Prospect> prospects(51);
  for (auto& prospect : prospects) {
    prospect.candidate.format = "many";
    prospect.prediction = {.seconds = 1e-6, .setup_seconds = 0, .deviation = 0.2, .tier = Tier::neighbour};
  }
  prospects.back().candidate.format = "one";
  prospects.back().prediction.seconds = 1.03e-6;
  EXPECT_EQ(by_estimate(prospects, {}, 100).front(), &prospects.back());
  // Where nothing is known of any matrix, what is off is off alike.
  for (auto& prospect : prospects) prospect.prediction.tier = Tier::model;
  EXPECT_NE(by_estimate(prospects, {}, 100).front(), &prospects.back());
}

// Its CUDA kernel adds by atomics, and its host kernel does not.
TEST(AllProspects, AreDeterministicOneByOne) {
  const auto matrix = make_matrix<double>("gen:circuit:3000");
  const auto features = extract_features(data_of(matrix).on({}), Place{});
  int seen = 0;
  for (const auto& prospect : all_prospects<double>(features, host_device(), blind_predictor(host_device()))) {
    if (prospect.candidate.format != "hyb") continue;
    EXPECT_TRUE(prospect.deterministic) << prospect.candidate.text();
    ++seen;
  }
  EXPECT_GT(seen, 0);
  EXPECT_FALSE(find_format<double>("hyb")->info().deterministic);
}

TEST(FallbackProspect, KeepsToTheLimits) {
  std::vector<Prospect> prospects(2);
  prospects[0].candidate.format = "fast";
  prospects[0].deterministic = false;
  prospects[1].candidate.format = "sure";
  EXPECT_EQ(fallback_prospect(prospects, {}).candidate.format, "fast");
  EXPECT_EQ(fallback_prospect(prospects, {.deterministic = true}).candidate.format, "sure");
  prospects[0].deterministic = true;
  prospects[0].capturable = false;
  EXPECT_EQ(fallback_prospect(prospects, {}).candidate.format, "sure");
  EXPECT_EQ(fallback_prospect(prospects, {.capture = false}).candidate.format, "fast");
}

TEST(Featureless, HasNothingThatAFormatCouldUse) {
  const auto features = featureless(1000, 2000, 7500, 8);
  EXPECT_EQ(features.npr_mean, 7.5);
  EXPECT_EQ(features.npr_max, 8);
  EXPECT_EQ(features.npr_histogram[4], 1000);
  EXPECT_EQ(features.block_fill[0], 0.25);
  EXPECT_GT(features.diagonals, diagonals_cap);
  EXPECT_EQ(featureless(0, 5, 0, 0).npr_max, 0);
}

TEST(Featureless, KnowsTheLongestRow) {
  const auto features = featureless(1000, 2000, 7500, 900);
  EXPECT_EQ(features.npr_max, 900);
  // A thousand rows, over six doublings to one.
  EXPECT_EQ(features.npr_histogram[4], 684);
  EXPECT_EQ(features.npr_histogram[5], 216);
  EXPECT_EQ(features.npr_histogram[10], 1);
  EXPECT_EQ(std::accumulate(features.npr_histogram.begin(), features.npr_histogram.end(), std::int64_t{0}), 1000);
  EXPECT_GT(features.npr_variance, 100);
}

// A format that seems to need no conversion of such a matrix, and then converts it, would be no fallback.
TEST(BlindFallback, NeedsNoConversion) {
  for (const auto* spec : {"gen:pde:10", "gen:fem:6:3", "gen:circuit:3000"}) {
    const auto matrix = make_matrix<double>(spec);
    const auto view = data_of(matrix).on({});
    const auto prospect = blind_fallback_prospect(view, longest_row(view.row_ptr, view.rows, {}), host_device(), {});
    const auto built =
        find_format<double>(prospect.candidate.format)->build(view, prospect.candidate.params, host_device());
    ASSERT_TRUE(built) << spec;
    EXPECT_EQ((*built)->bytes(), 0) << spec << ' ' << prospect.candidate.text();
  }
}

// On a GPU, a thread a row reads rows that are long from apart.
TEST(BlindFallback, TakesManyThreadsForLongRows) {
  Device device;
  device.backend = Backend::cuda;
  device.multiprocessors = 100;
  device.memory_bytes = std::int64_t{1} << 36;
  CsrView<double> view;
  view.rows = view.cols = 100000;
  view.nnz = 100 * view.rows;
  EXPECT_NE(blind_fallback_prospect(view, 100, device, {.deterministic = true}).candidate.format, "csr_scalar");
}

TEST(BlindFallback, SharesALongRowOnAGpu) {
  Device device;
  device.backend = Backend::cuda;
  device.multiprocessors = 100;
  device.threads_of_multiprocessor = 2048;
  device.memory_bytes = std::int64_t{1} << 36;
  CsrView<double> view;
  view.rows = view.cols = 100000;
  view.nnz = 3 * view.rows;
  EXPECT_NE(blind_fallback_prospect(view, 90000, device, {}).candidate.format, "csr_scalar");
}

}  // namespace
}  // namespace autospmv
