#include "tuner/predict/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "features/recorded.hpp"
#include "tests/tuner/predict/recorded.hpp"
#include "tuner/predict/predictor.hpp"

namespace autospmv {
namespace {

CostModel recorded_model() { return testing::model_of(testing::gpu_recording()); }

TEST(Distance, CountsParametersThatDiffer) {
  const Params base{{"T", 8}, {"block", 256}};
  EXPECT_EQ(distance(base, base), 0);
  EXPECT_EQ(distance(base, {{"T", 16}, {"block", 256}}), 0.5);
  EXPECT_EQ(distance(base, {{"T", 0}, {"block", 256}}), 1) << "0 is a way of its own";
  EXPECT_EQ(distance(base, {{"block", 256}}), 1);
  EXPECT_EQ(distance({{"block", 256}}, base), 1);
  EXPECT_EQ(distance(base, {{"T", 1 << 20}, {"block", 256}}), 1.5) << "no parameter counts for more";
  EXPECT_EQ(distance({{"a", 1}}, {{"b", 1}}), 2);
}

TEST(KnownParams, AreAsAlikeTogetherAsOneByOne) {
  const std::vector<Params> same_names{{{"T", 8}, {"block", 256}, {"sort", 0}},
                                       {{"T", 4}, {"block", 256}, {"sort", 1}},
                                       {{"T", 1}, {"block", 128}, {"sort", 1}},
                                       {{"T", 8}, {"block", 512}, {"sort", 0}}};
  auto other_names = same_names;
  other_names.push_back({{"T", 8}, {"lanes", 4}});
  const std::vector<Params> asked{
      {{"T", 8}, {"block", 256}, {"sort", 0}}, {{"T", 6}, {"block", 200}, {"sort", 1}}, {{"T", 8}, {"block", 256}}, {}};
  for (const auto& all : {same_names, other_names}) {
    KnownParams known;
    for (const auto& params : all) known.add(params);
    for (const auto& params : asked) {
      std::map<std::size_t, double> together;
      known.for_each_alike(params, searched_weights, [&](std::size_t which, double alike) { together[which] = alike; });
      std::map<std::size_t, double> one_by_one;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double alike = alikeness(params, all[i]);
        if (alike >= least_alikeness) one_by_one[i] = alike;
      }
      EXPECT_EQ(together, one_by_one) << params.text() << " among " << all.size();
    }
  }
}

TEST(History, KnowsWhatWasMeasuredAtTheSamePlace) {
  const auto records = testing::recorded_matrices(testing::gpu_recording());
  const auto device = testing::gpu_recording().device;
  const auto history = testing::history_of<double>(records, device, recorded_model());
  EXPECT_EQ(history->matrices(), records.size());

  // As if it were another matrix of the same features.
  const auto& record = records.front();
  const auto features = features_of_record(record.matrix.features);
  const auto near = history->near(*features, Fingerprint{});
  ASSERT_FALSE(near.neighbours().empty());
  EXPECT_EQ(near.neighbours().front().label, record.matrix.label);
  EXPECT_NEAR(near.neighbours().front().weight, 1, 1e-9);
  for (std::size_t i = 1; i < near.neighbours().size(); ++i) {
    EXPECT_LE(near.neighbours()[i].weight, near.neighbours()[i - 1].weight);
  }
  // Its own trials weigh most, so that predictions are near them.
  double error = 0;
  int count = 0;
  for (const auto& trial : record.trials) {
    const auto* format = find_format<double>(trial.candidate.format);
    const auto cost = format == nullptr ? Result<Cost>(Refusal{"unknown"})
                                        : format->predict(*features, trial.candidate.params, device);
    if (!cost) continue;
    const auto prediction = near.predict(trial.candidate.format, trial.candidate.params, *cost, 1e6);
    EXPECT_EQ(prediction.tier, Tier::neighbour);
    error += std::abs(std::log2(trial.measurement.warm.median / prediction.seconds));
    ++count;
  }
  ASSERT_GT(count, 20);
  EXPECT_LT(error / count, 0.5);
}

TEST(History, AMatrixIsNotPredictedFromItself) {
  const auto records = testing::recorded_matrices(testing::gpu_recording());
  const auto device = testing::gpu_recording().device;
  const auto history = testing::history_of<double>(records, device, recorded_model());
  const auto features = features_of_record(records.front().matrix.features);
  const auto near = history->near(*features, records.front().key.pattern);
  for (const auto& neighbour : near.neighbours()) {
    EXPECT_NE(neighbour.label, records.front().matrix.label);
  }
}

TEST(History, ReadsTrialsOfNeighboursOnlyAndOnce) {
  const auto records = testing::recorded_matrices(testing::gpu_recording());
  const std::vector<RecordedMatrix> matrices(records.begin(), records.end());
  std::set<std::string> read;
  std::string nearest;
  std::mutex one_at_a_time;
  const auto trials_of = [&](const TrialKey& key) {
    const std::scoped_lock lock(one_at_a_time);
    EXPECT_TRUE(read.insert(key.pattern.text()).second) << "read before";
    const auto at = std::find_if(records.begin(), records.end(), [&](const auto& one) { return one.key == key; });
    return key.pattern.text() == nearest ? std::vector<TrialRecord>{} : at->trials;
  };
  const auto& record = records.front();
  const auto features = features_of_record(record.matrix.features);
  nearest = record.key.pattern.text();
  const History<double> history(testing::points_of<double>(matrices), testing::known_among(matrices, trials_of),
                                testing::gpu_recording().device, recorded_model());
  EXPECT_TRUE(read.empty());
  const auto near = history.near(*features, Fingerprint{});
  EXPECT_EQ(read.size(), near.neighbours().size() + 1)
      << "one without trials says nothing, and another takes its place";
  EXPECT_LT(read.size(), records.size() / 2);
  for (const auto& neighbour : near.neighbours()) EXPECT_NE(neighbour.label, record.matrix.label);
  const auto again = history.near(*features, Fingerprint{});
  EXPECT_EQ(again.neighbours().size(), near.neighbours().size());
}

TEST(History, KnowsWhatWasReadWhereNothingIsToBe) {
  const auto records = testing::recorded_matrices(testing::gpu_recording());
  const auto history = testing::history_of<double>(records, testing::gpu_recording().device, recorded_model());
  const auto features = features_of_record(records.front().matrix.features);
  const auto near = [&](Reading reading) { return history->near(*features, {}, searched_weights, reading); };
  const auto blind = near(Reading::none);
  EXPECT_TRUE(blind.neighbours().empty());
  EXPECT_TRUE(blind.lacks_neighbours());
  EXPECT_EQ(blind.correction("csr_vector", {}).tier, Tier::model);

  // The first of all is the nearest.
  ASSERT_TRUE(history->prefetch());
  const auto of_one = near(Reading::none);
  ASSERT_EQ(of_one.neighbours().size(), 1U);
  EXPECT_EQ(of_one.neighbours().front().label, records.front().matrix.label);
  EXPECT_TRUE(of_one.lacks_neighbours());

  const auto all = near(Reading::all);
  EXPECT_FALSE(all.lacks_neighbours());
  EXPECT_GT(all.neighbours().size(), 1U);
  const auto then = near(Reading::none);
  EXPECT_FALSE(then.lacks_neighbours());
  ASSERT_EQ(then.neighbours().size(), all.neighbours().size());
  for (const auto& trial : records.front().trials) {
    const auto& [format, params] = trial.candidate;
    EXPECT_EQ(then.correction(format, params).log_time, all.correction(format, params).log_time);
  }
}

TEST(History, ServesManyThreads) {
  const auto records = testing::recorded_matrices(testing::gpu_recording());
  const auto history = testing::history_of<double>(records, testing::gpu_recording().device, recorded_model());
  std::vector<double> sums(records.size());
  const auto sum_of = [&](std::size_t at) {
    const auto& record = records[at];
    const auto near = history->near(*features_of_record(record.matrix.features), record.key.pattern);
    double sum = 0;
    for (const auto& trial : record.trials) {
      sum += near.correction(trial.candidate.format, trial.candidate.params).log_time;
    }
    return sum;
  };
  std::vector<std::thread> threads;
  threads.reserve(5);
  threads.emplace_back([&] {
    while (history->prefetch()) {
    }
  });
  std::atomic<std::size_t> next = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (auto at = next++; at < records.size(); at = next++) sums[at] = sum_of(at);
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t at = 0; at < records.size(); ++at) {
    EXPECT_NEAR(sums[at], sum_of(at), 1e-9 * (1 + std::abs(sums[at]))) << records[at].matrix.label;
  }
}

// Else whatever is new would look faster than all that is known.
TEST(History, ExpectsNoMoreOfAnUnknownFormatThanOfOthers) {
  const auto records = testing::recorded_matrices(testing::gpu_recording());
  const auto history = testing::history_of<double>(records, testing::gpu_recording().device, recorded_model());
  const auto features = features_of_record(records.front().matrix.features);
  const auto correction = history->near(*features, {}).correction("no such format", {});
  EXPECT_EQ(correction.tier, Tier::model);
  int better = 0;
  int worse = 0;
  for (const auto* format : all_formats<double>()) {
    const auto& name = format->info().name;
    const auto known = history->near(*features, {}).correction(name, {{"no such parameter", 1}});
    if (known.log_time == correction.log_time) continue;
    ++(known.log_time < correction.log_time ? better : worse);
  }
  EXPECT_GT(better, 5) << "formats that reach more of what the model says";
  EXPECT_GT(worse, 5) << "formats that reach less of it";
  EXPECT_EQ(correction.deviation, CostModel::deviation);
}

TEST(History, SiblingsCountLessAndSaySo) {
  const auto records = testing::recorded_matrices(testing::gpu_recording());
  auto device = testing::gpu_recording().device;
  device.name = "another";
  const auto history = testing::history_of<double>(records, device, recorded_model());
  const auto features = features_of_record(records.front().matrix.features);
  const auto near = history->near(*features, Fingerprint{});
  ASSERT_FALSE(near.neighbours().empty());
  EXPECT_LT(near.neighbours().front().weight, 0.9);
  const auto& candidate = records.front().trials.front().candidate;
  EXPECT_EQ(near.correction(candidate.format, candidate.params).tier, Tier::sibling);
}

TEST(History, OtherInstructionsAreNoKin) {
  const auto records = testing::recorded_matrices(testing::host_recording());
  const auto known_on = [&](const std::string& name) {
    auto device = testing::host_recording().device;
    device.name = name;
    const auto history = testing::history_of<double>(records, device, testing::model_of(testing::host_recording()));
    return history->matrices();
  };
  EXPECT_EQ(known_on("Another Processor, AVX-512, 64 threads"), records.size());
  EXPECT_EQ(known_on("AMD EPYC, AVX2, 2 threads"), 0U);
  EXPECT_EQ(known_on("AMD EPYC, 2 threads"), 0U);
}

// One matrix on this device, of which every second candidate was tried, and others on one eight times as fast.
TEST(History, SiblingsGiveTheOrderAndThisDeviceThePlace) {
  constexpr double slower = 8;
  const auto device = testing::gpu_recording().device;
  auto records = testing::recorded_matrices(testing::gpu_recording());
  auto own = records.front();
  for (auto& record : records) record.key.device = "another";
  own.key.pattern = {1, 1};
  std::vector<TrialRecord> withheld;
  std::vector<TrialRecord> tried;
  for (std::size_t i = 0; i < own.trials.size(); ++i) {
    own.trials[i].measurement.warm.median *= slower;
    (i % 2 == 0 ? tried : withheld).push_back(own.trials[i]);
  }
  own.trials = tried;
  records.push_back(own);
  const auto history = testing::history_of<double>(records, device, recorded_model());
  const auto features = features_of_record(own.matrix.features);
  const auto near = history->near(*features, Fingerprint{});
  EXPECT_EQ(near.devices(), (std::vector<std::string>{device.name, "another"}));
  std::vector<double> off;
  for (const auto& trial : withheld) {
    const auto* format = find_format<double>(trial.candidate.format);
    if (format == nullptr) continue;
    const auto cost = format->predict(*features, trial.candidate.params, device);
    if (!cost) continue;
    const auto prediction = near.predict(trial.candidate.format, trial.candidate.params, *cost, 1e6);
    off.push_back(std::log2(trial.measurement.warm.median / prediction.seconds));
  }
  ASSERT_GT(off.size(), 20U);
  EXPECT_LT(std::abs(median(off)), 0.5) << "else they would look eight times as fast as what was tried here";
}

TEST(History, WithoutRecordsThereIsOnlyTheModel) {
  const auto history = testing::history_of<double>({}, testing::gpu_recording().device, recorded_model());
  const auto near = history->near(Features{}, Fingerprint{});
  const auto correction = near.correction("csr_scalar", {});
  EXPECT_EQ(correction.tier, Tier::model);
  EXPECT_EQ(correction.log_time, 0);
  // Of another type of values there are none either.
  const auto records = testing::recorded_matrices(testing::gpu_recording());
  EXPECT_EQ(testing::history_of<float>(records, testing::gpu_recording().device, recorded_model())->matrices(), 0U);
}

}  // namespace
}  // namespace autospmv
