// Verification must be able to fail: at any row length a kernel with one nonzero wrong is found, and every right one
// passes, in whatever order it adds up. All numbers come from seeds, so each run does the same. Mutants are found for
// certain, but for those that read another element of x, which a seed may bring too close to the right one: with
// probabilities that the last tests check.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tests/tuner/measure/mutant.hpp"

namespace autospmv::testing {
namespace {

enum class Order { sequential, reversed, pairwise, lanes, fused, in_double };

constexpr Order orders[] = {Order::sequential, Order::reversed, Order::pairwise,
                            Order::lanes,      Order::fused,    Order::in_double};

template <class T>
class MutantOperator final : public Operator<T> {
 public:
  MutantOperator(const CsrView<T>& matrix, Order order, const Mutant& mutant = {})
      : matrix_(matrix), order_(order), mutant_(mutant) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream /*stream*/) const override {
    const auto* row_ptr = std::get<1>(matrix_.row_ptr);
    for (std::int64_t row = 0; row < matrix_.rows; ++row) {
      const T sum = sum_of(x, row_ptr[row], row_ptr[row + 1]) + mutant_.stray(matrix_, x, row);
      mutant_.store(alpha, sum, beta, y, row);
    }
    mutant_.touch(x, y);
  }
  [[nodiscard]] bool update_values(const CsrView<T>& /*matrix*/, Stream /*stream*/) override { return false; }
  [[nodiscard]] std::int64_t bytes() const override { return 0; }

 private:
  [[nodiscard]] T product(const T* x, std::int64_t k) const {
    const auto factors = mutant_.factors(matrix_, x, k);
    return factors.a * factors.b;
  }

  [[nodiscard]] T sum_of(const T* x, std::int64_t first, std::int64_t last) const {
    switch (order_) {
      case Order::sequential:
        return sum_of_stride(x, first, last, 1);
      case Order::reversed: {
        T sum = 0;
        for (std::int64_t k = last; k-- > first;) sum += product(x, k);
        return sum;
      }
      case Order::pairwise:
        return pairwise(x, first, last);
      case Order::lanes: {
        T sum = 0;
        for (std::int64_t lane = 0; lane < 32; ++lane) sum += sum_of_stride(x, first + lane, last, 32);
        return sum;
      }
      case Order::fused: {
        T sum = 0;
        for (std::int64_t k = first; k < last; ++k) {
          const auto factors = mutant_.factors(matrix_, x, k);
          sum = std::fma(factors.a, factors.b, sum);
        }
        return sum;
      }
      case Order::in_double:
        break;
    }
    double sum = 0;
    for (std::int64_t k = first; k < last; ++k) {
      const auto factors = mutant_.factors(matrix_, x, k);
      sum += static_cast<double>(factors.a) * static_cast<double>(factors.b);
    }
    return static_cast<T>(sum);
  }

  [[nodiscard]] T sum_of_stride(const T* x, std::int64_t first, std::int64_t last, std::int64_t stride) const {
    T sum = 0;
    for (std::int64_t k = first; k < last; k += stride) sum += product(x, k);
    return sum;
  }

  [[nodiscard]] T pairwise(const T* x, std::int64_t first, std::int64_t last) const {
    if (last - first < 8) return sum_of_stride(x, first, last, 1);
    const auto middle = (first + last) / 2;
    return pairwise(x, first, middle) + pairwise(x, middle, last);
  }

  CsrView<T> matrix_;
  Order order_;
  Mutant mutant_;
};

template <class T>
void expect_right_ones_pass(const HostCsr<T>& matrix, std::uint64_t seed = 1, std::span<const Order> in = orders) {
  Verifier<T> verifier(matrix.view(), host_device(), seed);
  for (const auto order : in) {
    Measurement measurement;
    verifier.verify(MutantOperator<T>(matrix.view(), order), measurement);
    EXPECT_EQ(measurement.outcome, Outcome::passed) << "order " << static_cast<int>(order) << ": " << measurement.detail
                                                    << ", worst error " << measurement.worst_error;
  }
}

template <class T>
void expect_found(const HostCsr<T>& matrix, const std::vector<Mutant>& mutants, std::uint64_t seed = 1) {
  Verifier<T> verifier(matrix.view(), host_device(), seed);
  int i = 0;
  for (const auto& mutant : mutants) {
    const auto order = orders[++i % std::size(orders)];
    EXPECT_FALSE(passes(verifier, MutantOperator<T>(matrix.view(), order, mutant))) << mutant;
  }
  // Whatever they did to x, the next candidate meets it as it was.
  EXPECT_TRUE(passes(verifier, MutantOperator<T>(matrix.view(), Order::sequential)));
}

class Mutation : public ::testing::TestWithParam<std::int64_t> {};

/// Every so manieth.
std::vector<Mutant> some_of(const std::vector<Mutant>& mutants, std::size_t step) {
  std::vector<Mutant> some;
  some.reserve(mutants.size() / step + 1);
  for (std::size_t i = 0; i < mutants.size(); i += step) some.push_back(mutants[i]);
  return some;
}

template <class T>
void expect_teeth(std::int64_t npr) {
  const bool takes_long = npr >= 100'000;
  const auto matrix = matrix_of_rows<T>(npr, Values::random);
  expect_right_ones_pass(matrix);
  expect_found(matrix, some_of(mutants_of_a_nonzero(matrix, 1), takes_long ? 7 : 1));
  expect_found(matrix, other_mutants(matrix));
  for (const auto values : {Values::equal, Values::few}) {
    SCOPED_TRACE("values " + std::to_string(static_cast<int>(values)));
    const auto alike = matrix_of_rows<T>(npr, values);
    // What adds up one by one is farthest off.
    expect_right_ones_pass(alike, 1, std::span(orders).first(takes_long ? 1 : std::size(orders)));
    expect_found(alike, some_of(mutants_of_a_nonzero(alike, 1), takes_long ? 19 : 1));
  }
}

TEST_P(Mutation, IsFoundInFloat) { expect_teeth<float>(GetParam()); }
TEST_P(Mutation, IsFoundInDouble) { expect_teeth<double>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Npr, Mutation, ::testing::Values(1, 2, 3, 10, 31, 100, 1000, 10'000, 100'000, 1'000'000));

// ---- Rows in other orders.

/// One row that begins in the middle, as that of a band which wraps around.
template <class T>
HostCsr<T> rotated(std::int64_t npr) {
  auto matrix = matrix_of_rows<T>(npr, Values::random);
  for (const std::size_t row : {1U, 4U}) {
    const auto first = matrix.col_idx.begin() + matrix.row_ptr[row];
    std::rotate(first, first + npr / 3, first + npr);
  }
  return matrix;
}

/// Each column `times` times in a row, one after another: what finite elements give before they are summed.
template <class T>
HostCsr<T> repeated(std::int64_t npr, std::int32_t times) {
  auto matrix = matrix_of_rows<T>(npr, Values::equal);
  for (auto& column : matrix.col_idx) column -= column % times;
  return matrix;
}

TEST(Verification, SeesASingleNonzeroOfRowsInAnyOrder) {
  for (const std::int64_t npr : {300, 5000, 70'000}) {
    SCOPED_TRACE(npr);
    const auto matrix = rotated<float>(npr);
    expect_right_ones_pass(matrix);
    expect_found(matrix, mutants_of_a_nonzero(matrix, 2));
  }
}

TEST(Verification, SeesASingleNonzeroAmongRepeatedColumns) {
  for (const std::int64_t npr : {300, 5000, 20'000}) {
    SCOPED_TRACE(npr);
    const auto matrix = repeated<float>(npr, 8);
    expect_right_ones_pass(matrix);
    // A neighbouring column may be the same one.
    auto mutants = mutants_of_a_nonzero(matrix, 2);
    std::erase_if(mutants,
                  [](const Mutant& mutant) { return mutant.mutation == testing::Mutation::reads_other_column; });
    expect_found(matrix, mutants);
  }
}

TEST(Verification, PassesWhatIsRightWhereAllNonzerosShareAFewColumns) {
  for (const std::int64_t npr : {1000, 5000, 20'000}) {
    auto matrix = matrix_of_rows<float>(npr, Values::equal);
    for (auto& column : matrix.col_idx) column %= 3;
    expect_right_ones_pass(matrix);
  }
}

// ---- Values of all sizes.

template <class T>
HostCsr<T> scaled(HostCsr<T> matrix, const std::function<T(std::size_t)>& factor) {
  for (std::size_t k = 0; k < matrix.values.size(); ++k) matrix.values[k] *= factor(k);
  return matrix;
}

template <class T>
void expect_teeth_at(T factor) {
  SCOPED_TRACE(factor);
  for (const std::int64_t npr : {3, 100, 5000}) {
    const auto matrix = scaled<T>(matrix_of_rows<T>(npr, Values::random), [&](std::size_t) { return factor; });
    expect_right_ones_pass(matrix);
    expect_found(matrix, mutants_of_a_nonzero(matrix, 3));
    expect_found(matrix, other_mutants(matrix));
  }
}

template <class T>
void expect_teeth_at_the_ends_of_the_range() {
  using Limits = std::numeric_limits<T>;
  expect_teeth_at<T>(Limits::max());
  expect_teeth_at<T>(Limits::min());
  // Some digits are left.
  expect_teeth_at<T>(Limits::denorm_min() * T{1 << 12});
}

TEST(Verification, HasTeethAtTheEndsOfTheRangeOfFloat) { expect_teeth_at_the_ends_of_the_range<float>(); }
TEST(Verification, HasTeethAtTheEndsOfTheRangeOfDouble) { expect_teeth_at_the_ends_of_the_range<double>(); }

// From the smallest to the largest, side by side: what is small is lost in what is large, and right all the same.
template <class T>
void expect_right_ones_pass_where_values_differ() {
  using Limits = std::numeric_limits<T>;
  for (const std::int64_t npr : {3, 100, 5000}) {
    const auto matrix = matrix_of_rows<T>(npr, Values::random);
    const auto any = [](std::size_t k) {
      return std::ldexp(T{1},
                        Limits::min_exponent - 20 +
                            static_cast<int>(random_unit(3, k) * (Limits::max_exponent - Limits::min_exponent + 20)));
    };
    expect_right_ones_pass(scaled<T>(matrix, any));
    expect_right_ones_pass(scaled<T>(matrix, [](std::size_t k) { return k % 7 == 0 ? Limits::max() : T{1}; }));
    expect_right_ones_pass(scaled<T>(matrix, [](std::size_t k) { return k % 7 == 0 ? Limits::denorm_min() : T{1}; }));
    expect_right_ones_pass(scaled<T>(matrix, [](std::size_t) { return Limits::denorm_min(); }));
    expect_right_ones_pass(scaled<T>(matrix, [](std::size_t) { return T{0}; }));
    expect_right_ones_pass(scaled<T>(matrix, [](std::size_t k) { return k % 97 == 5 ? Limits::infinity() : T{1}; }));
    expect_right_ones_pass(scaled<T>(matrix, [](std::size_t k) { return k % 97 == 5 ? Limits::quiet_NaN() : T{1}; }));
  }
}

TEST(Verification, PassesWhatIsRightWhereValuesDifferInFloat) { expect_right_ones_pass_where_values_differ<float>(); }
TEST(Verification, PassesWhatIsRightWhereValuesDifferInDouble) { expect_right_ones_pass_where_values_differ<double>(); }

TEST(Verification, FindsAMutantOfAnOrdinaryRowBesideAnInfiniteOne) {
  auto matrix = matrix_of_rows<double>(100, Values::random);
  matrix.values[static_cast<std::size_t>(matrix.row_ptr[1]) + 20] = std::numeric_limits<double>::infinity();
  expect_right_ones_pass(matrix);
  expect_found(matrix, {{testing::Mutation::drops, matrix.row_ptr[4] + 7}});
}

// ---- How sure it is.

template <class T>
void expect_many_right_ones_pass(std::int64_t npr, Values values, std::uint64_t seeds) {
  const auto matrix = matrix_of_rows<T>(npr, values);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) expect_right_ones_pass(matrix, seed);
}

TEST(Verification, PassesWhatIsRightWhateverIsDrawn) {
  expect_many_right_ones_pass<float>(1000, Values::random, 30);
  expect_many_right_ones_pass<float>(2000, Values::random, 100);
  expect_many_right_ones_pass<float>(2000, Values::equal, 100);
  expect_many_right_ones_pass<double>(100, Values::random, 100);
}

/// Of 400 kernels that each read another element of x for one nonzero, of other draws and places, those found.
template <class T>
int found_readers_of_other_columns(std::int64_t npr) {
  const auto matrix = matrix_of_rows<T>(npr, Values::random);
  int found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Verifier<T> verifier(matrix.view(), host_device(), seed);
    for (std::uint64_t i = 0; i < 20; ++i) {
      const auto nonzero =
          matrix.row_ptr[4] + static_cast<std::int64_t>(random_unit(seed, i) * static_cast<double>(npr));
      const auto column = matrix.col_idx[static_cast<std::size_t>(nonzero)];
      const Mutant mutant{testing::Mutation::reads_other_column, nonzero,
                          (column + 1 + static_cast<std::int64_t>(i)) % matrix.cols};
      found += passes(verifier, MutantOperator<T>(matrix.view(), Order::lanes, mutant)) ? 0 : 1;
    }
  }
  return found;
}

TEST(Verification, HardlyEverTakesOneElementOfXForAnother) {
  EXPECT_EQ(found_readers_of_other_columns<double>(100), 400);
  EXPECT_GE(found_readers_of_other_columns<float>(60), 398);
  // The longest of rows whose bound holds for any x: it is a sixteenth of a term.
  EXPECT_GE(found_readers_of_other_columns<float>(1000), 352);
  EXPECT_GE(found_readers_of_other_columns<float>(1100), 388);
}

}  // namespace
}  // namespace autospmv::testing
