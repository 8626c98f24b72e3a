#include "io/twin.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/generators.hpp"

namespace autospmv {
namespace {

TEST(TwinFeatures, ByHand) {
  // x x . . x
  // . x x . .
  // . . . . .
  // x . . . x
  const std::vector<std::int64_t> row_ptr = {0, 3, 5, 5, 7};
  const std::vector<std::int32_t> col_idx = {0, 1, 4, 1, 2, 0, 4};
  const auto features = twin_features(5, row_ptr, col_idx);
  EXPECT_DOUBLE_EQ(features.npr_mean, 7.0 / 4);
  EXPECT_DOUBLE_EQ(features.npr_std, std::sqrt(17.0 / 4 - 49.0 / 16));
  EXPECT_DOUBLE_EQ(features.skew, 3 / (7.0 / 4) - 1);
  EXPECT_DOUBLE_EQ(features.bandwidth, (4.0 + 1 + 4) / 3 / 5);
  EXPECT_DOUBLE_EQ(features.neighbours, (2.0 + 2) / 7);
  EXPECT_DOUBLE_EQ(features.similarity, (2.0 / 3 + 0) / 2);
}

TEST(TwinFeatures, OfFullAndEmptyMatrices) {
  const auto dense = generate<float>("gen:dense:50:20");
  const auto full = twin_features(dense.cols, dense.row_ptr, dense.col_idx);
  EXPECT_DOUBLE_EQ(full.npr_std, 0);
  EXPECT_DOUBLE_EQ(full.skew, 0);
  EXPECT_DOUBLE_EQ(full.bandwidth, 0.95);
  EXPECT_DOUBLE_EQ(full.neighbours, 1.9);
  EXPECT_DOUBLE_EQ(full.similarity, 1);
  const auto none = twin_features(5, std::vector<std::int64_t>{0, 0, 0}, {});
  EXPECT_EQ(none.npr_mean, 0);
  EXPECT_EQ(none.bandwidth, 0);
  EXPECT_EQ(none.similarity, 0);
}

// The features of these matrices, of fewer rows and columns where theirs would take long, and a few that no one has.
struct Case {
  std::string name;
  std::int64_t rows;
  std::int64_t cols;
  TwinFeatures features;

  friend std::ostream& operator<<(std::ostream& out, const Case& wanted) { return out << wanted.name; }
};

class Twin : public ::testing::TestWithParam<Case> {};

TEST_P(Twin, IsSoundAndHasTheFeatures) {
  const auto& [name, rows, cols, wanted] = GetParam();
  const auto pattern = make_twin(rows, cols, wanted, 1);
  ASSERT_EQ(std::ssize(pattern.row_ptr), rows + 1);
  ASSERT_EQ(pattern.row_ptr.front(), 0);
  ASSERT_EQ(pattern.row_ptr.back(), std::ssize(pattern.col_idx));
  for (std::int64_t r = 0; r < rows; ++r) {
    ASSERT_LE(pattern.row_ptr[r], pattern.row_ptr[r + 1]);
    std::int64_t last = -1;
    for (std::int64_t k = pattern.row_ptr[r]; k < pattern.row_ptr[r + 1]; ++k) {
      ASSERT_GT(pattern.col_idx[k], last) << "row " << r;
      last = pattern.col_idx[k];
    }
    ASSERT_LT(last, cols);
  }
  const auto got = twin_features(cols, pattern.row_ptr, pattern.col_idx);
  const auto expect_close = [](double value, double target, const char* what) {
    EXPECT_NEAR(value, target, target < 0.02 ? 0.01 : 0.1 * target) << what;
  };
  expect_close(got.npr_mean, wanted.npr_mean, "npr_mean");
  expect_close(got.npr_std, wanted.npr_std, "npr_std");
  expect_close(got.skew, wanted.skew, "skew");
  expect_close(got.bandwidth, wanted.bandwidth, "bandwidth");
  expect_close(got.neighbours, wanted.neighbours, "neighbours");
  expect_close(got.similarity, wanted.similarity, "similarity");
}

INSTANTIATE_TEST_SUITE_P(
    All, Twin,
    ::testing::Values(Case{"scircuit", 17099, 17099, {5.60788, 4.39216, 61.94716, 0.29725, 0.80336, 0.63302}},
                      Case{"mac_econ_fwd500", 51625, 51625, {6.16653, 4.43586, 6.13529, 0.00191, 0.17669, 0.33051}},
                      Case{"raefsky3", 21200, 21200, {70.22491, 6.327, 0.1392, 0.0662, 1.916, 0.96302}},
                      Case{"mc2depi", 525825, 525825, {3.99415, 0.07632, 0.00146, 0.00134, 0.4983, 0.99891}},
                      Case{"cop20k_A", 30298, 30298, {21.65432, 13.79266, 2.74059, 0.62306, 1.09583, 0.6334}},
                      Case{"webbase-1M", 1000005, 1000005, {3.10552, 25.34521, 1512.43391, 0.15246, 0.31568, 0.9361}},
                      Case{"roadNet-TX", 139338, 139338, {2.75826, 1.03703, 3.35056, 0.00494, 0.16173, 0.30095}},
                      Case{"TSOPF_RS_b300_c3", 8427, 8427, {104.73798, 102.44317, 0.99546, 0.6067, 1.92346, 0.99215}},
                      Case{"Chebyshev4", 68121, 68121, {78.94425, 1061.43997, 861.90012, 0.04536, 0.89599, 0.99371}},
                      Case{"rail4284", 1071, 274223, {658.4986, 1052.31483, 20.32958, 0.95554, 1.57627, 0.26917}},
                      Case{"GL7d20", 143754, 191113, {20.79451, 4.14027, 17.9954, 0.53797, 0.00012, 0.00014}},
                      Case{"Ga41As41H72", 26809, 26809, {68.96215, 105.38755, 9.1795, 0.17227, 1.18402, 0.96958}},
                      Case{"kmer_V2a", 550423, 550423, {2.12959, 0.67311, 17.3134, 0.33706, 0.05732, 0.11636}},
                      Case{"equal rows", 5000, 5000, {16, 0, 0, 0.1, 1, 0.5}},
                      Case{"two long rows in a thousand", 1000, 5000, {4, 44.6, 249, 0.3, 0.6, 0.3}},
                      Case{"one long row", 200000, 200000, {2, 300, 66999, 0.01, 1, 0.5}}));

TEST(TwinLimits, ContradictionsComeClose) {
  // Longer than the columns; of more nonzeros than there are; wider than it can be; denser than it can be.
  const auto cut = make_twin(1000, 100, {.npr_mean = 5, .npr_std = 5, .skew = 1e300, .bandwidth = 0.2}, 1);
  EXPECT_NEAR(static_cast<double>(cut.row_ptr.back()), 5000, 50);
  EXPECT_NEAR(twin_features(100, cut.row_ptr, cut.col_idx).skew, 100 / 5.0 - 1, 0.2);
  const auto few = make_twin(10, 1000, {.npr_mean = 0.5, .npr_std = 1e300, .skew = 1e9}, 1);
  EXPECT_EQ(few.row_ptr.back(), 5);
  const auto wide = make_twin(1000, 1000, {.npr_mean = 5, .npr_std = 0, .skew = 0, .bandwidth = 1, .similarity = 1}, 1);
  EXPECT_NEAR(twin_features(1000, wide.row_ptr, wide.col_idx).bandwidth, 0.999, 0.01);
  const auto solid = make_twin(100, 100, {.npr_mean = 100, .npr_std = 0, .skew = 0}, 1);
  EXPECT_EQ(solid.col_idx.size(), 10000U);
  EXPECT_EQ(make_twin(100, 100, {}, 1).row_ptr.back(), 0);
  EXPECT_EQ(make_twin(1, 1, {.npr_mean = 1, .bandwidth = 1, .neighbours = 2, .similarity = 1}, 1).row_ptr.back(), 1);
}

// Small matrices of all kinds leave the maker of rows the least room.
TEST(TwinLimits, EveryCornerIsSound) {
  for (const std::int64_t cols : {1, 2, 3, 7, 40}) {
    for (const double share : {0.01, 0.3, 0.7, 1.0}) {
      for (const double bandwidth : {0.0, 0.5, 1.0}) {
        for (const double neighbours : {0.0, 1.0, 2.0}) {
          for (const double similarity : {0.0, 0.6, 1.0}) {
            const double mean = share * static_cast<double>(cols);
            const auto pattern = make_twin(60, cols, {mean, mean / 2, 2, bandwidth, neighbours, similarity}, 3);
            for (std::int64_t r = 0; r < 60; ++r) {
              std::int64_t last = -1;
              for (std::int64_t k = pattern.row_ptr[r]; k < pattern.row_ptr[r + 1]; ++k) {
                ASSERT_GT(pattern.col_idx[k], last) << cols << ' ' << share << ' ' << bandwidth << ' ' << neighbours;
                last = pattern.col_idx[k];
              }
              ASSERT_LT(last, cols);
            }
          }
        }
      }
    }
  }
}

std::string refusal_of(const std::string& spec) {
  try {
    generate<double>(spec);
  } catch (const InvalidArgument& error) {
    const std::string text = error.what();
    return text.substr(0, text.find("; usage"));
  }
  return "";
}

TEST(TwinSpecs, BadOnesAreRefused) {
  const auto expect_refused = [](const std::string& spec, const std::string& reason) {
    EXPECT_EQ(refusal_of(spec), spec + ": " + reason);
  };
  expect_refused("gen:twin:9:9:3:1:1:0.5:1", "too few arguments");
  expect_refused("gen:twin:9:9:3:1:1:0.5:1:0.5:1:1", "too many arguments");
  expect_refused("gen:twin:9.5:9:3:1:1:0.5:1:0.5", "'9.5' is not an integer of at least 1");
  expect_refused("gen:twin:9:9:nan:1:1:0.5:1:0.5", "'nan' is not a number of at least 0");
  expect_refused("gen:twin:9:9:3:inf:1:0.5:1:0.5", "'inf' is not a number of at least 0");
  expect_refused("gen:twin:9:9:3:1:1e999:0.5:1:0.5", "'1e999' is not a number of at least 0");
  expect_refused("gen:twin:9:9:3:1:1:-0.5:1:0.5", "'-0.5' is not a number of at least 0");
  expect_refused("gen:twin:9:9:3:1:1:0.5x:1:0.5", "'0.5x' is not a number of at least 0");
  expect_refused("gen:twin:9:9:3:1:1:0.5::0.5", "'' is not a number of at least 0");
  expect_refused("gen:twin:9:9:9.5:1:1:0.5:1:0.5", "a row has no more nonzeros than columns");
  expect_refused("gen:twin:9:9:3:1:1:1.5:1:0.5", "a bandwidth is a share of the columns, at most 1");
  expect_refused("gen:twin:9:9:3:1:1:0.5:2.5:0.5", "a nonzero has at most 2 neighbours");
  expect_refused("gen:twin:9:9:3:1:1:0.5:1:1.5", "a similarity is a share of the nonzeros, at most 1");
  expect_refused("gen:twin:2147483647:2147483647:1e6:1:1:0.5:1:0.5", "more than 2^40 nonzeros");
  EXPECT_EQ(refusal_of("gen:twin:9:9:3:1:1:0.5:1:0.5:7"), "");
}

}  // namespace
}  // namespace autospmv
