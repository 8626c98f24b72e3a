#include "tuner/measure/meter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace autospmv {
namespace {

TEST(Summarize, GivesMedianAndQuartiles) {
  const auto timing = summarize({5, 1, 3, 2, 4});
  EXPECT_EQ(timing.median, 3);
  EXPECT_EQ(timing.low_quartile, 2);
  EXPECT_EQ(timing.high_quartile, 4);
  EXPECT_EQ(timing.samples, 5);
  EXPECT_EQ(summarize({1, 2}).median, 1.5);
  EXPECT_EQ(summarize({}).samples, 0);
}

Samples samples_of(const std::vector<double>& seconds, int times) {
  Samples samples;
  for (int i = 0; i < times; ++i) {
    for (const double one : seconds) samples.add({one});
  }
  return samples;
}

TEST(Samples, ArePreciseByTheirSpreadAndTheirNumber) {
  EXPECT_TRUE(samples_of({1.0}, 5).is_precise(0.01));
  EXPECT_FALSE(samples_of({1.0, 1.2, 0.8, 1.1, 0.9}, 1).is_precise(0.01));
  EXPECT_TRUE(samples_of({1.0, 1.2, 0.8, 1.1, 0.9}, 500).is_precise(0.01));
}

TEST(Samples, LeaveTheDisturbedOnesOutWhereThereAreOthers) {
  Samples samples;
  EXPECT_FALSE(samples.all_disturbed());
  for (int i = 0; i < 9; ++i) samples.add({5, true});
  EXPECT_TRUE(samples.all_disturbed());
  EXPECT_FALSE(samples.is_precise(0.01));
  EXPECT_EQ(samples.timing().median, 5);
  samples.add({1, false});
  EXPECT_FALSE(samples.all_disturbed());
  EXPECT_EQ(samples.timing().median, 1);
  EXPECT_EQ(samples.timing().samples, 1);
}

TEST(TimedProduct, TimesWhatItIsGiven) {
  // Ten times the work takes about ten times as long, where nothing else runs: hence the least of many samples.
  volatile double sink = 0;
  const auto work = [&sink](int loops) {
    return [&sink, loops](Stream /*stream*/) {
      for (int i = 0; i < loops; ++i) sink = sink + 1;
    };
  };
  Patience patience;
  const auto once = make_timed_product(host_device(), work(200000), long_sample, patience);
  const auto tenfold = make_timed_product(host_device(), work(2000000), long_sample, patience);
  double least_of_once = once->warm_sample().seconds;
  double least_of_tenfold = tenfold->warm_sample().seconds;
  for (int i = 0; i < 20; ++i) {
    least_of_once = std::min(least_of_once, once->warm_sample().seconds);
    least_of_tenfold = std::min(least_of_tenfold, tenfold->warm_sample().seconds);
  }
  EXPECT_GT(least_of_tenfold, 3 * least_of_once);
  EXPECT_LT(least_of_tenfold, 40 * least_of_once);
  CacheFlusher flusher(host_device());
  EXPECT_GT(once->cold_sample(flusher).seconds, 0);
  EXPECT_GT(once->loop_sample().seconds, 0);
}

TEST(CopyBandwidth, IsThatOfAMachineThatExists) {
  const double bandwidth = measure_copy_bandwidth(host_device()).bytes_a_second;
  EXPECT_GT(bandwidth, 1e8);
  EXPECT_LT(bandwidth, 1e13);
}

}  // namespace
}  // namespace autospmv
