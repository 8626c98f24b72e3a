// Values that change: every product is by one set of them, whatever runs meanwhile, and what was learned for one kind
// of values is not filed under another.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/matrix/matrix_data.hpp"
#include "formats/format.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/measure/conversion.hpp"
#include "tuner/plan/plan_state.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {
namespace {

using testing::host_options;

// How often values change in a test of races: $AUTOSPMV_TEST_UPDATES, for a thorough search.
int updates() {
  const char* wanted = std::getenv("AUTOSPMV_TEST_UPDATES");
  return wanted != nullptr ? std::atoi(wanted) : 100;
}

// Sets of values of all kinds, small enough integers that any order of summation gives the same y.
template <class T>
class Versions {
 public:
  static constexpr std::size_t count = 6;

  explicit Versions(const HostCsr<T>& source) : x_(static_cast<std::size_t>(source.cols)) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<T>(i % 3 + 1);
    const auto nnz = source.values.size();
    for (std::size_t v = 0; v < count; ++v) {
      std::vector<T> values(nnz);
      for (std::size_t k = 0; k < nnz; ++k) values[k] = value(v, k);
      std::vector<T> y(static_cast<std::size_t>(source.rows), 0);
      for (std::size_t row = 0; row < y.size(); ++row) {
        for (auto k = source.row_ptr[row]; k < source.row_ptr[row + 1]; ++k) {
          const auto at = static_cast<std::size_t>(k);
          y[row] += values[at] * x_[static_cast<std::size_t>(source.col_idx[at])];
        }
      }
      values_.push_back(std::move(values));
      products_.push_back(std::move(y));
    }
  }

  [[nodiscard]] const std::vector<T>& values(std::size_t version) const { return values_[version % count]; }
  [[nodiscard]] const std::vector<T>& x() const { return x_; }
  [[nodiscard]] const std::vector<T>& product(std::size_t version) const { return products_[version % count]; }
  [[nodiscard]] bool is_one(const std::vector<T>& y) const {
    return std::find(products_.begin(), products_.end(), y) != products_.end();
  }

 private:
  // Two constants, two small dictionaries, then those that need many bits: of double more than float has.
  static T value(std::size_t version, std::size_t k) {
    const auto number = static_cast<double>(k);
    switch (version) {
      case 0:
        return 2;
      case 1:
        return static_cast<T>(k % 5 + 1);
      case 2:
        return 5;
      case 3:
        return static_cast<T>(k % 7 + 2);
      case 4:
        return static_cast<T>(number + 1);
      default:
        return static_cast<T>(sizeof(T) > 4 ? number + (1 << 30) + 1 : number + 3);
    }
  }

  std::vector<T> x_;
  std::vector<std::vector<T>> values_;
  std::vector<std::vector<T>> products_;
};

// A plan of this candidate, and no other.
template <class T>
std::shared_ptr<detail::PlanState<T>> forced_plan(const Matrix<T>& matrix, const Candidate& candidate) {
  const auto device = host_device();
  const auto& data = detail::Access::state_of(matrix)->data;
  const auto values = data->hold_values();
  auto built = find_format<T>(candidate.format)->build(data->on({}), candidate.params, device);
  if (!built) return nullptr;
  auto live = std::make_unique<LiveOperator<T>>(std::move(*built), Place{},
                                                rebuilding(candidate, device, FormatLookup<T>(find_format<T>)));
  auto plan = std::make_shared<detail::PlanState<T>>(TrialRecord{candidate, 1, true, {}}, std::move(live), data,
                                                     Place{}, PlanOrigin{});
  data->add_observer(plan);
  return plan;
}

// Threads multiply while one changes the values; how many products were by no set of them, or by an old one at the end.
template <class T>
int wrong_products(Matrix<T> matrix, const detail::PlanState<T>& plan, const Versions<T>& versions, int threads) {
  std::atomic<int> wrong = 0;
  std::atomic<bool> done = false;
  std::vector<std::thread> all;
  all.reserve(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      std::vector<T> y(versions.product(0).size());
      while (!done) {
        plan.multiply(versions.x(), y, {});
        wrong += versions.is_one(y) ? 0 : 1;
        // More threads than processors: seldom to be stopped in the middle of a product, which updates wait for.
        std::this_thread::yield();
      }
    });
  }
  std::vector<T> y(versions.product(0).size());
  for (std::size_t u = 1; u <= static_cast<std::size_t>(updates()); ++u) {
    matrix.update_values(versions.values(u));
    plan.multiply(versions.x(), y, {});
    wrong += y == versions.product(u) ? 0 : 1;
  }
  done = true;
  for (auto& thread : all) thread.join();
  return wrong;
}

template <class T>
HostCsr<T> small_matrix() {
  auto source = generate<T>("gen:circuit:90");
  // As symmetric as its pattern: one value for all.
  std::fill(source.values.begin(), source.values.end(), T{2});
  return source;
}

template <class T>
class ChangingValues : public ::testing::Test {};
using ValueTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ChangingValues, ValueTypes);

// Each format with its first parameters, and with those of the fewest bits for constant values.
TYPED_TEST(ChangingValues, AreSeenWholeByAnyThread) {
  using T = TypeParam;
  const auto source = small_matrix<T>();
  const Versions<T> versions(source);
  const auto device = host_device();
  int tried = 0;
  for (const auto* format : all_formats<T>()) {
    const auto matrix = Matrix<T>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
    const auto features = extract_features(data_of(matrix).on({}), device);
    const auto choices = format->params(features, device).combinations();
    for (const auto& params : {choices.front(), choices.back()}) {
      const auto plan = forced_plan(matrix, {format->info().name, params});
      if (plan == nullptr) continue;
      ++tried;
      EXPECT_EQ(wrong_products(matrix, *plan, versions, 8), 0) << format->info().name << ' ' << params.text();
      auto again = matrix;
      again.update_values(source.values);
      if (choices.size() == 1) break;
    }
  }
  EXPECT_GT(tried, 40);
}

TYPED_TEST(ChangingValues, AreSeenWholeByTransposedProducts) {
  using T = TypeParam;
  const auto source = small_matrix<T>();
  const Versions<T> versions(source);
  const Context context(host_options());
  const auto plan_of = [&](const Matrix<T>& matrix) {
    return make_plan(matrix, context, {.effort = Effort::cached, .op = Operation::transposed});
  };
  auto matrix = Matrix<T>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, versions.values(0));
  std::vector<std::vector<T>> products;
  for (std::size_t version = 0; version < 6; ++version) {
    const auto& values = versions.values(version);
    auto& y = products.emplace_back(static_cast<std::size_t>(source.cols));
    plan_of(Matrix<T>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, values))(versions.x(), y);
  }
  const auto plan = plan_of(matrix);
  std::atomic<int> wrong = 0;
  std::atomic<bool> done = false;
  std::thread other([&] {
    std::vector<T> y(products.front().size());
    while (!done) {
      plan(versions.x(), y);
      wrong += std::find(products.begin(), products.end(), y) != products.end() ? 0 : 1;
      std::this_thread::yield();
    }
  });
  std::vector<T> y(products.front().size());
  for (std::size_t u = 1; u <= static_cast<std::size_t>(updates()); ++u) {
    matrix.update_values(versions.values(u));
    plan(versions.x(), y);
    wrong += y == products[u % products.size()] ? 0 : 1;
  }
  done = true;
  other.join();
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(ChangingValues, ThatDoNotFitMoveThePlan) {
  using T = TypeParam;
  const auto source = small_matrix<T>();
  const Versions<T> versions(source);
  auto matrix = Matrix<T>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, versions.values(0));
  const auto plan = forced_plan(matrix, {"jad", *Params::parse("value_bits=0")});
  ASSERT_NE(plan, nullptr);
  std::vector<T> y(versions.product(0).size());
  for (const std::size_t version : {std::size_t{2}, std::size_t{5}, std::size_t{0}, std::size_t{4}}) {
    matrix.update_values(versions.values(version));
    plan->multiply(versions.x(), y, {});
    EXPECT_EQ(y, versions.product(version)) << version;
  }
}

TYPED_TEST(ChangingValues, OfABorrowingMatrixMayGoAfterTheUpdate) {
  using T = TypeParam;
  const auto source = small_matrix<T>();
  const Versions<T> versions(source);
  const std::vector<std::int32_t> row_ptr(source.row_ptr.begin(), source.row_ptr.end());
  auto values = std::make_unique<std::vector<T>>(versions.values(0));
  auto matrix = Matrix<T>::from_csr(source.rows, source.cols, row_ptr, source.col_idx, *values, Ownership::borrow);
  const auto plan = forced_plan(matrix, {"csr_scalar", {}});
  ASSERT_NE(plan, nullptr);
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::thread other([&] {
    std::vector<T> y(versions.product(0).size());
    while (!done) {
      plan->multiply(versions.x(), y, {});
      wrong += versions.is_one(y) ? 0 : 1;
    }
  });
  for (std::size_t u = 1; u <= static_cast<std::size_t>(updates()); ++u) {
    auto next = std::make_unique<std::vector<T>>(versions.values(u));
    matrix.update_values(*next);
    std::fill(values->begin(), values->end(), T{-1});
    values = std::move(next);
  }
  done = true;
  other.join();
  EXPECT_EQ(wrong, 0);
}

// While the plan is made, at whatever point: it ends on the new values, and no right candidate is called wrong.
TEST(Values, MayChangeDuringTheFirstProduct) {
  const auto source = small_matrix<double>();
  const Versions<double> versions(source);
  for (int delay = 0; delay < 12; ++delay) {
    std::atomic<int> complaints = 0;
    auto options = host_options();
    options.logger = [&](LogLevel /*level*/, std::string_view /*message*/) { ++complaints; };
    const Context context(options);
    auto matrix =
        Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, versions.values(0));
    std::vector<double> y(versions.product(0).size());
    std::thread first([&] { auto_spmv(matrix, versions.x(), y, {.context = &context}); });
    std::this_thread::sleep_for(std::chrono::milliseconds(delay * 3));
    matrix.update_values(versions.values(5));
    first.join();
    EXPECT_TRUE(versions.is_one(y));
    auto_spmv(matrix, versions.x(), y, {.context = &context});
    EXPECT_EQ(y, versions.product(5)) << "updated after " << delay * 3 << " ms";
    EXPECT_EQ(complaints, 0);
  }
}

// Whether the values changed while a tuning was under way: on a machine with cores to spare it may have ended before.
bool end_tuning_by_other_values() {
  auto options = host_options();
  options.effort = Effort::online;
  options.limits.expected_calls = 1'000'000'000;  // so many that trials pay
  const Context context(options);
  const auto source = generate<double>("gen:banded:4000:10");
  const Versions<double> versions(source);
  auto matrix = Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, versions.values(0));
  const auto constant = key_of(matrix, context);
  const auto plan = plan_for(matrix, context);
  std::vector<double> y(versions.product(0).size());
  const auto multiply = [&] { auto_spmv(matrix, versions.x(), y, {.context = &context}); };
  // From then on there is something to record.
  while (plan->choice().measurement.outcome != Outcome::passed) multiply();
  matrix.update_values(versions.values(5));
  if (plan->settled()) return false;
  const auto full = key_of(matrix, context);
  EXPECT_NE(constant, full);
  while (!plan->settled()) {
    multiply();
    EXPECT_EQ(y, versions.product(5));
  }
  auto& database = service_of(context).database();
  EXPECT_FALSE(database.trials(constant).empty());
  EXPECT_TRUE(database.trials(full).empty());
  EXPECT_FALSE(was_tuned(database, constant, Effort::online, {}, format_catalogue()));
  EXPECT_FALSE(was_tuned(database, full, Effort::online, {}, format_catalogue()));
  return true;
}

TEST(Values, OfAnotherKindEndOnlineTuning) {
  constexpr int most_attempts = 100;
  int attempt = 0;
  while (attempt < most_attempts && !end_tuning_by_other_values()) ++attempt;
  EXPECT_LT(attempt, most_attempts) << "every tuning ended at once";
}

TEST(Values, AreCheckedBeforeAnythingChanges) {
  const Context context(host_options());
  const auto source = small_matrix<double>();
  const Versions<double> versions(source);
  auto matrix = Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, versions.values(0));
  EXPECT_THROW(matrix.update_values(std::vector<double>(3)), InvalidArgument);
  std::vector<double> y(versions.product(0).size());
  auto_spmv(matrix, versions.x(), y, {.context = &context});
  EXPECT_EQ(y, versions.product(0));
}

}  // namespace
}  // namespace autospmv
