// When the time of a plain loop can be told.

#include "tuner/measure/plain_loop.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "io/generators.hpp"

namespace autospmv {
namespace {

TEST(PlainLoop, TakesTimeWhereThereAreEntries) {
  for (const auto* const name : {"gen:grid2d:50", "gen:circuit:3000", "gen:dense:3"}) {
    const double seconds = plain_loop_seconds(generate<double>(name).view());
    EXPECT_GT(seconds, 0) << name;
    EXPECT_TRUE(std::isfinite(seconds)) << name;
  }
}

TEST(PlainLoop, IsNotKnownOfFewerEntriesThanColumns) {
  EXPECT_EQ(plain_loop_seconds(generate<float>("gen:uniform:10:1000:3").view()), 0);
  EXPECT_EQ(plain_loop_seconds(HostCsr<float>{}.view()), 0);
}

}  // namespace
}  // namespace autospmv
