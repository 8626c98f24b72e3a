// The public face: plans, options, errors, explanations.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
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
using testing::TemporaryFolder;

TEST(Plan, Multiplies) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:pde:12");
  const auto plan = make_plan(matrix, context);
  const auto x = ramp(matrix.cols());
  const auto y0 = ramp(matrix.rows());
  auto y = y0;
  plan(x, y);
  EXPECT_TRUE(is_product(matrix, 1.0, x, 0.0, y0, y));
  y = y0;
  plan(x, y, {.alpha = -2, .beta = 0.5, .memory = Memory::host});
  EXPECT_TRUE(is_product(matrix, -2.0, x, 0.5, y0, y));
  EXPECT_TRUE(plan.settled());
  EXPECT_EQ(plan.device(), Place{});
  EXPECT_THROW(plan(ramp(3), y), InvalidArgument);
  std::vector<double> short_y(3);
  EXPECT_THROW(plan(x, short_y), InvalidArgument);
}

TEST(Plan, RefusesVectorsOfAnotherGpu) {
  const auto devices = cuda_devices();
  if (devices.size() < 2) GTEST_SKIP() << "there are no two GPUs";
  auto options = host_options();
  options.device = devices[0];
  const Context context(options);
  const auto matrix = make_matrix<double>("gen:pde:8");
  const auto plan = make_plan(matrix, context);
  const Array<double> x(static_cast<std::size_t>(matrix.cols()), devices[1]);
  Array<double> y(static_cast<std::size_t>(matrix.rows()), devices[1]);
  try {
    plan({x.data(), x.size()}, {y.data(), y.size()});
    FAIL() << "it was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "y lies on CUDA device 1, but the plan's products run on device 0");
  }
}

TEST(Plan, IsOneOfItsOwn) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:pde:8");
  (void)make_plan(matrix, context);
  EXPECT_EQ(detail::Access::state_of(matrix)->plans->size(), 0U) << "the matrix keeps only that of auto_spmv";
}

TEST(Plan, TakesItsOwnEffortAndLimits) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:circuit:3000");
  const auto cached = make_plan(matrix, context, {.effort = Effort::cached});
  EXPECT_EQ(cached.explain().source, "untried");
  EXPECT_EQ(cached.bytes(), 0);
  const auto measured = make_plan(matrix, context, {.limits = Limits{.memory_factor = 0}, .label = "a circuit"});
  EXPECT_EQ(measured.explain().source, "measured");
  EXPECT_EQ(measured.bytes(), 0) << measured.choice();
  const auto known = service_of(context).database().list();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known.front().matrix.label, "a circuit");
  EXPECT_EQ(make_plan(matrix, context).explain().source, "database");
}

TEST(Plan, ExplainsItself) {
  const auto matrix = make_matrix<double>("gen:pde:16");
  std::optional<Context> context(host_options());
  const auto plan = make_plan(matrix, *context);
  const auto known = plan.explain();
  EXPECT_EQ(known.rows, matrix.rows());
  EXPECT_EQ(known.nnz, matrix.nnz());
  EXPECT_EQ(known.choice.format + (known.choice.parameters.empty() ? "" : " " + known.choice.parameters),
            plan.choice());
  EXPECT_GT(known.choice.seconds, 0);
  EXPECT_GT(known.bytes_per_nonzero, 0);
  EXPECT_GT(known.copy_share, 0);
  EXPECT_GT(known.tuning_seconds, known.choice.setup_seconds + known.choice.seconds) << "it was converted and timed";
  EXPECT_NE(known.text().find("\ntuning      "), std::string::npos) << known.text();
  ASSERT_TRUE(known.baseline);
  ASSERT_TRUE(known.runner_up);
  EXPECT_NE(known.runner_up->format + known.runner_up->parameters, known.choice.format + known.choice.parameters);
  int refused = 0;
  for (const auto& candidate : known.candidates) {
    if (candidate.outcome != "refused") continue;
    ++refused;
    EXPECT_FALSE(candidate.reason.empty()) << candidate.format;
  }
  EXPECT_GT(refused, 0);
  EXPECT_NE(known.text().find("choice      " + plan.choice() + ", measured"), std::string::npos) << known.text();
  EXPECT_NE(known.json().find("\"source\":\"measured\""), std::string::npos) << known.json();
  context.reset();
  const auto alone = plan.explain();
  EXPECT_EQ(alone.choice.format, known.choice.format);
  EXPECT_TRUE(alone.candidates.empty());
}

TEST(Context, TakesADeviceThatIsThere) {
  auto options = host_options();
  options.device = Place{Backend::cuda, 4711};
  EXPECT_THROW(Context{options}, InvalidArgument);
}

TEST(Context, KeepsWhatItLearnsWhereItIsTold) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "trials.db";
  auto options = host_options(file);
  const auto matrix = make_matrix<double>("gen:pde:6");
  (void)make_plan(matrix, Context(options));
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_EQ(make_plan(matrix, Context(options)).explain().source, "database");
  options.database = DatabaseChoice::memory();
  EXPECT_EQ(make_plan(matrix, Context(options)).choice().empty(), false);
  options.database = DatabaseChoice::file({});
  EXPECT_THROW(Context{options}, InvalidArgument);
}

TEST(Context, TheOneThatNobodyNamesTakesOptionsBeforeItsFirstUse) {
  auto options = host_options();
  options.effort = Effort::estimate;
  Context::set_instance_options(options);
  EXPECT_EQ(Context::instance().effort(), Effort::estimate);
  EXPECT_EQ(Context::instance().device(), Place{});
  EXPECT_THROW(Context::set_instance_options(options), InvalidArgument);
  const auto matrix = make_matrix<double>("gen:pde:6");
  const auto x = ramp(matrix.cols());
  auto y = x;
  auto_spmv(matrix, x, y);
  EXPECT_TRUE(is_product(matrix, 1.0, x, 0.0, x, y));
  EXPECT_EQ(explain(matrix).source, "estimated");
}

TEST(Context, WarningsGoToTheCaller) {
  const TemporaryFolder folder;
  auto options = host_options("/proc/nobody/can/write/this.db");
  std::vector<std::string> warnings;
  options.logger = [&](LogLevel level, std::string_view message) {
    EXPECT_EQ(level, LogLevel::warning);
    warnings.emplace_back(message);
  };
  const Context context(options);
  EXPECT_EQ(warnings.size(), 1U);
}

}  // namespace
}  // namespace autospmv
