// Memory that runs out anywhere in a tuning: the product is given all the same, and nothing is the worse for it later.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/machine/array.hpp"
#include "db/file/sqlite.hpp"
#include "tests/shortage/allocations.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {
namespace {

using testing::FailingAllocations;
using testing::TemporaryFolder;

// At how many allocations of a tuning memory runs out, evenly spread: $AUTOSPMV_TEST_ROUNDS; 0: at each of them.
std::int64_t rounds() {
  const char* const wanted = std::getenv("AUTOSPMV_TEST_ROUNDS");
  return wanted != nullptr ? std::atoll(wanted) : 10;
}

struct How {
  std::string name;
  Effort effort = Effort::measure;
  bool known = false;  // the matrix was tuned before
  double time_limit_seconds = std::numeric_limits<double>::infinity();
};

// A matrix with what its product must be: to look at a product takes no memory.
class Products {
 public:
  explicit Products(const std::string& spec)
      : matrix_(testing::make_matrix<double>(spec)), x_(testing::ramp(matrix_.cols())), y_(rows()), expected_(rows()) {
    const auto view = data_of(matrix_).on({});
    const auto* row_ptr = std::get<0>(view.row_ptr);
    for (std::int64_t row = 0; row < view.rows; ++row) {
      for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
        expected_[static_cast<std::size_t>(row)] += view.values[k] * x_[static_cast<std::size_t>(view.col_idx[k])];
      }
    }
  }

  [[nodiscard]] const Matrix<double>& matrix() const { return matrix_; }

  // Added to something, which tells a product from two.
  [[nodiscard]] bool one_is_right(const Context& context) {
    std::fill(y_.begin(), y_.end(), before);
    auto_spmv(matrix_, x_, y_, {.beta = 1, .context = &context});
    return is_right();
  }

  // The same with vectors on a device, while allocation number `first` fails; how many were asked for.
  [[nodiscard]] std::int64_t fail_one(const Context& context, const Device& device, std::int64_t first) {
    const auto x = Array<double>::copy_of(x_, device);
    std::fill(y_.begin(), y_.end(), before);
    auto y = Array<double>::copy_of(y_, device);
    (void)data_of(matrix_).on(device);
    std::int64_t asked = 0;
    {
      const FailingAllocations failing(first, 1);
      auto_spmv(matrix_, x.span(), y.span(), {.beta = 1, .context = &context});
      asked = FailingAllocations::asked();
    }
    synchronize(device);
    y_ = y.to_vector();
    EXPECT_TRUE(is_right()) << "allocation " << first;
    return asked;
  }

 private:
  static constexpr double before = 0.5;

  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(matrix_.rows()); }
  [[nodiscard]] bool is_right() const {
    return std::equal(y_.begin(), y_.end(), expected_.begin(),
                      [](double a, double b) { return std::abs(a - before - b) <= 1e-9 * (1 + std::abs(b)); });
  }

  Matrix<double> matrix_;
  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<double> expected_;
};

class OutOfMemoryInTuning : public ::testing::TestWithParam<How> {
 protected:
  // What is known before: the trials of another matrix, and of this one where it is known.
  void SetUp() override {
    auto options = testing::host_options(known_file());
    options.effort = Effort::measure;
    const Context context(options);
    (void)kept_plan(testing::make_matrix<double>("gen:circuit:90"), context);
    if (GetParam().known) (void)kept_plan(testing::make_matrix<double>(spec), context);
  }

  // Makes products while allocations fail from number `first` on, `count` of them; returns how many were asked for.
  [[nodiscard]] std::int64_t run(std::int64_t first, std::int64_t count) {
    SCOPED_TRACE("allocation " + std::to_string(first) + (count == 1 ? "" : " and all that follow"));
    std::filesystem::copy_file(known_file(), file(), std::filesystem::copy_options::overwrite_existing);
    std::int64_t asked = 0;
    {
      const Context context(options());
      Products products(spec);
      int wrong = 0;
      std::string thrown;
      {
        const FailingAllocations failing(first, count);
        try {
          for (int i = 0; i < most_products(); ++i) wrong += products.one_is_right(context) ? 0 : 1;
        } catch (const std::exception& error) {
          thrown = error.what();
        }
        asked = FailingAllocations::asked();
      }
      EXPECT_EQ(thrown, "");
      EXPECT_EQ(wrong, 0);
      EXPECT_TRUE(products.one_is_right(context)) << "the next product";
      end_tuning(products, context);
    }
    expect_whole_database();
    expect_sensible_winner();
    return asked;
  }

 private:
  static constexpr const char* spec = "gen:circuit:100";

  [[nodiscard]] static int most_products() { return GetParam().effort == Effort::online ? 200 : 2; }

  [[nodiscard]] std::filesystem::path known_file() const { return folder_.path() / "known.db"; }
  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "trials.db"; }

  [[nodiscard]] ContextOptions options() const {
    auto options = testing::host_options(file());
    options.effort = GetParam().effort;
    options.limits.time_limit_seconds = GetParam().time_limit_seconds;
    options.recheck_share = 1;
    if (options.effort == Effort::online) options.limits.expected_calls = 1'000'000'000;  // so many that trials pay
    return options;
  }

  static void end_tuning(Products& products, const Context& context) {
    const auto plan = plan_for(products.matrix(), context);
    while (!plan->settled()) EXPECT_TRUE(products.one_is_right(context));
  }

  void expect_whole_database() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      EXPECT_EQ(entry.path().string().find("corrupt"), std::string::npos) << entry.path();
    }
    const db::Connection connection(file(), db::Access::read);
    const auto text = [&](const char* sql) {
      db::Statement statement(connection, sql);
      std::string value;
      if (statement.step()) statement.read(value);
      return value;
    };
    EXPECT_EQ(text("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(text("SELECT group_concat(format) FROM suspect"), "") << "nothing innocent is blamed";
    EXPECT_EQ(text("SELECT group_concat(format || detail) FROM trial WHERE outcome NOT IN ('passed', 'refused')"), "");
  }

  // Of a tuning with all the memory that it asks for.
  void expect_sensible_winner() const {
    const Context context(options());
    Products products(spec);
    EXPECT_TRUE(products.one_is_right(context));
    end_tuning(products, context);
    auto& database = service_of(context).database();
    const auto key = key_of(products.matrix(), context);
    const auto choice = plan_for(products.matrix(), context)->choice();
    if (GetParam().effort == Effort::measure) {
      EXPECT_TRUE(was_tuned(database, key, Effort::measure, {}, format_catalogue()))
          << "what was given up is tried again";
    }
    const auto trials = database.trials(key);
    const auto* const trial = trial_of(choice.candidate, trials);
    if (trial != nullptr) {
      EXPECT_EQ(trial->measurement.outcome, Outcome::passed);
    } else {
      EXPECT_FALSE(GetParam().known || GetParam().effort == Effort::measure) << choice.candidate.text();
    }
  }

  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Efforts, OutOfMemoryInTuning,
                         ::testing::Values(How{"Cached", Effort::cached}, How{"CachedAndKnown", Effort::cached, true},
                                           How{"Estimate", Effort::estimate}, How{"Measure", Effort::measure},
                                           How{"MeasureAndKnown", Effort::measure, true},
                                           How{"Exhaustive", Effort::exhaustive, false, 0.002},
                                           How{"Online", Effort::online}),
                         [](const auto& how) { return how.param.name; });

TEST_P(OutOfMemoryInTuning, ProductsAreGivenAllTheSame) {
  const auto asked = run(FailingAllocations::all, 1);
  const auto step = rounds() == 0 ? 1 : std::max<std::int64_t>(1, asked / rounds());
  int runs = 0;
  for (const auto count : {std::int64_t{1}, FailingAllocations::all}) {
    for (std::int64_t first = 1; first <= asked && !HasFailure(); first += step, ++runs) (void)run(first, count);
  }
  std::cout << GetParam().name << ": " << asked << " allocations, " << runs << " runs\n";
}

// Which may run before memory runs out.
TEST(OutOfMemoryOnADevice, TheFirstProductIsGivenOnce) {
  if (!built_with_cuda) GTEST_SKIP() << "built without CUDA";
  const auto gpu = testing::last_gpu();
  if (!gpu) GTEST_SKIP() << "no CUDA device";
  auto options = testing::host_options();
  options.device = *gpu;
  options.effort = Effort::online;
  const Context context(options);
  std::int64_t first = 1;
  while (Products("gen:rmat:9").fail_one(context, *gpu, first) >= first && !HasFailure()) ++first;
  EXPECT_GT(first, 20);
}

}  // namespace
}  // namespace autospmv
