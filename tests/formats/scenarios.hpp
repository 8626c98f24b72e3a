// The matrices that every format must multiply right, each named after what could go wrong with it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/verify/random.hpp"
#include "io/generators.hpp"
#include "io/host_csr.hpp"

namespace autospmv::testing {

/// What x holds beside random numbers.
enum class Entries { finite, with_infinities, with_nan };

template <class T>
struct Scenario {
  std::string name;
  std::function<HostCsr<T>()> make;
  Entries x = Entries::finite;
};

/// Rows given by their length; columns start(row), start(row) + step, ... modulo cols, so that rows need not be
/// sorted, and repeat a column where they are longer than cols.
template <class T>
HostCsr<T> from_lengths(std::int64_t rows, std::int64_t cols, const std::function<std::int64_t(std::int64_t)>& length,
                        std::int64_t step = 1) {
  HostCsr<T> matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.row_ptr.assign(1, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < length(row); ++k) {
      matrix.col_idx.push_back(static_cast<std::int32_t>((row * 7 + k * step) % cols));
      matrix.values.push_back(static_cast<T>(random_value(11, matrix.values.size())));
    }
    matrix.row_ptr.push_back(static_cast<std::int64_t>(matrix.col_idx.size()));
  }
  return matrix;
}

template <class T>
HostCsr<T> with_stored_zeros(HostCsr<T> matrix) {
  for (std::size_t k = 0; k < matrix.values.size(); k += 3) matrix.values[k] = k % 2 == 0 ? T{0} : -T{0};
  return matrix;
}

/// Values that repeat with a period, +0.0 and -0.0 among them from a period of 3 on; a period of 1 makes them all
/// equal.
template <class T>
HostCsr<T> with_few_values(HostCsr<T> matrix, std::size_t period) {
  for (std::size_t k = 0; k < matrix.values.size(); ++k) {
    const auto value = static_cast<T>(random_value(13, k % period));
    matrix.values[k] = k % period == 1 ? T{0} : k % period == 2 ? -T{0} : value;
  }
  return matrix;
}

/// Full-precision floats, whatever T.
template <class T>
HostCsr<T> with_float_values(HostCsr<T> matrix) {
  for (auto& value : matrix.values) value = static_cast<T>(static_cast<float>(value));
  return matrix;
}

template <class T>
std::vector<Scenario<T>> scenarios() {
  const auto lengths = [](std::int64_t rows, std::int64_t cols, auto length, std::int64_t step = 1) {
    return [=] { return from_lengths<T>(rows, cols, length, step); };
  };
  const auto constant = [](std::int64_t npr) { return [=](std::int64_t /*row*/) { return npr; }; };
  const auto uneven = [](std::int64_t row) { return row * row % 23; };
  std::vector<Scenario<T>> all = {
      {"empty", lengths(0, 0, constant(0))},
      {"no_rows", lengths(0, 5, constant(0))},
      {"no_columns", lengths(7, 0, constant(0))},
      {"no_nonzeros", lengths(100, 100, constant(0))},
      {"one_element", lengths(1, 1, constant(1))},
      {"one_row", lengths(1, 1000, constant(777))},
      {"one_column", lengths(1000, 1, [](std::int64_t row) { return row % 2; })},
      {"empty_rows", lengths(500, 300, [](std::int64_t row) { return row % 3 == 0 ? row % 17 : 0; })},
      {"empty_first_and_last", lengths(300, 300, [](std::int64_t row) { return row < 100 || row > 200 ? 0 : 5; })},
      {"one_dense_row", lengths(700, 5000, [](std::int64_t row) { return row == 333 ? 5000 : 3; })},
      {"dense_column", lengths(4000, 4000, constant(1), 0)},
      {"duplicates", lengths(300, 10, constant(25))},
      {"unsorted", lengths(400, 1009, uneven, 501)},
      {"stored_zeros", [=] { return with_stored_zeros(from_lengths<T>(400, 500, uneven)); }},
      {"infinities_in_x", [=] { return with_stored_zeros(from_lengths<T>(999, 512, uneven)); },
       Entries::with_infinities},
      {"infinities_on_a_grid", [] { return generate<T>("gen:pde:9"); }, Entries::with_infinities},
      {"nan_in_x", lengths(999, 512, uneven), Entries::with_nan},
      {"equal_values", [=] { return with_few_values(from_lengths<T>(999, 512, uneven), 1); }, Entries::with_infinities},
      {"few_values", [=] { return with_few_values(from_lengths<T>(999, 512, uneven), 200); }, Entries::with_infinities},
      {"float_values", [=] { return with_float_values(from_lengths<T>(999, 512, uneven)); }, Entries::with_infinities},
      {"equal_values_on_a_grid", [] { return with_few_values(generate<T>("gen:pde:11"), 1); }},
      {"few_values_in_blocks", [] { return with_few_values(generate<T>("gen:fem:6:3"), 7); }},
      {"float_values_in_blocks", [] { return with_float_values(generate<T>("gen:fem:6:3")); }},
      {"wide", lengths(64, 100000, constant(40), 991)},
      {"tall", lengths(
                   100000, 64, [](std::int64_t row) { return row % 5; }, 3)},
      {"grid", [] { return generate<T>("gen:pde:20"); }},
      {"blocks", [] { return generate<T>("gen:fem:8:3"); }},
      {"circuit", [] { return generate<T>("gen:circuit:3000"); }},
      {"graph", [] { return generate<T>("gen:rmat:10"); }},
      {"dense", [] { return generate<T>("gen:dense:130"); }},
      {"even_rows", lengths(256, 300, constant(12)), Entries::with_infinities},
      {"million_rows", lengths(1000000, 1000000, [](std::int64_t row) { return row % 4096 == 5 ? 300 : row % 5; })},
  };
  // Around the edges of warps, slices, cache lines and blocks, in rows and in npr.
  for (const std::int64_t size : {2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513}) {
    all.push_back({"edge_" + std::to_string(size), lengths(size, size + 1, [=](std::int64_t row) {
                     return row % 3 == 0 ? std::min<std::int64_t>(size, 70) : std::min<std::int64_t>(row, 33);
                   })});
  }
  return all;
}

/// Random x of a length, with the special values of a scenario among it.
template <class T>
std::vector<T> make_x(std::int64_t size, Entries entries, std::uint64_t seed) {
  std::vector<T> x(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(random_value(seed, i));
  using Limits = std::numeric_limits<T>;
  for (std::size_t i = 2; i < x.size() && entries != Entries::finite; i += 37) {
    x[i] = entries == Entries::with_nan ? Limits::quiet_NaN() : i % 2 == 0 ? Limits::infinity() : -Limits::infinity();
  }
  return x;
}

}  // namespace autospmv::testing
