// The product as callers call it.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "tests/tuner/support.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {
namespace {

using testing::host_options;
using testing::is_product;
using testing::make_matrix;
using testing::ramp;

TEST(AutoSpmv, MultipliesEmptyMatrices) {
  const Context context(host_options());
  const std::vector<std::int32_t> row_ptr{0, 0, 0};
  const std::vector<std::int32_t> no_columns;
  const auto matrix = Matrix<double>::from_csr(2, 0, row_ptr, no_columns, {});
  std::vector<double> y{1, 2};
  auto_spmv(matrix, {}, y, {.beta = 2, .context = &context});
  EXPECT_EQ(y, (std::vector<double>{2, 4}));
  const auto nothing = Matrix<double>::from_csr(0, 3, std::vector<std::int32_t>{0}, no_columns, {});
  auto_spmv(nothing, ramp(3), {}, {.context = &context});
}

TEST(AutoSpmv, TakesAlphaAndBeta) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:circuit:4000");
  const auto x = ramp(matrix.cols());
  const auto y0 = ramp(matrix.rows());
  auto y = y0;
  auto_spmv(matrix, x, y, {.alpha = 2.5, .beta = -0.5, .context = &context});
  EXPECT_TRUE(is_product(matrix, 2.5, x, -0.5, y0, y));
}

TEST(AutoSpmv, ChecksLengths) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:pde:4");
  std::vector<double> y(64);
  EXPECT_THROW(auto_spmv(matrix, ramp(63), y, {.context = &context}), InvalidArgument);
  std::vector<double> long_y(65);
  EXPECT_THROW(auto_spmv(matrix, ramp(64), long_y, {.context = &context}), InvalidArgument);
}

TEST(AutoSpmv, TakesNewValuesWithoutTuningAgain) {
  const Context context(host_options());
  auto source = generate<double>("gen:pde:16");
  auto matrix = Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
  const auto x = ramp(matrix.cols());
  std::vector<double> y(x.size());
  auto_spmv(matrix, x, y, {.context = &context});
  const auto plan = plan_for(matrix, context);
  for (auto& value : source.values) value = 3 - value;
  matrix.update_values(source.values);
  EXPECT_EQ(plan_for(matrix, context), plan);
  auto_spmv(matrix, x, y, {.context = &context});
  EXPECT_TRUE(is_product(matrix, 1.0, x, 0.0, y, y));
  EXPECT_THROW(matrix.update_values(std::vector<double>(3)), InvalidArgument);
}

TEST(AutoSpmv, ManyThreadsShareAMatrix) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:circuit:2000");
  const auto x = ramp(matrix.cols());
  std::vector<int> right(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        std::vector<double> y(static_cast<std::size_t>(matrix.rows()));
        auto_spmv(matrix, x, y, {.context = &context});
        right[t] += is_product(matrix, 1.0, x, 0.0, y, y) ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(4, 20));
}

TEST(Context, TwoContextsKeepTheirOwnPlans) {
  const Context one(host_options());
  const Context two(host_options());
  const auto matrix = make_matrix<double>("gen:pde:6");
  EXPECT_NE(plan_for(matrix, one), plan_for(matrix, two));
  EXPECT_EQ(plan_for(matrix, one), plan_for(matrix, one));
}

}  // namespace
}  // namespace autospmv
