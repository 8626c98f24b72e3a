// What every other product is judged by: special values, and rows of all lengths, long ones that many blocks of threads
// share among them.

#include "core/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv {
namespace {

TEST(Reference, IsMoreAccurateThanTheBoundAsks) {
  // 1e16 + 1 - 1e16: a plain sum gives 0.
  const std::vector<std::int32_t> row_ptr{0, 3};
  const std::vector<std::int32_t> columns{0, 1, 2};
  const std::vector<double> values{1e16, 1, -1e16};
  const std::vector<double> x{1, 1, 1};
  const CsrView<double> view{1, 3, 3, row_ptr.data(), columns.data(), values.data()};
  const auto reference = reference_product<double>(view, 1, x.data(), 0, nullptr, {});
  EXPECT_EQ(reference.product[0], 1);
  EXPECT_EQ(reference.scale[0], 2e16 + 1);
}

Comparison judged(double y, double x_value) {
  const std::vector<std::int32_t> row_ptr{0, 2};
  const std::vector<std::int32_t> columns{0, 1};
  const std::vector<double> values{1, 0};
  const std::vector<double> x{1, x_value};
  const CsrView<double> view{1, 2, 2, row_ptr.data(), columns.data(), values.data()};
  const auto reference = reference_product<double>(view, 1, x.data(), 0, nullptr, {});
  return compare(view, reference, &y, {});
}

TEST(Reference, JudgesRoundingAndSpecialValues) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(judged(1, 5).passed());
  EXPECT_TRUE(judged(1 + 4e-16, 5).passed());
  EXPECT_FALSE(judged(1 + 1e-14, 5).passed());
  EXPECT_FALSE(judged(nan, 5).passed());
  EXPECT_FALSE(judged(infinity, 5).passed());
  // A stored zero times infinity is not a number, and so must be the product.
  EXPECT_TRUE(judged(nan, infinity).passed());
  EXPECT_FALSE(judged(1, infinity).passed());
  EXPECT_EQ(judged(7, 5).first_wrong, 0);
}

template <class T>
HostCsr<T> with_rows_of(const std::vector<std::int64_t>& lengths, std::int64_t cols) {
  const auto length = [&](std::int64_t row) { return lengths[static_cast<std::size_t>(row)]; };
  return testing::from_lengths<T>(static_cast<std::int64_t>(lengths.size()), cols, length, 31);
}

// Against sums in the host's widest precision.
template <class T>
void expect_reference(const HostCsr<T>& source) {
  constexpr T alpha = 2;
  constexpr T beta = -1;
  std::vector<T> x;
  for (std::size_t i = 0; i < static_cast<std::size_t>(source.cols); ++i) {
    x.push_back(static_cast<T>(random_value(5, i)));
  }
  const std::vector<T> y0(static_cast<std::size_t>(source.rows), T{3});
  const auto matrix = testing::matrix_of(source);
  for (const auto& device : testing::devices()) {
    const auto on_device = Array<T>::copy_of(x, device);
    const auto added = Array<T>::copy_of(y0, device);
    const auto reference =
        reference_product(data_of(matrix).on(device), alpha, on_device.data(), beta, added.data(), device);
    const auto product = reference.product.to_vector();
    const auto scale = reference.scale.to_vector();
    for (std::size_t row = 0; row < y0.size(); ++row) {
      long double sum = static_cast<long double>(beta) * y0[row];
      long double magnitude = 3;
      for (auto k = static_cast<std::size_t>(source.row_ptr[row]);
           k < static_cast<std::size_t>(source.row_ptr[row + 1]); ++k) {
        const auto term =
            static_cast<long double>(alpha) * source.values[k] * x[static_cast<std::size_t>(source.col_idx[k])];
        sum += term;
        magnitude += std::fabs(term);
      }
      const auto close = static_cast<double>(magnitude) * 1e-13;
      EXPECT_NEAR(product[row], static_cast<double>(sum), close * 1e-2) << name_of(device.backend) << ", row " << row;
      EXPECT_NEAR(scale[row], static_cast<double>(magnitude), close) << name_of(device.backend) << ", row " << row;
    }
  }
}

TEST(Reference, SumsFewLongRowsAmongManyShortOnes) {
  std::vector<std::int64_t> lengths(5000, 3);
  lengths[0] = 200'000;
  lengths[7] = 0;
  lengths[123] = 9'000;
  lengths[4999] = 8'193;
  expect_reference(with_rows_of<double>(lengths, 250'000));
  expect_reference(with_rows_of<float>(lengths, 250'000));
}

TEST(Reference, SumsNothingButLongRows) {
  expect_reference(with_rows_of<double>({100'000, 65'537, 300'000}, 400'000));
  expect_reference(with_rows_of<float>({100'000, 65'537, 300'000}, 400'000));
}

TEST(Reference, SumsRowsThatAreNotLongEnoughToBeShared) {
  expect_reference(with_rows_of<double>({0, 1, 31, 32, 33, 255, 256, 257, 5'000, 65'536}, 70'000));
}

}  // namespace
}  // namespace autospmv
