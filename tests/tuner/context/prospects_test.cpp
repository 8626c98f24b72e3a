// Which candidates there are for a matrix, and which are likely, before any is tried.
#include "tuner/context/prospects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "features/longest_row.hpp"
#include "features/recorded.hpp"
#include "tests/tuner/predict/recorded.hpp"
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

TEST(AllProspects, TakeInWhatIsInUse) {
  const auto matrix = make_matrix<double>("gen:pde:10");
  const auto features = extract_features(data_of(matrix).on({}), Place{});
  const auto predictor = blind_predictor(host_device());
  auto prospects = all_prospects<double>(features, host_device(), predictor, {}, Choices::likely);
  const auto count = prospects.size();
  const Candidate there = prospects.front().candidate;
  const Candidate unlikely{"coo", find_format<double>("coo")->params(features, host_device()).combinations().front()};
  for (const auto& candidate : {there, unlikely, unlikely, Candidate{"of another build", {}}}) {
    include<double>(prospects, candidate, features, host_device(), predictor);
  }
  ASSERT_EQ(prospects.size(), count + 1);
  EXPECT_EQ(prospects.back().candidate, unlikely);
  EXPECT_GT(prospects.back().prediction.seconds, 0);
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

class BlindFallbackOnAGpu : public ::testing::Test {
 protected:
  BlindFallbackOnAGpu() {
    device_.backend = Backend::cuda;
    device_.multiprocessors = 100;
    device_.threads_of_multiprocessor = 2048;
    device_.memory_bytes = std::int64_t{1} << 36;
  }

  [[nodiscard]] Prospect fallback(std::int64_t rows, std::int64_t length, std::int64_t longest,
                                  const Limits& limits = {}) const {
    CsrView<double> view;
    view.rows = view.cols = static_cast<std::int32_t>(rows);
    view.nnz = length * rows;
    return blind_fallback_prospect(view, longest, device_, limits);
  }

  Device device_;
};

// A thread a row reads rows that are long from apart.
TEST_F(BlindFallbackOnAGpu, TakesMoreThreadsForLongerRows) {
  EXPECT_EQ(fallback(1'000'000, 3, 6).candidate.format, "csr_scalar");
  std::int64_t threads = 1;
  for (const std::int64_t length : {7, 27, 80, 300, 2000}) {
    const auto candidate = fallback(1'000'000, length, length, {.deterministic = true}).candidate;
    ASSERT_EQ(candidate.format, "csr_vector") << length;
    EXPECT_GT(candidate.params["T"], threads) << length;
    threads = candidate.params["T"];
  }
  EXPECT_GT(fallback(1000, 80, 80).candidate.params["T"], fallback(1'000'000, 80, 80).candidate.params["T"])
      << "few rows leave most of the device idle";
}

TEST_F(BlindFallbackOnAGpu, SharesSkewedRowsOut) {
  EXPECT_EQ(fallback(100'000, 3, 90'000).candidate.format, "csr_merge");
  EXPECT_LT(fallback(100'000, 3, 90'000).candidate.params["items"],
            fallback(10'000'000, 3, 90'000).candidate.params["items"]);
  const auto in_place = fallback(100'000, 3, 90'000, {.memory_factor = 0});
  EXPECT_EQ(in_place.cost.storage_bytes, 0);
  EXPECT_EQ(in_place.candidate.format, "csr_vector");
  EXPECT_GT(in_place.candidate.params["share"], 0);
}

TEST_F(BlindFallbackOnAGpu, OfAMatrixWithoutRowsIsThere) {
  EXPECT_EQ(fallback(0, 0, 0).candidate.format, "csr_scalar");
  EXPECT_EQ(fallback(5, 0, 0).candidate.format, "csr_scalar");
}

// What was recorded of each, against the best of what needs next to no conversion.
TEST_F(BlindFallbackOnAGpu, IsNearlyTheBestOnAverage) {
  const auto& recording = testing::gpu_recording();
  const auto records = testing::recorded_matrices(recording);
  double logs = 0;
  for (const auto& record : records) {
    const auto features = *features_of_record(record.matrix.features);
    CsrView<double> view;
    view.rows = static_cast<std::int32_t>(features.rows);
    view.cols = static_cast<std::int32_t>(features.cols);
    view.nnz = features.nnz;
    const auto chosen = blind_fallback_prospect(view, features.npr_max, recording.device, {}).candidate;
    double seconds = 0;
    double best = std::numeric_limits<double>::infinity();
    for (const auto& trial : record.trials) {
      if (!is_timed(trial.measurement)) continue;
      const double of_trial = trial.measurement.warm.median;
      if (trial.candidate == chosen) seconds = of_trial;
      for (const auto* plain : {"csr_scalar", "csr_vector", "csr_merge", "cusparse_csr"}) {
        if (trial.candidate.format == plain) best = std::min(best, of_trial);
      }
    }
    ASSERT_GT(seconds, 0) << record.matrix.label << ' ' << chosen.text();
    EXPECT_LT(seconds, 2 * best) << record.matrix.label << ' ' << chosen.text();
    logs += std::log(seconds / best);
  }
  EXPECT_LT(std::exp(logs / static_cast<double>(records.size())), 1.15);
}

}  // namespace
}  // namespace autospmv
