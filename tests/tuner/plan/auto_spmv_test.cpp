// The product as callers call it.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/machine/array.hpp"
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

// The host and every GPU at once, though a thread's current GPU is the first: in memory of the caller, and of the GPU.
TEST(Context, EveryDeviceMultipliesAMatrix) {
  std::vector<Device> devices{host_device()};
  for (const auto& device : cuda_devices()) devices.push_back(device);
  const auto matrix = make_matrix<double>("gen:circuit:3000");
  const auto x = ramp(matrix.cols());
  const auto y0 = ramp(matrix.rows());
  std::vector<int> wrong(devices.size(), 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto& device = devices[i];
      auto options = host_options();
      options.device = device;
      options.effort = Effort::online;
      const Context context(options);
      const auto on_device = Array<double>::copy_of(x, device);
      Array<double> there(y0.size(), device);
      synchronize(device, setup_stream(device));  // it is made in its order
      for (int call = 0; call < 300; ++call) {
        auto y = y0;
        auto_spmv<double>(matrix, x, y, {.alpha = 2, .beta = -1, .context = &context});
        wrong[i] += is_product(matrix, 2.0, x, -1.0, y0, y) ? 0 : 1;
        auto_spmv<double>(matrix, on_device.span(), there.span(), {.context = &context});
        synchronize(device);
        wrong[i] += is_product(matrix, 1.0, x, 0.0, y0, there.to_vector()) ? 0 : 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(devices.size(), 0));
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
