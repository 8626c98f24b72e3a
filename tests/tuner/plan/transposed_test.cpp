// Products with the transposed matrix, as callers ask for them.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/machine/array.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {
namespace {

using testing::host_options;
using testing::make_matrix;
using testing::ramp;

constexpr auto transposed = Operation::transposed;

// y = alpha A^T x + beta y0, nonzero by nonzero.
std::vector<double> product_of(const Matrix<double>& matrix, double alpha, const std::vector<double>& x, double beta,
                               std::vector<double> y) {
  const auto view = data_of(matrix).on({});
  for (auto& element : y) element *= beta;
  with_offsets(view.row_ptr, [&](const auto* row_ptr) {
    for (std::int64_t row = 0; row < view.rows; ++row) {
      for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
        y[static_cast<std::size_t>(view.col_idx[k])] += alpha * view.values[k] * x[static_cast<std::size_t>(row)];
      }
    }
  });
  return y;
}

void expect_near(const std::vector<double>& y, const std::vector<double>& expected) {
  ASSERT_EQ(y.size(), expected.size());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-12 * (1 + std::abs(expected[i]))) << i;
}

void expect_products(const Matrix<double>& matrix, const Plan<double>& plan) {
  const auto x = ramp(matrix.rows());
  const auto y0 = ramp(matrix.cols());
  auto y = y0;
  plan(x, y);
  expect_near(y, product_of(matrix, 1, x, 0, y0));
  y = y0;
  plan(x, y, {.alpha = -2, .beta = 0.5});
  expect_near(y, product_of(matrix, -2, x, 0.5, y0));
}

TEST(TransposedProducts, AreRightByEveryEffort) {
  for (const auto effort : {Effort::cached, Effort::estimate, Effort::measure, Effort::exhaustive, Effort::online}) {
    const Context context(host_options());
    for (const auto* spec : {"gen:uniform:300:700:5", "gen:rmat:9", "gen:uniform:700:300:5", "gen:grid2d:20"}) {
      SCOPED_TRACE(std::string(name_of(effort)) + " " + spec);
      const auto matrix = make_matrix<double>(spec);
      expect_products(matrix, make_plan(matrix, context, {.effort = effort, .op = transposed}));
      if (effort == Effort::exhaustive) break;  // seconds each
    }
  }
}

TEST(TransposedProducts, TakeTheLengthsTheOtherWayRound) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:uniform:30:70:5");
  const auto plan = make_plan(matrix, context, {.effort = Effort::cached, .op = transposed});
  std::vector<double> rows(30);
  std::vector<double> cols(70);
  EXPECT_THROW(plan(cols, rows), InvalidArgument);
  EXPECT_THROW(auto_spmv<double>(matrix, cols, rows, {.context = &context, .op = transposed}), InvalidArgument);
  auto_spmv<double>(matrix, rows, cols, {.context = &context, .op = transposed});
  auto_spmv<double>(matrix, cols, rows, {.context = &context});
}

TEST(TransposedProducts, HaveAKeptPlanOfTheirOwn) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:rmat:8");
  const auto plain = plan_for(matrix, context);
  const auto other = plan_for(matrix, context, transposed);
  EXPECT_NE(plain, other);
  EXPECT_EQ(plan_for(matrix, context, transposed), other);
  EXPECT_EQ(plan_for(matrix, context), plain);
  const auto x = ramp(matrix.rows());
  std::vector<double> y(x.size());
  for (int i = 0; i < 200; ++i) auto_spmv<double>(matrix, x, y, {.context = &context, .op = transposed});
  expect_near(y, product_of(matrix, 1, x, 0, y));
  for (int i = 0; i < 200; ++i) auto_spmv<double>(matrix, x, y, {.context = &context});
  EXPECT_TRUE(testing::is_product(matrix, 1.0, x, 0.0, y, y));
}

TEST(TransposedProducts, AreForgottenWithTheirContext) {
  const auto matrix = make_matrix<double>("gen:rmat:6");
  const auto& kept = *detail::Access::state_of(matrix)->transposed_plans;
  {
    const Context context(host_options());
    (void)kept_plan(matrix, context, transposed);
    EXPECT_EQ(kept.size(), 1U);
  }
  EXPECT_EQ(kept.size(), 0U);
}

TEST(TransposedProducts, FollowNewValues) {
  const Context context(host_options());
  // Values that some candidates store in fewer bits, then values that need them all.
  const auto source = generate<double>("gen:grid2d:40");
  auto matrix = Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
  const auto plan = make_plan(matrix, context, {.effort = Effort::exhaustive, .op = transposed});
  expect_products(matrix, plan);
  auto values = source.values;
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = 1.0 / static_cast<double>(k + 3);
  matrix.update_values(values);
  expect_products(matrix, plan);
  matrix.update_values(source.values);
  expect_products(matrix, plan);
}

TEST(TransposedProducts, AreFiledUnderTheirOperation) {
  const Context context(host_options());
  auto& database = service_of(context).database();
  const auto matrix = make_matrix<double>("gen:rmat:8");
  const auto plan = make_plan(matrix, context, {.op = transposed, .label = "a graph"});
  EXPECT_EQ(plan.explain().source, "measured");
  EXPECT_TRUE(database.trials(key_of(matrix, context)).empty());
  const auto known = database.list();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known.front().key.operation, "t");
  EXPECT_EQ(known.front().matrix.label, "a graph transposed");
  EXPECT_EQ(make_plan(matrix, context, {.op = transposed}).explain().source, "database");
}

TEST(TransposedProducts, OfASymmetricPatternKnowWhatPlainOnesDo) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:grid2d:30");
  EXPECT_EQ(make_plan(matrix, context).explain().source, "measured");
  const auto plan = make_plan(matrix, context, {.op = transposed});
  EXPECT_EQ(plan.explain().source, "database");
  expect_products(matrix, plan);
}

TEST(TransposedProducts, AreExplained) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:uniform:30:70:5");
  const auto said = explain(matrix, context, transposed);
  EXPECT_EQ(said.op, transposed);
  EXPECT_EQ(said.rows, 70);
  EXPECT_EQ(said.cols, 30);
  EXPECT_NE(said.text().find("70 x 30 by transposition, 150 nonzeros"), std::string::npos) << said.text();
  EXPECT_NE(said.json().find("\"transposed\":true"), std::string::npos) << said.json();
  EXPECT_NE(explain(matrix, context).json().find("\"transposed\":false"), std::string::npos);
}

TEST(TransposedProducts, OnAGpuTakeEitherMemory) {
  const auto gpu = testing::last_gpu();
  if (!gpu) GTEST_SKIP() << "no CUDA device";
  auto options = host_options();
  options.device = *gpu;
  const Context context(options);
  for (const auto* spec : {"gen:rmat:9", "gen:uniform:300:700:5", "gen:grid2d:20"}) {
    auto matrix = make_matrix<double>(spec);
    const auto plan = make_plan(matrix, context, {.op = transposed});
    expect_products(matrix, plan);
    matrix.update_values(ramp(matrix.nnz()));
    expect_products(matrix, plan);
    const auto x = ramp(matrix.rows());
    const auto on_device = Array<double>::copy_of(x, *gpu);
    Array<double> y(static_cast<std::size_t>(matrix.cols()), *gpu);
    plan({on_device.data(), on_device.size()}, {y.data(), y.size()});
    synchronize(*gpu);
    expect_near(y.to_vector(), product_of(matrix, 1, x, 0, ramp(matrix.cols())));
  }
}

}  // namespace
}  // namespace autospmv
