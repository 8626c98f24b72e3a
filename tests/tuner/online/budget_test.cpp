// What tuning may take from a caller, and that it never takes more.

#include "tuner/online/budget.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "tuner/online/step_prices.hpp"

namespace autospmv {
namespace {

constexpr double plain = 1e-4;

Budget begun(std::int64_t expected_calls = Limits{}.expected_calls) {
  Budget budget(Limits{.expected_calls = expected_calls});
  budget.set_plain(plain);
  return budget;
}

TEST(Budget, HasNothingBeforePlainCsrIsKnown) {
  Budget budget{Limits{}};
  budget.earn(1000, plain);
  EXPECT_LE(budget.left(), 0);
  EXPECT_EQ(budget.products_until(1e-9, 0), Budget::most);
}

TEST(Budget, GrowsWithProductsAndShrinksWithWork) {
  auto budget = begun();
  EXPECT_NEAR(budget.left() / plain, 2, 1e-9);
  budget.earn(100, plain);
  EXPECT_NEAR(budget.left() / plain, 2 + 4.5, 1e-9);
  budget.spend(2 * plain);
  EXPECT_NEAR(budget.left() / plain, 4.5, 1e-9);
  budget.earn(100, plain / 2);
  EXPECT_NEAR(budget.left() / plain, 9 + 0.25 * 50, 1e-9) << "a part of what was saved";
  budget.earn(10, 3 * plain);
  EXPECT_NEAR(budget.left() / plain, 9 + 0.45 + 0.25 * 30, 1e-9) << "slower products cost what they take more";
}

// A loop may turn out to be slower than the product that was begun with.
TEST(Budget, IsOfWhatPlainCsrIsFoundToTake) {
  auto budget = begun();
  budget.earn(10, plain);
  budget.set_plain(2 * plain);
  EXPECT_NEAR(budget.left() / plain, 2 * (2 + 0.45), 1e-9) << "of products before as well";
  budget.earn(10, plain);
  EXPECT_NEAR(budget.left() / plain, 2 * (2 + 0.9) + 0.25 * 10, 1e-9);
}

TEST(Budget, AnnouncedCallsPayInAdvance) {
  EXPECT_NEAR(begun(101'000).left() / plain, 2 + 4000, 1e-6);
  EXPECT_NEAR(begun(3).left() / plain, 2, 1e-9) << "few calls are no reason for less";
}

TEST(Budget, SaysAfterHowManyProductsSomethingMayBePaid) {
  for (const double seconds : {plain, plain / 3}) {
    for (const double cost : {0.5, 1.0, 3.0, 17.5, 400.0}) {
      auto budget = begun();
      const auto products = budget.products_until(cost * plain, seconds);
      if (products > 1) {
        auto early = budget;
        early.earn(products - 1, seconds);
        EXPECT_LT(early.left(), cost * plain * (1 + 1e-9));
      }
      budget.earn(products, seconds);
      EXPECT_GE(budget.left(), cost * plain * (1 - 1e-9)) << cost;
    }
  }
}

TEST(StepPrices, AProductStandsForOthersAsLongAsTimeAllows) {
  constexpr double alone = 20e-6;
  constexpr double watched = 70e-6;
  EXPECT_DOUBLE_EQ(slowing_of(8, alone, alone, 8 * alone), 0) << "not slowed down";
  EXPECT_DOUBLE_EQ(slowing_of(8, alone / 2, alone, 8 * alone), 0) << "faster than it was";
  EXPECT_DOUBLE_EQ(slowing_of(8, watched, alone, 1e-3), 8 * (watched - alone));
  EXPECT_DOUBLE_EQ(slowing_of(100, watched, alone, 3e-3), 3e-3 - 100 * alone) << "only some were";
  EXPECT_DOUBLE_EQ(slowing_of(1, watched, alone, 25e-6), watched - alone) << "it was watched";
  EXPECT_DOUBLE_EQ(slowing_of(1000, watched, alone, 4e-3), 4e-3) << "most have not run yet";
}

// Pieces of work whose price is known to a tenth, candidates faster and slower than plain CSR: at every number of
// products, all of it has taken at most 1.05 N + 5 products of plain CSR.
TEST(Budget, KeepsThePromiseAtAnyNumberOfProducts) {
  std::minstd_rand random(11);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int caller = 0; caller < 50; ++caller) {
    auto budget = begun();
    double total = 0;  // what the caller has waited for
    double best = plain;
    std::int64_t products = 0;
    const auto multiply = [&](std::int64_t count, double seconds) {
      for (std::int64_t i = 0; i < count; ++i) {
        total += seconds;
        ++products;
        ASSERT_LE(total, (1.05 * static_cast<double>(products) + 5) * plain) << "after " << products << " products";
      }
      budget.earn(count, seconds);
    };
    while (products < 100'000) {
      constexpr int timed_calls = 9;
      const double work = 40 * unit(random) * plain;
      const double candidate = plain * (0.3 + 2 * unit(random));
      const double price = work + timed_calls * std::max(0.0, candidate - best);
      const auto wait = budget.products_until(price, best);
      multiply(std::min<std::int64_t>(wait, 100'000), best);
      if (wait > 100'000) break;
      const double taken = work * (0.9 + 0.2 * unit(random));
      total += taken;
      budget.spend(taken);
      multiply(timed_calls, candidate);
      best = std::min(best, candidate);
    }
    EXPECT_GT(budget.spent(), 0);
    EXPECT_LT(best, plain) << "something was found on the way";
  }
}

}  // namespace
}  // namespace autospmv
