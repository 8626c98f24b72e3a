#include "tuner/predict/cost_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "features/recorded.hpp"
#include "formats/sizes.hpp"
#include "tests/tuner/predict/recorded.hpp"
#include "tuner/predict/recorded_costs.hpp"

namespace autospmv {
namespace {

constexpr double bandwidth = 4e12;

CostModel default_model() { return {testing::gpu_recording().device, bandwidth, default_coefficients(Backend::cuda)}; }

TEST(CostModel, IsARoofline) {
  const auto model = default_model();
  Cost cost{.bytes = 4e9};
  EXPECT_NEAR(model.product_seconds(cost), 1e-3, 1e-5) << "far beyond the cache, the bytes at the bandwidth of a copy";
  cost.imbalance = 3;
  EXPECT_NEAR(model.product_seconds(cost), 3e-3, 3e-5);
  const Cost small{.bytes = 100};
  const auto& c = model.coefficients();
  EXPECT_NEAR(model.product_seconds(small), c.latency_seconds + c.launch_seconds, 1e-8);
  const Cost cached{.bytes = 4e6};
  EXPECT_LT(model.product_seconds(cached), c.latency_seconds + c.launch_seconds + 4e6 / bandwidth)
      << "the cache is faster than memory";
}

TEST(CostModel, ThreadsTakeTurnsAndWaitForTheLongestOfThem) {
  const auto model = default_model();
  const auto& c = model.coefficients();
  const auto device = testing::gpu_recording().device;
  const double at_once = static_cast<double>(device.multiprocessors) * device.threads_of_multiprocessor;
  const double idle = model.product_seconds({});
  const auto beside = [&](const Walk& walk) { return model.product_seconds({.walk = walk}) - idle; };
  EXPECT_NEAR(beside({.threads = 3 * at_once}), 3 * c.wave_seconds, 1e-12);
  EXPECT_NEAR(beside({.threads = 3 * at_once, .steps = 5}), 3 * (c.wave_seconds + 5 * c.step_seconds), 1e-12);
  EXPECT_NEAR(beside({.longest = 100}), 100 * c.single_step_seconds, 1e-12);
}

TEST(CostModel, ConversionsWithoutStorageAreFree) {
  const auto model = default_model();
  EXPECT_EQ(model.conversion_seconds({}, 1e6), 0);
  const Cost stores{.storage_bytes = 1e6};
  EXPECT_GT(model.conversion_seconds(stores, 1e6), model.coefficients().conversion_seconds);
}

TEST(CostModel, TheTableNamesEveryCoefficientOnce) {
  const Coefficients defaults = default_coefficients(Backend::cuda);
  EXPECT_EQ(coefficient_table().size(), sizeof(Coefficients) / sizeof(double));
  for (const auto& info : coefficient_table()) {
    EXPECT_GE(defaults.*info.member, info.least) << info.name;
    EXPECT_LE(defaults.*info.member, info.most) << info.name;
  }
}

// Times made by other coefficients than those that the fit starts from, each format with a factor of its own.
TEST(FitCoefficients, FindsThoseThatMadeTheSamples) {
  const auto device = testing::gpu_recording().device;
  const auto start = default_coefficients(Backend::cuda);
  auto truth = start;
  truth.launch_seconds *= 3;
  truth.cache_speedup = 4;
  truth.wave_seconds *= 2;
  truth.conversion_passes *= 2.5;
  const CostModel model(device, bandwidth, truth);
  std::vector<CostSample> samples;
  for (std::size_t group = 0; group < 4; ++group) {
    for (int power = 0; power < 13; ++power) {
      const double bytes = 1e4 * std::pow(3, power);
      for (const int launches : {1, 3}) {
        const Walk walk{.threads = launches == 1 ? 1e6 : 1e4, .steps = group % 2 == 0 ? 1.0 : 9.0, .longest = 20};
        const Cost cost{.bytes = bytes, .storage_bytes = bytes, .walk = walk, .launches = launches};
        const double factor = 1 + static_cast<double>(group);
        samples.push_back(
            {group, cost, bytes, factor * model.product_seconds(cost), model.conversion_seconds(cost, bytes)});
      }
    }
  }
  const auto fit = fit_coefficients(device, bandwidth, start, samples);
  EXPECT_LT(fit.error_after, fit.error_before / 3);
  EXPECT_LT(fit.setup_error_after, fit.setup_error_before / 3);
  EXPECT_NEAR(fit.coefficients.conversion_passes / truth.conversion_passes, 1, 0.15);
  EXPECT_EQ(fit_coefficients(device, bandwidth, start, {}).coefficients, start);
}

// And ends where it ends from coefficients that are far off.
TEST(FitCoefficients, ImprovesOnRecordedTrials) {
  const auto& recording = testing::gpu_recording();
  std::vector<CostSample> samples;
  std::map<std::string, std::size_t> groups;
  for (const auto& record : testing::recorded_matrices(recording)) {
    const auto features = features_of_record(record.matrix.features);
    ASSERT_TRUE(features) << record.matrix.label;
    const double csr_bytes = formats::csr_bytes<double>(features->rows, features->nnz);
    for_each_cost<double>(record.trials, *features, recording.device, [&](const TrialRecord& trial, const Cost& cost) {
      const auto group = groups.emplace(trial.candidate.format, groups.size()).first->second;
      samples.push_back({group, cost, csr_bytes, trial.measurement.warm.median, trial.measurement.setup_seconds});
    });
  }
  ASSERT_GT(samples.size(), 1000U);
  const auto near = default_coefficients(Backend::cuda);
  auto far = near;
  far.launch_seconds *= 10;
  far.step_seconds *= 10;
  far.single_step_seconds /= 10;
  far.conversion_passes *= 10;
  const auto fit_from = [&](const Coefficients& start) {
    return fit_coefficients(recording.device, recording.bandwidth, start, samples);
  };
  const auto from_near = fit_from(near);
  EXPECT_LT(from_near.error_after, 0.95 * from_near.error_before);
  EXPECT_LE(from_near.setup_error_after, from_near.setup_error_before);
  const auto from_far = fit_from(far);
  EXPECT_GT(from_far.error_before, 1.5 * from_near.error_before);
  EXPECT_GT(from_far.setup_error_before, 1.5 * from_near.setup_error_before);
  EXPECT_NEAR(from_far.error_after, from_near.error_after, 0.005);
  EXPECT_NEAR(from_far.setup_error_after, from_near.setup_error_after, 0.005);
}

}  // namespace
}  // namespace autospmv
