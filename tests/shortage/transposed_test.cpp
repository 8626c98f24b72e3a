// Memory that runs out anywhere in a transposed product: the product is given all the same, and an update of the values
// that fails leaves the old ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/matrix/matrix_data.hpp"
#include "tests/shortage/allocations.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {
namespace {

using testing::FailingAllocations;

// A matrix, values for it, and what its transposed product must be.
class TransposedProducts {
 public:
  TransposedProducts() : source_(generate<double>("gen:rmat:6")), x_(testing::ramp(source_.rows)), y_(x_.size()) {
    doubled_ = source_.values;
    for (auto& value : doubled_) value *= 2;
  }

  [[nodiscard]] Matrix<double> make() const {
    return Matrix<double>::from_csr(source_.rows, source_.cols, source_.row_ptr, source_.col_idx, source_.values);
  }
  [[nodiscard]] const std::vector<double>& doubled() const { return doubled_; }

  void multiply(const Matrix<double>& matrix, const Context& context) {
    std::fill(y_.begin(), y_.end(), -1.0);
    auto_spmv(matrix, x_, y_, {.context = &context, .op = Operation::transposed});
  }

  void expect_right(double factor) const {
    std::vector<double> expected(y_.size());
    for (std::size_t row = 0; row < x_.size(); ++row) {
      for (auto k = source_.row_ptr[row]; k < source_.row_ptr[row + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        expected[static_cast<std::size_t>(source_.col_idx[at])] += factor * source_.values[at] * x_[row];
      }
    }
    for (std::size_t i = 0; i < y_.size(); ++i) EXPECT_NEAR(y_[i], expected[i], 1e-12 * (1 + std::abs(expected[i])));
  }

 private:
  HostCsr<double> source_;
  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<double> doubled_;
};

ContextOptions cached_options() {
  auto options = testing::host_options();
  options.effort = Effort::cached;
  return options;
}

// Fails allocation number `first`, or all from there on, of body(); what it threw, and how many were asked for.
struct Shortage {
  std::string thrown;
  std::int64_t asked = 0;
};

template <class Body>
Shortage run_short(std::int64_t first, std::int64_t count, const Body& body) {
  Shortage shortage;
  const FailingAllocations failing(first, count);
  try {
    body();
  } catch (const std::exception& error) {
    shortage.thrown = error.what();
  }
  shortage.asked = FailingAllocations::asked();
  return shortage;
}

TEST(OutOfMemoryInTransposedProducts, TheProductIsGivenAllTheSame) {
  TransposedProducts products;
  const Context context(cached_options());
  std::int64_t asked = 0;
  for (const auto count : {std::int64_t{1}, FailingAllocations::all}) {
    for (std::int64_t first = 0; first == 0 || first <= asked; ++first) {
      SCOPED_TRACE("allocation " + std::to_string(first) + (count == 1 ? "" : " and all that follow"));
      const auto matrix = products.make();
      const auto shortage = run_short(first, count, [&] { products.multiply(matrix, context); });
      EXPECT_EQ(shortage.thrown, "");
      products.expect_right(1);
      asked = std::max(asked, shortage.asked);
      products.multiply(matrix, context);
      products.expect_right(1);
    }
  }
  EXPECT_GT(asked, 5);
}

TEST(OutOfMemoryInTransposedProducts, AnUpdateIsDoneOrNotBegun) {
  TransposedProducts products;
  const Context context(cached_options());
  int failed = 0;
  std::int64_t asked = 0;
  for (std::int64_t first = 0; first == 0 || first <= asked; ++first) {
    SCOPED_TRACE("allocation " + std::to_string(first));
    auto matrix = products.make();
    const auto plain = kept_plan(matrix, context);
    products.multiply(matrix, context);
    const auto shortage = run_short(first, 1, [&] { matrix.update_values(products.doubled()); });
    asked = std::max(asked, shortage.asked);
    const bool done = shortage.thrown.empty();
    failed += done ? 0 : 1;
    products.multiply(matrix, context);
    products.expect_right(done ? 2 : 1);
    EXPECT_EQ(data_of(matrix).on({}).values[0], done ? products.doubled()[0] : products.doubled()[0] / 2);
  }
  EXPECT_GT(failed, 3);
}

}  // namespace
}  // namespace autospmv
