#include "formats/common/predict/walks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "formats/format.hpp"
#include "io/host_csr.hpp"

namespace autospmv::formats {
namespace {

// Features of a diagonal block: so many rows of each length.
Features features_of(const std::vector<std::pair<int, int>>& rows_and_lengths) {
  HostCsr<double> matrix;
  matrix.row_ptr = {0};
  for (const auto& [rows, length] : rows_and_lengths) {
    for (int row = 0; row < rows; ++row) {
      for (int i = 0; i < length; ++i) matrix.col_idx.push_back(i);
      matrix.row_ptr.push_back(static_cast<std::int64_t>(matrix.col_idx.size()));
    }
    matrix.rows += rows;
    matrix.cols = std::max<std::int64_t>(matrix.cols, length);
  }
  matrix.values.assign(matrix.col_idx.size(), 1.5);
  return extract_features(matrix.view(), Place{});
}

TEST(Walks, RowsOfAnyLengthAddUpToTheMatrix) {
  const auto features = features_of({{100, 3}, {10, 0}, {7, 90}, {1, 5000}});
  EXPECT_NEAR(sum_over_rows(features, [](double length) { return length; }), static_cast<double>(features.nnz), 1e-6);
  EXPECT_EQ(sum_over_rows(features, [](double) { return 1; }), 108);
  EXPECT_EQ(sum_over_rows(features_of({{5, 0}}), [](double) { return 1; }), 0);
}

// A few rows that are shorter than most make those seem a little longer than they are.
TEST(Walks, RowsHaveWholeLengths) {
  const auto features = features_of({{1000, 4}, {6, 3}});
  const auto in_fours = [](double length) { return std::ceil(length / 4); };
  EXPECT_NEAR(sum_over_rows(features, in_fours), 1006, 10);
  EXPECT_NEAR(walk_of_rows(features, 4).steps, 1, 0.01);
}

TEST(Walks, ThreadsOfARowShareItsEntries) {
  const auto features = features_of({{1000, 8}});
  const auto alone = walk_of_rows(features, 1);
  EXPECT_EQ(alone.threads, 1000);
  EXPECT_EQ(alone.steps, 8);
  EXPECT_EQ(alone.longest, 8);
  const auto four = walk_of_rows(features, 4);
  EXPECT_EQ(four.threads, 4000);
  EXPECT_EQ(four.steps, 2);
  EXPECT_EQ(walk_of_rows(features, 4, false, 2).steps, 1);
  EXPECT_EQ(walk_of_rows(features, 32).steps, 1) << "however few of its threads have an entry";
}

TEST(Walks, AWarpWaitsForItsLongestRowUnlessRowsAreSorted) {
  std::vector<std::pair<int, int>> rows;
  for (int i = 0; i < 50; ++i) rows.insert(rows.end(), {{31, 4}, {1, 64}});
  const auto features = features_of(rows);
  const auto sorted = walk_of_rows(features, 1, true).steps;
  EXPECT_NEAR(sorted, features.npr_mean, 1);
  EXPECT_GT(walk_of_rows(features, 1).steps, 5 * sorted);
  EXPECT_NEAR(walk_of_rows(features, 32).steps, walk_of_rows(features, 32, true).steps, 1e-9);
}

TEST(Walks, LongRowsGetAsManyThreadsAsABlockHas) {
  const auto features = features_of({{1000, 4}, {1, 8192}});
  const auto walk = walk_of_shared_rows(features, 8);
  EXPECT_NEAR(walk.threads, 1000 + 1024, 200);
  EXPECT_EQ(walk.longest, 8);
}

// What a launch takes beside its bytes is told of every format whose threads depend on its parameters.
TEST(Walks, MoreThreadsARowTakeFewerSteps) {
  const auto features = features_of({{1000, 40}});
  Device device;
  device.backend = Backend::cuda;
  device.multiprocessors = 100;
  device.threads_of_multiprocessor = 2048;
  device.memory_bytes = std::int64_t{1} << 34;
  const auto* format = find_format<double>("csr_vector");
  const auto walk = [&](std::int64_t threads) {
    const Params params{{"T", threads}, {"block", 256}, {"share", 0}, {"column_bits", 32}, {"value_bits", 64}};
    return (*format->predict(features, params, device)).walk;
  };
  EXPECT_EQ(walk(8).threads, 8000);
  EXPECT_EQ(walk(8).steps, 5);
  EXPECT_EQ(walk(32).steps, 2);
}

}  // namespace
}  // namespace autospmv::formats
