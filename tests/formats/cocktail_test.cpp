// Cuts give every nonzero to one part, in order; every cut multiplies right, and new values reach both parts.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/matrix/matrix_data.hpp"
#include "core/verify/reference.hpp"
#include "formats/composite/cocktail/cocktail.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

using formats::cocktail::Cut;
using formats::cocktail::CutRule;
using formats::cocktail::Part;

// ---- Matrices that are a sum of two kinds of nonzeros.

template <class T>
HostCsr<T> long_and_short_rows() {
  return from_lengths<T>(3000, 2500, [](std::int64_t row) { return row % 999 == 7 ? 900 : row % 6; });
}

/// `bands` full diagonals, and in every row whose number `every` divides, two nonzeros elsewhere.
template <class T>
HostCsr<T> bands_and_strays(std::int64_t rows, std::int64_t bands, std::int64_t every) {
  HostCsr<T> matrix;
  matrix.rows = matrix.cols = rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::set<std::int64_t> columns;
    for (std::int64_t d = 0; d < bands; ++d) {
      const std::int64_t column = row + 3 * (d - bands / 2);
      if (column >= 0 && column < rows) columns.insert(column);
    }
    if (row % every == 0) {
      columns.insert(row * 7919 % rows);
      columns.insert(row * 104729 % rows);
    }
    for (const auto column : columns) {
      matrix.col_idx.push_back(static_cast<std::int32_t>(column));
      matrix.values.push_back(static_cast<T>(random_value(7, matrix.values.size())));
    }
    matrix.row_ptr.push_back(static_cast<std::int64_t>(matrix.col_idx.size()));
  }
  return matrix;
}

/// Seven full 3 x 3 blocks in a row of blocks, and in every tenth row two nonzeros elsewhere; rows is no multiple of 3.
template <class T>
HostCsr<T> blocks_and_strays() {
  constexpr std::int64_t rows = 39001;
  HostCsr<T> matrix;
  matrix.rows = matrix.cols = rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::set<std::int64_t> columns;
    if (row % 10 == 0) columns = {row * 7919 % rows, row * 104729 % rows};
    for (std::int64_t b = 0; b < 7; ++b) {
      const std::int64_t first = (row / 3 + b * b * 11) % (rows / 3) * 3;
      for (std::int64_t column = first; column < first + 3; ++column) columns.insert(column);
    }
    for (const auto column : columns) {
      matrix.col_idx.push_back(static_cast<std::int32_t>(column));
      matrix.values.push_back(static_cast<T>(random_value(9, matrix.values.size())));
    }
    matrix.row_ptr.push_back(static_cast<std::int64_t>(matrix.col_idx.size()));
  }
  return matrix;
}

formats::cocktail::Split<double> cut_by(const CsrView<double>& matrix, const std::vector<CutRule>& rules,
                                        const Device& device) {
  auto split = formats::cocktail::split<double>(matrix, rules, device);
  if (split.cut.nnz > 0)
    formats::cocktail::fill(split, matrix, formats::cocktail::Entries::columns_and_values, device,
                            setup_stream(device));
  synchronize(device, setup_stream(device));
  return split;
}

// ---- The parts, by the definition of the cuts.

/// What rule() counts: the nonzeros of the row, diagonal or block of each nonzero.
std::vector<std::int64_t> company(const HostCsr<double>& matrix, const CutRule& rule) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts;
  const auto key = [&](std::int64_t row, std::int64_t column) -> std::pair<std::int64_t, std::int64_t> {
    if (rule.cut == Cut::rows) return {row, 0};
    if (rule.cut == Cut::diagonals) return {column - row, 0};
    return {row / rule.block, column / rule.block};
  };
  const auto visit = [&](const auto& body) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (auto k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) body(key(row, matrix.col_idx[k]));
    }
  };
  visit([&](const auto& group) { ++counts[group]; });
  std::vector<std::int64_t> of_nonzero;
  visit([&](const auto& group) { of_nonzero.push_back(counts[group]); });
  return of_nonzero;
}

HostCsr<double> expected_part(const HostCsr<double>& matrix, const CutRule& rule, bool cut) {
  const auto count = company(matrix, rule);
  HostCsr<double> part;
  part.rows = matrix.rows;
  part.cols = matrix.cols;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (auto k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
      if ((count[k] >= rule.least) != cut) continue;
      part.col_idx.push_back(matrix.col_idx[k]);
      part.values.push_back(matrix.values[k]);
    }
    part.row_ptr.push_back(static_cast<std::int64_t>(part.col_idx.size()));
  }
  return part;
}

std::vector<std::int64_t> offsets_of(const Part<double>& part) {
  return std::visit(
      [](const auto& offsets) {
        const auto copy = offsets.to_vector();
        return std::vector<std::int64_t>(copy.begin(), copy.end());
      },
      part.row_ptr);
}

void expect_part(const Part<double>& part, const HostCsr<double>& expected) {
  EXPECT_GT(part.nnz, 0);
  EXPECT_EQ(part.nnz, expected.nnz());
  EXPECT_EQ(part.rows, expected.rows);
  EXPECT_EQ(part.cols, expected.cols);
  EXPECT_EQ(offsets_of(part), expected.row_ptr);
  EXPECT_EQ(part.col_idx.to_vector(), expected.col_idx);
  EXPECT_EQ(part.values.to_vector(), expected.values);
}

void expect_exact_split(const HostCsr<double>& source, const CutRule& rule) {
  const auto cut = expected_part(source, rule, true);
  const auto rest = expected_part(source, rule, false);
  for (const auto& device : devices()) {
    SCOPED_TRACE(std::string(name_of(device.backend)));
    const auto matrix = matrix_of(source);
    const auto split = cut_by(data_of(matrix).on(device), {rule}, device);
    expect_part(split.cut, cut);
    expect_part(split.rest, rest);
  }
}

TEST(Cocktail, SplitsLongRows) { expect_exact_split(long_and_short_rows<double>(), {.cut = Cut::rows, .least = 33}); }

TEST(Cocktail, SplitsDenseDiagonals) {
  expect_exact_split(bands_and_strays<double>(1000, 7, 3), {.cut = Cut::diagonals, .least = 700});
}

TEST(Cocktail, SplitsDenseDiagonalsBySample) {
  const auto source = bands_and_strays<double>(100000, 9, 5);
  ASSERT_GT(source.nnz(), formats::cocktail::NonzeroSample::most);
  expect_exact_split(source, {.cut = Cut::diagonals, .least = 66667});
}

// A circulant matrix of 64 nonzeros a row: runs of a sample at even distances would all see the same half of the row.
// What wraps around is the rest.
TEST(Cocktail, SampleMeetsEveryDiagonal) {
  HostCsr<double> source;
  source.rows = source.cols = 1 << 15;
  for (std::int64_t row = 0; row < source.rows; ++row) {
    for (std::int64_t d = 0; d < 64; ++d) {
      source.col_idx.push_back(static_cast<std::int32_t>((row + 3 * d) % source.cols));
      source.values.push_back(random_value(7, source.values.size()));
    }
    source.row_ptr.push_back(static_cast<std::int64_t>(source.col_idx.size()));
  }
  expect_exact_split(source, {.cut = Cut::diagonals, .least = 1 << 14});
}

TEST(Cocktail, SplitsDenseBlocks) {
  expect_exact_split(blocks_and_strays<double>(), {.cut = Cut::blocks, .least = 7, .block = 3});
}

TEST(Cocktail, TakesTheBlocksThatSaveMost) {
  const std::vector<CutRule> rules = {{.cut = Cut::blocks, .least = 3, .block = 2, .saved = 3.0 / 4},
                                      {.cut = Cut::blocks, .least = 7, .block = 3, .saved = 8.0 / 9},
                                      {.cut = Cut::blocks, .least = 43, .block = 8, .saved = 63.0 / 64}};
  const auto source = blocks_and_strays<double>();
  for (const auto& device : devices()) {
    const auto matrix = matrix_of(source);
    expect_part(cut_by(data_of(matrix).on(device), rules, device).cut, expected_part(source, rules[1], true));
  }
}

TEST(Cocktail, TakesNoBlocksWhereNoneIsDense) {
  const std::vector<CutRule> rules = {{.cut = Cut::blocks, .least = 11, .block = 4, .saved = 15.0 / 16},
                                      {.cut = Cut::blocks, .least = 43, .block = 8, .saved = 63.0 / 64}};
  for (const auto& device : devices()) {
    const auto matrix = matrix_of(generate<double>("gen:pde:20"));
    EXPECT_EQ(cut_by(data_of(matrix).on(device), rules, device).cut.nnz, 0);
  }
}

TEST(Cocktail, CutsNothingOutThatSavesTooLittle) {
  const auto source = bands_and_strays<double>(1000, 7, 3);
  for (const auto& device : devices()) {
    const auto matrix = matrix_of(source);
    CutRule rule{.cut = Cut::diagonals, .least = 700, .least_saved = 0.95};
    EXPECT_EQ(cut_by(data_of(matrix).on(device), {rule}, device).cut.nnz, 0);
    rule.least_saved = 0.85;  // 7 of 7.7 column indices a row
    EXPECT_GT(cut_by(data_of(matrix).on(device), {rule}, device).cut.nnz, 0);
  }
}

TEST(Cocktail, SplitsWideOffsets) {
  const auto source = long_and_short_rows<double>();
  const CutRule rule{.cut = Cut::rows, .least = 33};
  const auto split = cut_by(source.view(), {rule}, host_device());
  EXPECT_TRUE(split.cut.view().wide());
  expect_part(split.cut, expected_part(source, rule, true));
  expect_part(split.rest, expected_part(source, rule, false));
}

TEST(Cocktail, FillsNoPartWhereNothingIsCutOut) {
  for (const auto& device : devices()) {
    const auto matrix = matrix_of(generate<double>("gen:pde:6"));
    const auto split = cut_by(data_of(matrix).on(device), {{.cut = Cut::rows, .least = 100}}, device);
    EXPECT_EQ(split.cut.nnz, 0);
    EXPECT_EQ(split.rest.nnz, 0);
  }
}

TEST(Cocktail, ListsTheRowsThatHaveNonzeros) {
  const auto source = long_and_short_rows<double>();
  const CutRule rule{.cut = Cut::rows, .least = 33};
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t row = 0; row < source.rows; ++row) {
    const auto npr = source.row_ptr[row + 1] - source.row_ptr[row];
    if (npr < rule.least) continue;
    ids.push_back(static_cast<std::int32_t>(row));
    offsets.push_back(offsets.back() + npr);
  }
  for (const auto& device : devices()) {
    const auto matrix = matrix_of(source);
    auto split = cut_by(data_of(matrix).on(device), {rule}, device);
    formats::cocktail::list_rows(split.cut, static_cast<std::int64_t>(ids.size()), device);
    EXPECT_EQ(split.cut.rows, static_cast<std::int64_t>(ids.size()));
    EXPECT_EQ(split.cut.row_ids.to_vector(), ids);
    EXPECT_EQ(offsets_of(split.cut), offsets);
  }
}

// ---- Products.

template <class T>
void expect_product(const CsrView<T>& view, const Operator<T>& op, Entries entries, T beta, const Device& device) {
  const auto x = Array<T>::copy_of(make_x<T>(view.cols, entries, 3), device);
  const auto y0 = Array<T>::copy_of(make_x<T>(view.rows, Entries::finite, 5), device);
  auto y = Array<T>::copy_of(y0.to_vector(), device);
  const T alpha = -2;
  const auto reference = reference_product(view, alpha, x.data(), beta, y0.data(), device);
  // y must not be read where beta is 0: all bits set is not a number.
  if (beta == T{0}) fill_bytes(y.data(), 0xff, static_cast<std::size_t>(y.bytes()), device, setup_stream(device));
  op.apply(alpha, x.data(), beta, y.data(), setup_stream(device));
  const auto comparison = compare(reference, static_cast<const T*>(y.data()), device);
  EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong rows, first " << comparison.first_wrong;
}

// Every cut of every scenario, also of those that predict() finds too small. Returns how many were built by cut.
template <class T>
std::map<std::int64_t, int> multiply_all(const std::vector<Scenario<T>>& all, const Device& device) {
  std::map<std::int64_t, int> multiplied;
  for (const auto& scenario : all) {
    const auto matrix = matrix_of(scenario.make());
    const auto view = data_of(matrix).on(device);
    for (const std::int64_t parts : {1, 2, 3}) {
      SCOPED_TRACE(scenario.name + " parts=" + std::to_string(parts));
      const auto built = find_format<T>("cocktail")->build(view, {{"parts", parts}}, device);
      if (!built) {
        EXPECT_FALSE(built.reason().empty());
        continue;
      }
      ++multiplied[parts];
      expect_product<T>(view, **built, scenario.x, 0, device);
      expect_product<T>(view, **built, scenario.x, static_cast<T>(0.75), device);
      EXPECT_GE((*built)->bytes(), view.nnz * static_cast<std::int64_t>(4 + sizeof(T)));
    }
  }
  return multiplied;
}

// Smaller ones would be launches and waiting on a GPU, of which two parts have more.
template <class T>
std::vector<Scenario<T>> sums() {
  return {{"long_rows", long_and_short_rows<T>},
          {"long_rows_and_infinities", long_and_short_rows<T>, Entries::with_infinities},
          {"few_strays", [] { return bands_and_strays<T>(40000, 7, 100); }},
          {"many_strays", [] { return bands_and_strays<T>(40000, 21, 1); }},
          {"strays_and_infinities", [] { return bands_and_strays<T>(40000, 9, 7); }, Entries::with_infinities},
          {"blocks", blocks_and_strays<T>}};
}

template <class T>
void expect_all_sums() {
  for (const auto& device : devices()) {
    SCOPED_TRACE(std::string(name_of(device.backend)));
    multiply_all(scenarios<T>(), device);
    auto multiplied = multiply_all(sums<T>(), device);
    EXPECT_GE(multiplied[1], 2);
    EXPECT_GE(multiplied[2], 3);
    EXPECT_EQ(multiplied[3] > 0, find_format<T>("bsr") != nullptr);
  }
}

TEST(Cocktail, MultipliesInFloat) { expect_all_sums<float>(); }
TEST(Cocktail, MultipliesInDouble) { expect_all_sums<double>(); }

TEST(Cocktail, NewValuesReachEveryPart) {
  for (const auto& device : devices()) {
    std::map<std::int64_t, int> updated;  // by parts
    for (const auto& scenario : sums<double>()) {
      const auto source = scenario.make();
      auto values = source.values;
      for (auto& value : values) value = 1 - 3 * value;
      for (const std::int64_t parts : {1, 2, 3}) {
        SCOPED_TRACE(scenario.name + " parts=" + std::to_string(parts));
        auto matrix = matrix_of(source);
        auto built = find_format<double>("cocktail")->build(data_of(matrix).on(device), {{"parts", parts}}, device);
        if (!built) continue;
        matrix.update_values(values);
        synchronize(device);
        EXPECT_TRUE((*built)->update_values(data_of(matrix).on(device), setup_stream(device)));
        expect_product<double>(data_of(matrix).on(device), **built, Entries::finite, 0, device);
        ++updated[parts];
      }
    }
    for (const std::int64_t parts : {1, 2, 3}) EXPECT_GT(updated[parts], 0) << parts;
  }
}

// ---- Admission.

std::string refusal(const Features& features, std::int64_t parts) {
  const auto cost = find_format<double>("cocktail")->predict(features, {{"parts", parts}}, host_device());
  return cost ? "" : cost.reason();
}

Features features_of(const HostCsr<double>& source) { return extract_features(source.view(), Place{}); }

TEST(Cocktail, RefusesSmallMatrices) {
  const auto features = features_of(long_and_short_rows<double>());
  for (const std::int64_t parts : {1, 2, 3}) EXPECT_TRUE(refusal(features, parts).starts_with("size: "));
}

TEST(Cocktail, TakesLongRowsOnlyWhereThereAreSome) {
  const auto uneven = from_lengths<double>(50000, 50000, [](std::int64_t row) { return row % 9999 == 7 ? 9000 : 3; });
  EXPECT_EQ(refusal(features_of(uneven), 1), "");
  const auto grid = features_of(generate<double>("gen:pde:40"));
  EXPECT_TRUE(refusal(grid, 1).starts_with("rows: "));
}

TEST(Cocktail, TakesDiagonalsOnlyWithARest) {
  EXPECT_EQ(refusal(features_of(bands_and_strays<double>(50000, 7, 50)), 2), "");
  EXPECT_TRUE(refusal(features_of(generate<double>("gen:pde:40")), 2).starts_with("diagonals: "));
  const auto mostly_empty = from_lengths<double>(100000, 100000, [](std::int64_t row) { return row % 2 == 0 ? 4 : 0; });
  EXPECT_TRUE(refusal(features_of(mostly_empty), 2).starts_with("diagonals: "));
}

TEST(Cocktail, TakesBlocksOnlyOfSortedColumns) {
  auto features = features_of(generate<double>("gen:fem:20:3"));
  features.sorted_columns = false;
  EXPECT_TRUE(refusal(features, 3).starts_with("blocks: "));
}

TEST(Cocktail, RefusesOtherCuts) {
  const auto features = features_of(generate<double>("gen:pde:40"));
  EXPECT_TRUE(refusal(features, 4).starts_with("parameters: "));
}

}  // namespace
}  // namespace autospmv::testing
