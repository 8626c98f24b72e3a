// Handles may go in any order, on any thread, at the end of the process too; what goes on in the background ends then.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/matrix/matrix_data.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/context/service.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {
namespace {

using testing::host_options;
using testing::make_matrix;

// How many orders are tried: $AUTOSPMV_TEST_ROUNDS, for a thorough search.
int rounds() {
  const char* wanted = std::getenv("AUTOSPMV_TEST_ROUNDS");
  return wanted != nullptr ? std::atoi(wanted) : 40;
}

ContextOptions online_options() {
  auto options = host_options();
  options.effort = Effort::online;
  options.limits.expected_calls = 1'000'000'000;  // so many that trials pay
  return options;
}

std::vector<double> ones(std::int64_t size) { return std::vector<double>(static_cast<std::size_t>(size), 1.0); }

int threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  }
  return 0;
}

TEST(Lifetimes, HandlesGoInAnyOrderWhileTuningGoesOn) {
  std::minstd_rand random(7);
  const auto template_matrix = make_matrix<double>("gen:circuit:200");
  const auto x = ones(template_matrix.cols());
  const auto wanted = [&] {
    std::vector<double> y(x.size());
    const Context context(host_options());
    auto_spmv(template_matrix, x, y, {.context = &context});
    return y;
  }();
  for (int round = 0; round < rounds(); ++round) {
    std::optional<Context> context(online_options());
    std::optional<Context> other(online_options());
    std::optional<Matrix<double>> matrix(make_matrix<double>("gen:circuit:200"));
    std::optional<Plan<double>> made(make_plan(*matrix, *context));
    std::optional<Plan<double>> kept(kept_plan(*matrix, *context));
    std::optional<Plan<double>> others(kept_plan(*matrix, *other));
    std::vector<double> y(x.size());
    // Into the middle of some trial.
    for (auto i = random() % 60; i > 0; --i) {
      (*made)(x, y);
      auto_spmv(*matrix, x, y, {.context = &*context});
      (*others)(x, y);
    }
    std::array<int, 6> order{};
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const bool elsewhere = random() % 2 == 0;
    for (const int which : order) {
      const auto let_go = [&] {
        if (which == 0) context.reset();
        if (which == 1) other.reset();
        if (which == 2) matrix.reset();
        if (which == 3) made.reset();
        if (which == 4) kept.reset();
        if (which == 5) others.reset();
      };
      if (elsewhere) {
        std::thread(let_go).join();
      } else {
        let_go();
      }
      for (const auto* plan : {&made, &kept, &others}) {
        if (!*plan) continue;
        std::fill(y.begin(), y.end(), -1.0);
        (**plan)(x, y);
        for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], wanted[i], 1e-9 * (1 + std::abs(wanted[i])));
      }
    }
  }
}

// Several threads at once: some multiply, others let go.
TEST(Lifetimes, HandlesGoAtTheSameTime) {
  for (int round = 0; round < rounds() / 4; ++round) {
    auto context = std::make_unique<Context>(online_options());
    std::vector<Matrix<double>> matrices;
    std::vector<Plan<double>> plans;
    for (int m = 0; m < 3; ++m) {
      matrices.push_back(make_matrix<double>("gen:circuit:" + std::to_string(150 + m)));
      plans.push_back(kept_plan(matrices.back(), *context));
    }
    std::vector<std::thread> threads;
    for (std::size_t m = 0; m < plans.size(); ++m) {
      threads.emplace_back([plan = plans[m], x = ones(matrices[m].cols())] {
        std::vector<double> y(x.size());
        for (int i = 0; i < 30; ++i) plan(x, y);
      });
    }
    threads.emplace_back([&] { context.reset(); });
    threads.emplace_back([&] { matrices.clear(); });
    threads.emplace_back([&] { plans.clear(); });
    for (auto& thread : threads) thread.join();
  }
}

TEST(Lifetimes, DeadContextsLeaveNothingOnAMatrix) {
  const auto matrix = make_matrix<double>("gen:pde:6");
  const auto& kept = *detail::Access::state_of(matrix)->plans;
  std::weak_ptr<void> plan;
  for (int i = 0; i < 5; ++i) {
    auto options = i % 2 == 0 ? host_options() : online_options();
    const Context context(options);
    plan = std::static_pointer_cast<void>(plan_for(matrix, context));
    EXPECT_EQ(kept.size(), 1U);
    EXPECT_FALSE(plan.expired());
  }
  EXPECT_EQ(kept.size(), 0U);
  EXPECT_TRUE(plan.expired());
}

TEST(Lifetimes, ThreadsAreBoundedWhateverTheNumberOfMatrices) {
  const Context context(online_options());
  std::vector<Matrix<double>> matrices;
  std::vector<Plan<double>> plans;
  const auto before = threads_of_this_process();
  for (int m = 0; m < 60; ++m) {
    matrices.push_back(make_matrix<double>("gen:circuit:" + std::to_string(100 + m)));
    plans.push_back(kept_plan(matrices.back(), context));
    const auto x = ones(matrices.back().cols());
    std::vector<double> y(x.size());
    for (int i = 0; i < 5; ++i) plans.back()(x, y);
  }
  EXPECT_LE(threads_of_this_process() - before, 1 + omp_get_max_threads());
  // And all of them come to an end.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  const auto unsettled = [&] {
    return std::any_of(plans.begin(), plans.end(), [](const auto& plan) { return !plan.settled(); });
  };
  while (unsettled() && std::chrono::steady_clock::now() < deadline) {
    for (std::size_t m = 0; m < plans.size(); ++m) {
      const auto x = ones(matrices[m].cols());
      std::vector<double> y(x.size());
      plans[m](x, y);
    }
  }
  EXPECT_FALSE(unsettled());
}

TEST(Lifetimes, TheHostNeedsNoThreadToTuneOnline) {
  auto options = online_options();
  options.background = false;
  const Context context(options);
  const auto matrix = make_matrix<double>("gen:circuit:300");
  const auto plan = kept_plan(matrix, context);
  const auto x = ones(matrix.cols());
  const std::vector<double> y0(x.size(), 0.0);
  const auto before = threads_of_this_process();
  for (int i = 0; i < 10'000 && !plan.settled(); ++i) {
    auto y = y0;
    plan(x, y);
    ASSERT_TRUE(testing::is_product(matrix, 1.0, x, 0.0, y0, y));
  }
  EXPECT_TRUE(plan.settled());
  EXPECT_LE(threads_of_this_process() - before, omp_get_max_threads());
}

TEST(Lifetimes, AMatrixMayGoBeforeItsPlan) {
  const Context context(host_options());
  std::optional<Plan<double>> plan;
  std::vector<double> y(1000);
  const auto other = make_matrix<double>("gen:pde:10");
  const auto x = ones(other.cols());
  {
    const auto matrix = make_matrix<double>("gen:pde:10");
    plan = make_plan(matrix, context);
  }
  (*plan)(x, y);
  EXPECT_TRUE(testing::is_product(other, 1.0, x, 0.0, y, y));
}

// What a program leaves to its statics, in both orders of destruction, in the middle of a trial.
template <bool ContextFirst>
[[noreturn]] void leave_to_the_end_of_the_process() {
  struct Held {
    std::optional<Context> context;
    std::optional<Matrix<double>> matrix;
    std::optional<Plan<double>> plan;
  };
  if constexpr (ContextFirst) {
    static Held made_first;
    static const Context context(online_options());
    made_first.matrix = make_matrix<double>("gen:circuit:400");
    made_first.plan = kept_plan(*made_first.matrix, context);
    const auto x = ones(made_first.matrix->cols());
    std::vector<double> y(x.size());
    for (int i = 0; i < 20; ++i) (*made_first.plan)(x, y);
  } else {
    static const Context context(online_options());
    static Held made_last;
    made_last.matrix = make_matrix<double>("gen:circuit:400");
    made_last.plan = kept_plan(*made_last.matrix, context);
    const auto x = ones(made_last.matrix->cols());
    std::vector<double> y(x.size());
    for (int i = 0; i < 20; ++i) (*made_last.plan)(x, y);
  }
  std::exit(0);
}

TEST(LifetimesDeathTest, AtTheEndOfTheProcessToo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(leave_to_the_end_of_the_process<true>(), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(leave_to_the_end_of_the_process<false>(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace autospmv
