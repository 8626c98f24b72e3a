// What every other product is judged by: special values, and rows of all lengths, long ones that many blocks of threads
// share among them.

#include "core/verify/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/verify/random.hpp"
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
  EXPECT_DOUBLE_EQ(reference.bound[0], 11 * 0x1p-53 * (2e16 + 1));
}

// Ones in the first columns of rows of these lengths.
struct Rows {
  explicit Rows(const std::vector<std::int32_t>& lengths) {
    for (const auto length : lengths) {
      for (std::int32_t column = 0; column < length; ++column) columns.push_back(column);
      row_ptr.push_back(static_cast<std::int32_t>(columns.size()));
    }
    values.assign(columns.size(), 1);
    cols = *std::max_element(lengths.begin(), lengths.end());
  }
  [[nodiscard]] CsrView<double> view() const {
    return {std::ssize(row_ptr) - 1, cols, std::ssize(columns), row_ptr.data(), columns.data(), values.data()};
  }
  [[nodiscard]] Reference times(const std::vector<double>& x) const {
    return reference_product<double>(view(), 1, x.data(), 0, nullptr, {});
  }

  std::vector<std::int32_t> row_ptr{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  std::int64_t cols = 0;
};

// Those that are summed beside each other, those that are summed in lanes, and those between them.
const std::vector<std::int32_t> many_lengths = {3,  4,  5,  6,  7, 8, 8, 9,  3,  3, 3, 3,
                                                10, 11, 12, 13, 3, 8, 5, 20, 21, 3, 3};

TEST(Reference, IsAsAccurateInRowsOfAnyLength) {
  Rows rows(many_lengths);
  // 1e16 + 1 + ... + 1 - 1e16
  for (std::size_t row = 0; row < many_lengths.size(); ++row) {
    rows.values[static_cast<std::size_t>(rows.row_ptr[row])] = 1e16;
    rows.values[static_cast<std::size_t>(rows.row_ptr[row + 1]) - 1] = -1e16;
  }
  const auto reference = rows.times(std::vector<double>(static_cast<std::size_t>(rows.cols), 1));
  for (std::size_t row = 0; row < many_lengths.size(); ++row) {
    EXPECT_EQ(reference.product[row], many_lengths[row] - 2) << "row " << row;
    EXPECT_DOUBLE_EQ(reference.bound[row], (many_lengths[row] + 8) * 0x1p-53 * (2e16 + many_lengths[row] - 2));
  }
}

TEST(Reference, CountsOnlyProductsOfNonzeros) {
  Rows rows(many_lengths);
  std::vector<double> x(static_cast<std::size_t>(rows.cols), 1);
  x[1] = 0;
  for (std::size_t row = 0; row < many_lengths.size(); ++row) {
    rows.values[static_cast<std::size_t>(rows.row_ptr[row])] = 0;
  }
  const auto reference = rows.times(x);
  for (std::size_t row = 0; row < many_lengths.size(); ++row) {
    const int terms = many_lengths[row] - 2;
    EXPECT_EQ(reference.product[row], terms) << "row " << row;
    EXPECT_NEAR(reference.bound[row], (terms + 8) * 0x1p-53 * terms, 1e-300);
  }
}

// An infinity stays in its row, wherever that lies among others.
TEST(Reference, KeepsSpecialValuesApart) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (std::size_t special = 0; special < many_lengths.size(); ++special) {
    Rows rows(many_lengths);
    rows.values[static_cast<std::size_t>(rows.row_ptr[special + 1]) - 1] = infinity;
    const auto reference = rows.times(std::vector<double>(static_cast<std::size_t>(rows.cols), 1));
    for (std::size_t row = 0; row < many_lengths.size(); ++row) {
      EXPECT_EQ(reference.product[row], row == special ? infinity : many_lengths[row])
          << "rows " << special << ", " << row;
    }
  }
  // In x, it is in all rows that reach its column.
  const Rows rows(many_lengths);
  std::vector<double> x(static_cast<std::size_t>(rows.cols), 1);
  x[7] = -infinity;
  const auto reference = rows.times(x);
  for (std::size_t row = 0; row < many_lengths.size(); ++row) {
    EXPECT_EQ(reference.product[row], many_lengths[row] > 7 ? -infinity : many_lengths[row]) << "row " << row;
  }
}

Comparison judged(double y, double x_value) {
  const std::vector<std::int32_t> row_ptr{0, 2};
  const std::vector<std::int32_t> columns{0, 1};
  const std::vector<double> values{1, 0};
  const std::vector<double> x{1, x_value};
  const CsrView<double> view{1, 2, 2, row_ptr.data(), columns.data(), values.data()};
  const auto reference = reference_product<double>(view, 1, x.data(), 0, nullptr, {});
  return compare(reference, &y, {});
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

// What overflows in one order of its terms and not in another is not judged; what overflows in no order is.
TEST(Reference, JudgesNothingThatMayOverflow) {
  const std::vector<std::int32_t> row_ptr{0, 3};
  const std::vector<std::int32_t> columns{0, 1, 2};
  const std::vector<double> x{1, 1, 1};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto passes = [&](double value, double y) {
    const std::vector<double> values{value, value, -value};
    const CsrView<double> view{1, 3, 3, row_ptr.data(), columns.data(), values.data()};
    const auto reference = reference_product<double>(view, 1, x.data(), 0, nullptr, {});
    return compare(reference, &y, {}).passed();
  };
  constexpr double large = std::numeric_limits<double>::max();
  for (const double y : {large, infinity, -infinity, nan}) EXPECT_TRUE(passes(large, y)) << y;
  EXPECT_TRUE(passes(large / 16, large / 16));
  for (const double y : {large / 32, infinity, -infinity, nan}) EXPECT_FALSE(passes(large / 16, y)) << y;
  EXPECT_TRUE(passes(infinity, nan));
  EXPECT_FALSE(passes(infinity, infinity));
}

template <class T>
HostCsr<T> with_rows_of(const std::vector<std::int64_t>& lengths, std::int64_t cols, std::int64_t step = 31) {
  const auto length = [&](std::int64_t row) { return lengths[static_cast<std::size_t>(row)]; };
  return testing::from_lengths<T>(static_cast<std::int64_t>(lengths.size()), cols, length, step);
}

// Against sums in the host's widest precision, whether or not it is known how long the longest row is.
template <class T>
void expect_reference(const HostCsr<T>& source, std::int64_t longest) {
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
        reference_product(data_of(matrix).on(device), alpha, on_device.data(), beta, added.data(), device, {}, longest);
    const auto product = reference.product.to_vector();
    const auto bound = reference.bound.to_vector();
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
      SCOPED_TRACE(std::string(name_of(device.backend)) + ", row " + std::to_string(row));
      EXPECT_NEAR(product[row], static_cast<double>(sum), static_cast<double>(magnitude) * 1e-15);
      const auto roundings = static_cast<double>(source.row_ptr[row + 1] - source.row_ptr[row] + 8);
      const auto strict = roundings * std::numeric_limits<T>::epsilon() / 2 * static_cast<double>(magnitude);
      EXPECT_NEAR(bound[row], strict, strict * 1e-6);
    }
  }
}

template <class T>
void expect_reference(const std::vector<std::int64_t>& lengths, std::int64_t cols) {
  const auto source = with_rows_of<T>(lengths, cols);
  for (const auto longest : {unknown_length, *std::max_element(lengths.begin(), lengths.end())}) {
    SCOPED_TRACE("longest " + std::to_string(longest));
    expect_reference(source, longest);
  }
}

TEST(Reference, SumsShortRows) {
  std::vector<std::int64_t> lengths(5000, 3);
  lengths[0] = 200;
  lengths[7] = 0;
  lengths[4999] = 256;
  expect_reference<double>(lengths, 9000);
  expect_reference<float>(lengths, 9000);
}

TEST(Reference, SumsFewLongRowsAmongManyShortOnes) {
  std::vector<std::int64_t> lengths(5000, 3);
  lengths[0] = 200'000;
  lengths[7] = 0;
  lengths[123] = 9'000;
  lengths[4999] = 8'193;
  expect_reference<double>(lengths, 250'000);
  expect_reference<float>(lengths, 250'000);
}

TEST(Reference, SumsNothingButLongRows) {
  expect_reference<double>({100'000, 65'537, 300'000}, 400'000);
  expect_reference<float>({100'000, 65'537, 300'000}, 400'000);
}

// The rows and how often a column is repeated in them.
template <class T>
void expect_long_rows(const HostCsr<T>& source, std::int64_t least, const std::vector<LongRow>& expected) {
  const auto matrix = testing::matrix_of(source);
  for (const auto& device : testing::devices()) {
    const auto found = long_rows(data_of(matrix).on(device), least, device);
    ASSERT_EQ(found.size(), expected.size()) << name_of(device.backend);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].row, expected[i].row);
      EXPECT_EQ(found[i].first, source.row_ptr[static_cast<std::size_t>(found[i].row)]);
      EXPECT_EQ(found[i].length, expected[i].length);
      EXPECT_EQ(found[i].repeats, expected[i].repeats) << name_of(device.backend) << ", row " << found[i].row;
    }
  }
}

TEST(LongRows, AreFoundAndTheirRepeatedColumnsCounted) {
  // Columns begin at 7 times the row and go on by 1, modulo 1000.
  const auto source = with_rows_of<double>({3, 2500, 0, 100, 101, 1000, 990}, 1000, 1);
  expect_long_rows(source, 100, {{1, 0, 2500, 3}, {4, 0, 101, 1}, {5, 0, 1000, 1}, {6, 0, 990, 1}});
  expect_long_rows(source, 2500, {});
}

template <class T>
void expect_reference_of_long_rows(const HostCsr<T>& source) {
  const auto matrix = testing::matrix_of(source);
  for (const auto& device : testing::devices()) {
    SCOPED_TRACE(std::string(name_of(device.backend)));
    const auto view = data_of(matrix).on(device);
    Array<T> x(static_cast<std::size_t>(view.cols), device);
    fill_random(x.data(), view.cols, 3, device, setup_stream(device));
    const auto rows = long_rows(view, strict_terms<float>, device);
    const auto of_all = reference_product<T>(view, 1, x.data(), 0, nullptr, device);
    const auto of_some =
        reference_product<T>(view, 1, x.data(), 0, nullptr, device, Array<LongRow>::copy_of(rows, device));
    const auto all = of_all.product.to_vector();
    const auto strict = of_all.bound.to_vector();
    const auto some = of_some.product.to_vector();
    const auto bound = of_some.bound.to_vector();
    ASSERT_EQ(some.size(), rows.size());
    ASSERT_EQ(of_some.rows.to_vector().size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[i].row);
      EXPECT_NEAR(some[i], all[row], 1e-13 * static_cast<double>(rows[i].length));
      // Of m terms t: 16 u q sqrt(m) (sqrt(m) t), where the other is u m (m t).
      const double ratio = walk_factor * static_cast<double>(rows[i].repeats) / static_cast<double>(rows[i].length);
      EXPECT_NEAR(bound[i] / strict[row], ratio, 0.1 * ratio) << row;
    }
    // The first wrong one is named by its number in the matrix.
    std::vector<T> y(all.begin(), all.end());
    const auto last = static_cast<std::size_t>(rows.back().row);
    y[last] += static_cast<T>(2 * bound.back());
    const auto on_device = Array<T>::copy_of(y, device);
    const auto comparison = compare(of_some, on_device.data(), device);
    EXPECT_EQ(comparison.wrong_rows, 1);
    EXPECT_EQ(comparison.first_wrong, rows.back().row);
    EXPECT_NEAR(comparison.worst_error, 2, 0.1);
  }
}

TEST(Reference, IsOfLongRowsAloneWithABoundForRandomSigns) {
  const std::vector<std::int64_t> lengths{3, 2000, 0, 70'000, 900, 150'000};
  expect_reference_of_long_rows(with_rows_of<float>(lengths, 150'000, 1));
  expect_reference_of_long_rows(with_rows_of<double>(lengths, 150'000, 1));
  expect_reference_of_long_rows(with_rows_of<float>(lengths, 75'001, 1));
}

TEST(Reference, SumsRowsThatAreNotLongEnoughToBeShared) {
  expect_reference<double>({0, 1, 31, 32, 33, 255, 256, 257, 5'000, 65'536}, 70'000);
}

}  // namespace
}  // namespace autospmv
