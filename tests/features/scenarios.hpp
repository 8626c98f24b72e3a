// Matrices that between them reach every case of the feature extraction.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/verify/random.hpp"
#include "features/features.hpp"
#include "io/host_csr.hpp"

namespace autospmv::test {

template <class T>
struct Scenario {
  std::string name;
  HostCsr<T> matrix;
};

inline std::int64_t random_below(std::uint64_t seed, std::int64_t position, std::int64_t bound) {
  return static_cast<std::int64_t>(random_bits(seed, static_cast<std::uint64_t>(position)) %
                                   static_cast<std::uint64_t>(bound));
}

/// Row i holds the columns columns_of(i), in that order; values are random.
template <class T, class ColumnsOf>
HostCsr<T> matrix_of(std::int64_t rows, std::int64_t cols, const ColumnsOf& columns_of) {
  HostCsr<T> matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::vector<std::int32_t> columns = columns_of(i);
    matrix.col_idx.insert(matrix.col_idx.end(), columns.begin(), columns.end());
    matrix.row_ptr.push_back(static_cast<std::int64_t>(matrix.col_idx.size()));
  }
  for (std::size_t k = 0; k < matrix.col_idx.size(); ++k) matrix.values.push_back(static_cast<T>(random_value(7, k)));
  return matrix;
}

inline std::vector<std::int32_t> first_columns(std::int64_t count) {
  std::vector<std::int32_t> columns(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < columns.size(); ++k) columns[k] = static_cast<std::int32_t>(k);
  return columns;
}

/// npr random columns of row i, in any order, possibly repeated.
inline std::vector<std::int32_t> random_columns(std::uint64_t seed, std::int64_t i, std::int64_t npr,
                                                std::int64_t cols) {
  std::vector<std::int32_t> columns;
  for (std::int64_t k = 0; k < npr; ++k) {
    columns.push_back(static_cast<std::int32_t>(random_below(seed, i * 100003 + k, cols)));
  }
  return columns;
}

inline std::vector<std::int32_t> sorted(std::vector<std::int32_t> columns) {
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

inline std::vector<std::int32_t> band(std::int64_t i, std::int64_t cols, const std::vector<std::int64_t>& offsets) {
  std::vector<std::int32_t> columns;
  for (const std::int64_t offset : offsets) {
    if (i + offset >= 0 && i + offset < cols) columns.push_back(static_cast<std::int32_t>(i + offset));
  }
  return columns;
}

/// Like a power law: most rows short, some with thousands of nonzeros.
inline std::int64_t skewed_npr(std::int64_t i) { return 6000 / (1 + random_below(3, i, 3000)); }

template <class T>
HostCsr<T> with_values(HostCsr<T> matrix, const std::function<T(std::size_t)>& value) {
  for (std::size_t k = 0; k < matrix.values.size(); ++k) matrix.values[k] = value(k);
  return matrix;
}

template <class T>
HostCsr<T> column_of_values(const std::vector<T>& values) {
  const auto rows = static_cast<std::int64_t>(values.size());
  auto matrix = matrix_of<T>(rows, 1, [](std::int64_t) { return first_columns(1); });
  matrix.values = values;
  return matrix;
}

/// `count` distinct values, each met many times, in random order.
template <class T>
HostCsr<T> with_distinct(std::int64_t count) {
  const auto matrix = matrix_of<T>(40000, 50, [](std::int64_t i) { return sorted(random_columns(1, i, 3, 50)); });
  return with_values<T>(matrix, [count](std::size_t k) {
    const auto position = static_cast<std::int64_t>(k);
    return static_cast<T>(position < count ? position : random_below(2, position, count)) / T{3};
  });
}

template <class T>
void add_shapes(std::vector<Scenario<T>>& all) {
  const auto none = [](std::int64_t) { return std::vector<std::int32_t>(); };
  all.push_back({"0 x 0", matrix_of<T>(0, 0, none)});
  all.push_back({"0 x 5", matrix_of<T>(0, 5, none)});
  all.push_back({"5 x 0", matrix_of<T>(5, 0, none)});
  all.push_back({"all rows empty", matrix_of<T>(300, 300, none)});
  all.push_back({"one nonzero", matrix_of<T>(1, 1, [](std::int64_t) { return first_columns(1); })});
  all.push_back({"one column", matrix_of<T>(1000, 1, [](std::int64_t) { return first_columns(1); })});
  all.push_back({"dense", matrix_of<T>(67, 53, [](std::int64_t) { return first_columns(53); })});
  all.push_back({"one long row among empty ones",
                 matrix_of<T>(20000, 1000000, [](std::int64_t i) { return first_columns(i == 12345 ? 1000000 : 0); })});
  all.push_back(
      {"last row only", matrix_of<T>(5000, 5000, [](std::int64_t i) { return first_columns(i == 4999 ? 3 : 0); })});
}

template <class T>
void add_patterns(std::vector<Scenario<T>>& all) {
  all.push_back({"tridiagonal", matrix_of<T>(3001, 3001, [](std::int64_t i) { return band(i, 3001, {-1, 0, 1}); })});
  all.push_back({"lower triangle", matrix_of<T>(400, 400, [](std::int64_t i) { return first_columns(i + 1); })});
  all.push_back({"band without one nonzero", matrix_of<T>(3001, 3001, [](std::int64_t i) {
                   return i == 1700 ? band(i, 3001, {-7, 0}) : band(i, 3001, {-7, 0, 7});
                 })});
  all.push_back({"as many diagonals as the cap", matrix_of<T>(2, 4096, [](std::int64_t i) {
                   return i == 0 ? first_columns(4096) : std::vector<std::int32_t>();
                 })});
  all.push_back({"one diagonal more than the cap",
                 matrix_of<T>(2, 4096, [](std::int64_t i) { return first_columns(i == 0 ? 4096 : 1); })});
  all.push_back({"random", matrix_of<T>(2999, 4001, [](std::int64_t i) {
                   return sorted(random_columns(5, i, random_below(4, i, 30), 4001));
                 })});
  all.push_back({"random over many columns", matrix_of<T>(1999, 2000000, [](std::int64_t i) {
                   return sorted(random_columns(15, i % 40, random_below(16, i, 13), 2000000));
                 })});
  all.push_back({"skewed", matrix_of<T>(3000, 9000, [](std::int64_t i) {
                   return sorted(random_columns(6, i, skewed_npr(i), 9000));
                 })});
  all.push_back({"long rows", matrix_of<T>(70, 5000, [](std::int64_t i) { return first_columns(i * 60); })});
  all.push_back(
      {"many long rows", matrix_of<T>(700, 1500, [](std::int64_t i) { return first_columns(1000 + i / 2); })});
  all.push_back({"unsorted and repeated", matrix_of<T>(1500, 700, [](std::int64_t i) {
                   return random_columns(8, i, random_below(9, i, 40), 700);
                 })});
  all.push_back({"repeated columns in order", matrix_of<T>(100, 20, [](std::int64_t i) {
                   return std::vector<std::int32_t>(3, static_cast<std::int32_t>(i % 20));
                 })});
}

template <class T>
void add_values(std::vector<Scenario<T>>& all) {
  constexpr auto cap = distinct_values_cap;
  all.push_back({"values at the cap", with_distinct<T>(cap)});
  all.push_back({"one value more than the cap", with_distinct<T>(cap + 1)});
  all.push_back({"all values equal", with_values<T>(with_distinct<T>(1), [](std::size_t) { return T{0.5F}; })});
  all.push_back({"all values 0", with_values<T>(with_distinct<T>(1), [](std::size_t) { return T{0}; })});
  all.push_back({"0 and -0", column_of_values<T>({T{0}, -T{0}, T{0}})});
  const T infinity = std::numeric_limits<T>::infinity();
  all.push_back({"what float holds", column_of_values<T>({infinity, -infinity, T{1} / T{1024}, -T{0}, T{16777216},
                                                          static_cast<T>(std::ldexp(1.0, -149))})});
  all.push_back({"quiet NaN", column_of_values<T>({T{1}, std::numeric_limits<T>::quiet_NaN()})});
  all.push_back({"last value inexact", with_values<T>(with_distinct<T>(2), [](std::size_t k) {
                   return k + 1 < 100000 ? static_cast<T>(k % 100) : T{1} / T{3};
                 })});
}

/// Groups of rows too long for one block of threads to count alone, all of them in the sample.
template <class T>
void add_long_groups(std::vector<Scenario<T>>& all) {
  const auto long_row = [](std::int64_t i) { return i == 30 || i == 31 || i == 47999; };
  all.push_back({"long rows among short ones", matrix_of<T>(48000, 48000, [=](std::int64_t i) {
                   return long_row(i) ? first_columns(i < 48000 - 1 ? 20000 : 17000) : band(i, 48000, {0});
                 })});
  all.push_back({"long unsorted rows among short ones", matrix_of<T>(48000, 48000, [=](std::int64_t i) {
                   return long_row(i) ? random_columns(14, i, 20000, 30000) : band(i, 48000, {0});
                 })});
}

/// Large enough that block_fill is read from a sample.
template <class T>
void add_sampled(std::vector<Scenario<T>>& all) {
  const std::int64_t rows = 100001;
  all.push_back({"sampled band", matrix_of<T>(rows, rows, [=](std::int64_t i) {
                   return band(i, rows, {-300, -2, -1, 0, 1, 2, 300});
                 })});
  all.push_back({"sampled random", matrix_of<T>(rows, 2000, [](std::int64_t i) {
                   return sorted(random_columns(10, i, random_below(11, i, 13), 2000));
                 })});
  all.push_back({"sampled unsorted", matrix_of<T>(rows, 2000, [](std::int64_t i) {
                   return random_columns(12, i, random_below(13, i, 13), 2000);
                 })});
}

template <class T>
std::vector<Scenario<T>> scenarios() {
  std::vector<Scenario<T>> all;
  add_shapes(all);
  add_patterns(all);
  add_values(all);
  add_long_groups(all);
  add_sampled(all);
  return all;
}

inline std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& offsets) {
  return {offsets.begin(), offsets.end()};
}

}  // namespace autospmv::test
