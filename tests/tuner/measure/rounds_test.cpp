// A machine that changes its speed while products are timed in turn does not change which of them is faster.

#include "tuner/measure/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace autospmv {
namespace {

constexpr std::size_t products = 6;

double true_seconds(std::size_t product) { return 1e-4 * (1 + 0.03 * static_cast<double>(product)); }

/// Rounds on a machine that runs half again as fast from one sample on to another one.
std::vector<Round> rounds_with_a_fast_while(int count, std::size_t from, std::size_t to) {
  std::minstd_rand random(3);
  std::uniform_real_distribution<double> noise(0.995, 1.005);
  std::vector<Round> rounds;
  std::size_t at = 0;
  for (int r = 0; r < count; ++r) {
    auto& round = rounds.emplace_back();
    for (std::size_t p = 0; p < products; ++p, ++at) {
      const double speed = at >= from && at < to ? 1.5 : 1;
      round.samples.push_back({p, {true_seconds(p) * noise(random) / speed, false}});
    }
  }
  return rounds;
}

double median_of(const std::vector<Round>& rounds, std::size_t product, const std::vector<double>& slowness) {
  std::vector<double> seconds;
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    for (const auto& taken : rounds[r].samples) {
      if (taken.product == product) seconds.push_back(taken.sample.seconds / slowness[r]);
    }
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

std::vector<std::size_t> order(const std::vector<Round>& rounds, const std::vector<double>& slowness) {
  std::vector<std::size_t> by_median(products);
  for (std::size_t p = 0; p < products; ++p) by_median[p] = p;
  std::sort(by_median.begin(), by_median.end(), [&](std::size_t a, std::size_t b) {
    return median_of(rounds, a, slowness) < median_of(rounds, b, slowness);
  });
  return by_median;
}

TEST(Rounds, AreEvenOnASteadyMachine) {
  for (const double slowness : slowness_of(rounds_with_a_fast_while(9, 0, 0))) EXPECT_NEAR(slowness, 1, 0.01);
}

// Wherever the while begins, in the middle of a round too. Without the correction, products whose samples fell into it
// more often than not look half again as fast.
TEST(Rounds, AFastWhileChangesNoOrder) {
  constexpr int count = 9;
  const std::vector<std::size_t> right = {0, 1, 2, 3, 4, 5};
  int misled = 0;
  for (std::size_t from = 0; from < count * products; ++from) {
    const auto rounds = rounds_with_a_fast_while(count, from, count * products);
    EXPECT_EQ(order(rounds, slowness_of(rounds)), right) << "fast from sample " << from << " on";
    misled += order(rounds, std::vector<double>(count, 1)) == right ? 0 : 1;
  }
  EXPECT_GT(misled, 0) << "else there is nothing to correct";
}

TEST(Rounds, DisturbedSamplesSayNothing) {
  auto rounds = rounds_with_a_fast_while(9, 0, 0);
  for (std::size_t p = 0; p + 2 < products; ++p) rounds[4].samples[p].sample = {1, true};
  for (const double slowness : slowness_of(rounds)) EXPECT_NEAR(slowness, 1, 0.01);
}

TEST(Rounds, OfOneProductSayNothingOfThemselves) {
  std::vector<Round> rounds(3);
  for (std::size_t r = 0; r < rounds.size(); ++r)
    rounds[r].samples.push_back({0, {1e-4 * static_cast<double>(r + 1), false}});
  EXPECT_EQ(slowness_of(rounds), std::vector<double>(3, 1.0));
  EXPECT_TRUE(slowness_of({}).empty());
}

}  // namespace
}  // namespace autospmv
