#include "io/generators.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace autospmv {
namespace {

template <class T>
void expect_sound(const HostCsr<T>& matrix) {
  ASSERT_EQ(static_cast<std::int64_t>(matrix.row_ptr.size()), matrix.rows + 1);
  ASSERT_EQ(matrix.row_ptr.front(), 0);
  ASSERT_EQ(static_cast<std::int64_t>(matrix.col_idx.size()), matrix.nnz());
  ASSERT_EQ(static_cast<std::int64_t>(matrix.values.size()), matrix.nnz());
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    std::int64_t last = -1;
    for (std::int64_t k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
      ASSERT_GT(matrix.col_idx[k], last);
      ASSERT_LT(matrix.col_idx[k], matrix.cols);
      last = matrix.col_idx[k];
    }
  }
}

std::map<std::pair<std::int64_t, std::int64_t>, double> places_of(const HostCsr<double>& matrix) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> places;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
      places[{row, matrix.col_idx[k]}] = matrix.values[k];
    }
  }
  return places;
}

std::int64_t npr(const HostCsr<double>& matrix, std::int64_t row) {
  return matrix.row_ptr[row + 1] - matrix.row_ptr[row];
}

// No float is as exact as these values: random bits go all the way down.
std::int64_t full_precision_values(const HostCsr<double>& matrix) {
  return std::count_if(matrix.values.begin(), matrix.values.end(),
                       [](double value) { return static_cast<double>(static_cast<float>(value)) != value; });
}

std::string refusal_of_generator(const std::string& spec) {
  try {
    generate<double>(spec);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

class EveryGenerator : public testing::TestWithParam<const char*> {};

TEST_P(EveryGenerator, IsSoundAndIndependentOfThreads) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto serial = generate<double>(GetParam());
  expect_sound(serial);
  EXPECT_GT(serial.nnz(), 1 << 14) << "too small to be made by several threads";
  for (const int threads : {2, 5}) {
    omp_set_num_threads(threads);
    const auto matrix = generate<double>(GetParam());
    EXPECT_EQ(matrix.row_ptr, serial.row_ptr);
    EXPECT_EQ(matrix.col_idx, serial.col_idx);
    EXPECT_EQ(matrix.values, serial.values);
  }
  omp_set_num_threads(before);
}

TEST_P(EveryGenerator, GivesTheSameMatrixInEveryType) {
  const auto matrix = generate<double>(GetParam());
  const auto narrow = generate<float>(GetParam());
  EXPECT_EQ(narrow.row_ptr, matrix.row_ptr);
  EXPECT_EQ(narrow.col_idx, matrix.col_idx);
  for (std::int64_t k = 0; k < matrix.nnz(); ++k) {
    ASSERT_EQ(narrow.values[k], static_cast<float>(matrix.values[k]));
  }
}

INSTANTIATE_TEST_SUITE_P(Generators, EveryGenerator,
                         testing::Values("gen:pde:20", "gen:fem:10:3", "gen:grid2d:100", "gen:rmat:13:8:5",
                                         "gen:uniform:20000:5000:7:3", "gen:uniform:300:100:80",
                                         "gen:twin:20000:9000:9:7:30:0.3:0.7:0.6:5", "gen:circuit:20000:9",
                                         "gen:dense:200:150", "gen:banded:20000:3"));

TEST(Generators, TableListsTheWorkingGenerators) {
  std::vector<std::string> names;
  for (const auto& info : generator_table()) {
    names.emplace_back(info.name);
    EXPECT_TRUE(info.usage.starts_with("gen:" + names.back() + ':')) << info.usage;
    EXPECT_FALSE(info.meaning.empty());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"pde", "fem", "grid2d", "rmat", "uniform", "circuit", "dense", "banded",
                                             "twin"}));
}

TEST(Generators, PdeHasThePublishedNonzeros) {
  EXPECT_EQ(generate<double>("gen:pde:50").nnz(), 860000);
  EXPECT_EQ(generate<double>("gen:pde:60").nnz(), 1490400);
  EXPECT_EQ(generate<double>("gen:pde:80").nnz(), 3545600);
  EXPECT_EQ(generate<double>("gen:pde:100").nnz(), 6940000);
}

TEST(Generators, PdeDifferentiatesLinearFunctions) {
  // u = x: the Laplacian vanishes and u_x is 1, so every row away from the boundary gives the convection 1 / sqrt 3.
  constexpr std::int64_t n = 8;
  const auto matrix = generate<double>("gen:pde:8");
  const auto inner = [](std::int64_t i) { return i > 0 && i < n - 1; };
  std::int64_t checked = 0;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    if (!inner(row / (n * n)) || !inner(row / n % n) || !inner(row % n)) continue;
    double product = 0;
    for (std::int64_t k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
      const std::int64_t plane = matrix.col_idx[k] / (n * n) + 1;
      product += matrix.values[k] * static_cast<double>(plane) / (n + 1);
    }
    EXPECT_NEAR(product, 1 / std::sqrt(3.0), 1e-12);
    ++checked;
  }
  EXPECT_EQ(checked, 6 * 6 * 6);
}

TEST(Generators, FemIsSymmetricAndDiagonallyDominant) {
  const auto matrix = generate<double>("gen:fem:5:2");
  EXPECT_EQ(matrix.rows, 5 * 5 * 5 * 2);
  EXPECT_EQ(matrix.nnz(), 13 * 13 * 13 * 4);  // 3 N - 2 pairs of neighbours a direction
  const auto places = places_of(matrix);
  for (const auto& [place, value] : places) {
    ASSERT_TRUE(places.contains({place.second, place.first}));
    ASSERT_EQ(places.at({place.second, place.first}), value);
  }
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    double others = 0;
    for (std::int64_t k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
      if (matrix.col_idx[k] != row) others += std::abs(matrix.values[k]);
    }
    ASSERT_GT(places.at({row, row}), others);
  }
  EXPECT_GT(full_precision_values(matrix), matrix.nnz() * 9 / 10);
}

TEST(Generators, Grid2dByHand) {
  const auto matrix = generate<double>("gen:grid2d:2");
  EXPECT_EQ(matrix.row_ptr, (std::vector<std::int64_t>{0, 3, 6, 9, 12}));
  EXPECT_EQ(matrix.col_idx, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3}));
  EXPECT_EQ(matrix.values, (std::vector<double>{4, -1, -1, -1, 4, -1, -1, 4, -1, -1, -1, 4}));
}

TEST(Generators, RmatFillsTheQuadrantsAsAsked) {
  const auto matrix = generate<double>("gen:rmat:14");
  EXPECT_EQ(matrix.rows, 1 << 14);
  EXPECT_TRUE(std::all_of(matrix.values.begin(), matrix.values.end(), [](double value) { return value == 1; }));
  // Merging duplicates thins out the dense quadrant most; the order of the quadrants stays.
  EXPECT_LT(matrix.nnz(), 16 << 14);
  EXPECT_GT(matrix.nnz(), 10 << 14);
  std::array<double, 4> quadrant{};
  for (const auto& [place, value] : places_of(matrix)) {
    quadrant[static_cast<std::size_t>((place.first >> 13) * 2 + (place.second >> 13))] += value;
  }
  const double nnz = static_cast<double>(matrix.nnz());
  EXPECT_NEAR(quadrant[0] / nnz, 0.57, 0.06);
  EXPECT_NEAR(quadrant[1] / nnz, 0.19, 0.03);
  EXPECT_NEAR(quadrant[2] / nnz, 0.19, 0.03);
  EXPECT_NEAR(quadrant[3] / nnz, 0.05, 0.02);
  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < matrix.rows; ++row) longest = std::max(longest, npr(matrix, row));
  EXPECT_GT(longest, 40 * 16);
}

TEST(Generators, RmatWithOneRow) {
  const auto matrix = generate<double>("gen:rmat:1:100:1");
  EXPECT_EQ(matrix.rows, 2);
  EXPECT_EQ(matrix.nnz(), 4);
}

TEST(Generators, UniformHasExactlyNprColumnsSpreadEvenly) {
  for (const std::int64_t wanted : {0, 1, 20, 60, 99, 100}) {
    const auto matrix = generate<double>("gen:uniform:2000:100:" + std::to_string(wanted));
    EXPECT_EQ(matrix.nnz(), 2000 * wanted);
    expect_sound(matrix);
    std::vector<std::int64_t> uses(100);
    for (const auto col : matrix.col_idx) ++uses[static_cast<std::size_t>(col)];
    const double mean = 20.0 * static_cast<double>(wanted);
    const double deviation = std::sqrt(mean * (1 - static_cast<double>(wanted) / 100));
    for (const auto count : uses) EXPECT_NEAR(static_cast<double>(count), mean, 5 * deviation);
    EXPECT_GE(full_precision_values(matrix), matrix.nnz() * 9 / 10);
  }
}

TEST(Generators, CircuitLooksLikeOne) {
  constexpr std::int64_t n = 8000;
  const auto matrix = generate<double>("gen:circuit:8000:4");
  const auto places = places_of(matrix);
  std::int64_t dense = 0;
  std::int64_t typical = 0;
  std::int64_t near = 0;
  for (std::int64_t row = 0; row < n; ++row) {
    ASSERT_TRUE(places.contains({row, row}));
    ASSERT_GE(npr(matrix, row), 2);
    if (npr(matrix, row) >= n / 10) {
      EXPECT_NEAR(static_cast<double>(npr(matrix, row)), n / 8.0, n / 40.0);
      ++dense;
    }
    if (npr(matrix, row) <= 8) ++typical;
  }
  for (const auto& [place, value] : places) {
    ASSERT_TRUE(places.contains({place.second, place.first}));
    if (std::abs(place.first - place.second) <= 16) ++near;
  }
  EXPECT_EQ(dense, 4);
  EXPECT_GT(typical, n * 95 / 100);
  EXPECT_GT(near, matrix.nnz() * 7 / 10);
  EXPECT_GT(full_precision_values(matrix), matrix.nnz() * 9 / 10);
  EXPECT_EQ(generate<double>("gen:circuit:1").nnz(), 1);
  EXPECT_EQ(generate<double>("gen:circuit:2").nnz(), 4);
}

TEST(Generators, DenseAndBanded) {
  EXPECT_EQ(generate<double>("gen:dense:7").nnz(), 49);
  const auto tall = generate<double>("gen:dense:7:3");
  EXPECT_EQ(tall.rows, 7);
  EXPECT_EQ(tall.cols, 3);
  EXPECT_EQ(tall.nnz(), 21);
  EXPECT_EQ(generate<double>("gen:banded:10:0").nnz(), 10);
  EXPECT_EQ(generate<double>("gen:banded:10:2").nnz(), 10 * 5 - 2 * 3);
  EXPECT_EQ(generate<double>("gen:banded:4:1000").nnz(), 16);
}

TEST(Generators, SeedsMatter) {
  EXPECT_EQ(generate<double>("gen:rmat:8:4:1").col_idx, generate<double>("gen:rmat:8:4").col_idx);
  EXPECT_NE(generate<double>("gen:rmat:8:4:1").col_idx, generate<double>("gen:rmat:8:4:2").col_idx);
  EXPECT_NE(generate<double>("gen:uniform:9:99:4:1").col_idx, generate<double>("gen:uniform:9:99:4:2").col_idx);
  EXPECT_NE(generate<double>("gen:twin:99:99:4:1:1:0.5:1:0.5:1").col_idx,
            generate<double>("gen:twin:99:99:4:1:1:0.5:1:0.5:2").col_idx);
  EXPECT_NE(generate<double>("gen:circuit:99:1").col_idx, generate<double>("gen:circuit:99:2").col_idx);
}

TEST(Generators, BadSpecsNameTheSpecAndTheUsage) {
  EXPECT_EQ(refusal_of_generator("pde:5"), "pde:5: not a generator; usage: gen:KIND:ARGS");
  EXPECT_EQ(refusal_of_generator("gen:"),
            "gen:: no generator of this name; there are pde, fem, grid2d, rmat, uniform, circuit, dense, banded, twin; "
            "usage: gen:KIND:ARGS");
  EXPECT_EQ(refusal_of_generator("gen:pde"), "gen:pde: too few arguments; usage: gen:pde:N");
  EXPECT_EQ(refusal_of_generator("gen:pde:"), "gen:pde:: '' is not an integer of at least 1; usage: gen:pde:N");
  EXPECT_EQ(refusal_of_generator("gen:pde:0"), "gen:pde:0: '0' is not an integer of at least 1; usage: gen:pde:N");
  EXPECT_EQ(refusal_of_generator("gen:pde:5x"), "gen:pde:5x: '5x' is not an integer of at least 1; usage: gen:pde:N");
  EXPECT_EQ(refusal_of_generator("gen:pde:5:6"), "gen:pde:5:6: too many arguments; usage: gen:pde:N");
  EXPECT_EQ(refusal_of_generator("gen:pde:99999999999999999999"),
            "gen:pde:99999999999999999999: '99999999999999999999' is not an integer of at least 1; usage: gen:pde:N");
  EXPECT_EQ(refusal_of_generator("gen:banded:5:-1"),
            "gen:banded:5:-1: '-1' is not an integer of at least 0; usage: gen:banded:N:HALF_BANDWIDTH");
  EXPECT_EQ(refusal_of_generator("gen:uniform:5:5:6"),
            "gen:uniform:5:5:6: a row has no more nonzeros than columns; usage: gen:uniform:ROWS:COLS:NPR[:SEED]");
}

TEST(Generators, ErrorsAreOneLineWhateverTheSpecHolds) {
  EXPECT_EQ(
      refusal_of_generator("gen:p\nde:5"),
      "gen:p\\x0ade:5: no generator of this name; there are pde, fem, grid2d, rmat, uniform, circuit, dense, banded, "
      "twin; usage: gen:KIND:ARGS");
  EXPECT_EQ(refusal_of_generator("gen:pde:\xff"),
            "gen:pde:\\xff: '\\xff' is not an integer of at least 1; usage: gen:pde:N");
}

TEST(Generators, TakeNoMoreThanTheyMay) {
  EXPECT_EQ(generate<double>("gen:dense:1000", 8'000 + 12'000'000).nnz(), 1'000'000);
  EXPECT_THROW(generate<double>("gen:dense:1000", 8'000 + 12'000'000 - 1), InvalidArgument);
}

TEST(Generators, ImpossibleSizesAreRefused) {
  EXPECT_EQ(refusal_of_generator("gen:pde:1291"), "gen:pde:1291: more than 2^31 - 1 rows or columns; usage: gen:pde:N");
  EXPECT_EQ(refusal_of_generator("gen:pde:9000000000000000000"),
            "gen:pde:9000000000000000000: more than 2^31 - 1 rows or columns; usage: gen:pde:N");
  EXPECT_EQ(refusal_of_generator("gen:rmat:31"),
            "gen:rmat:31: more than 2^31 - 1 rows or columns; usage: gen:rmat:SCALE[:EDGES_PER_ROW[:SEED]]");
  EXPECT_EQ(refusal_of_generator("gen:dense:2000000"),
            "gen:dense:2000000: more than 2^40 nonzeros; usage: gen:dense:N[:M]");
  EXPECT_EQ(refusal_of_generator("gen:fem:2:4000000000000000000"),
            "gen:fem:2:4000000000000000000: more than 2^31 - 1 rows or columns; usage: gen:fem:N:U");
  const auto too_large = refusal_of_generator("gen:dense:1000000");
  EXPECT_NE(too_large.find("needs 12000 GB, there is room for"), std::string::npos) << too_large;
}

}  // namespace
}  // namespace autospmv
