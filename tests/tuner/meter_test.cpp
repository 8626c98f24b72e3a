#include "tuner/meter.hpp"

#include <gtest/gtest.h>

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

TEST(Settled, LooksAtTheSpreadAndAtTheNumberOfSamples) {
  EXPECT_TRUE(settled(std::vector<double>(5, 1.0), 0.01));
  EXPECT_FALSE(settled({1.0, 1.2, 0.8, 1.1, 0.9}, 0.01));
  std::vector<double> many;
  for (int i = 0; i < 500; ++i) many.insert(many.end(), {1.0, 1.2, 0.8, 1.1, 0.9});
  EXPECT_TRUE(settled(many, 0.01));
}

TEST(TimedProduct, TimesWhatItIsGiven) {
  // Twice the work takes about twice as long; the bounds leave room for a busy machine.
  volatile double sink = 0;
  const auto work = [&sink](int loops) {
    return [&sink, loops](Stream /*stream*/) {
      for (int i = 0; i < loops; ++i) sink = sink + 1;
    };
  };
  const auto once = make_timed_product(host_device(), work(200000));
  const auto tenfold = make_timed_product(host_device(), work(2000000));
  const double ratio = tenfold->warm_sample() / once->warm_sample();
  EXPECT_GT(ratio, 3);
  EXPECT_LT(ratio, 40);
  CacheFlusher flusher(host_device());
  EXPECT_GT(once->cold_sample(flusher), 0);
  EXPECT_GT(once->loop_sample(), 0);
}

TEST(CopyBandwidth, IsThatOfAMachineThatExists) {
  const double bandwidth = measure_copy_bandwidth(host_device());
  EXPECT_GT(bandwidth, 1e8);
  EXPECT_LT(bandwidth, 1e13);
}

}  // namespace
}  // namespace autospmv
