// What formats of stored diagonals promise beside the right product: half storage of symmetric matrices, hacks that
// store only what they meet, and diagonals of one value.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/random.hpp"
#include "core/verify/reference.hpp"
#include "features/features.hpp"
#include "formats/diagonals/hdia/constants.hpp"
#include "formats/format.hpp"
#include "io/generators.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

// The first choice of parameters, with some of them set.
template <class T>
Params params_of(const Format<T>& format, const Features& features, const Device& device, const Params& set) {
  auto params = format.params(features, device).combinations().front();
  for (const auto& [name, value] : set.values()) params.set(name, value);
  return params;
}

template <class T>
Result<std::unique_ptr<Operator<T>>> build(const std::string& name, const Matrix<T>& matrix, const Device& device,
                                           const Params& set) {
  const auto* format = find_format<T>(name);
  const auto view = data_of(matrix).on(device);
  return format->build(view, params_of(*format, extract_features(view, device), device, set), device);
}

template <class T>
void expect_product(const Operator<T>& op, const Matrix<T>& matrix, const Device& device) {
  Array<T> x(static_cast<std::size_t>(matrix.cols()), device);
  Array<T> y(static_cast<std::size_t>(matrix.rows()), device);
  fill_random(x.data(), matrix.cols(), 7, device, setup_stream(device));
  const auto view = data_of(matrix).on(device);
  const auto reference = reference_product<T>(view, T{1}, x.data(), T{0}, nullptr, device);
  op.apply(T{1}, x.data(), T{0}, y.data(), setup_stream(device));
  synchronize(device, setup_stream(device));
  const auto comparison = compare(reference, static_cast<const T*>(y.data()), device);
  EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong rows, the first " << comparison.first_wrong;
}

template <class T>
bool update(Operator<T>& op, Matrix<T>& matrix, const std::vector<T>& values, const Device& device) {
  matrix.update_values(values);
  synchronize(device);
  return op.update_values(data_of(matrix).on(device), setup_stream(device));
}

// The place of an element among the values; -1 where it is not stored.
template <class T>
std::int64_t place_of(const HostCsr<T>& matrix, std::int64_t row, std::int64_t col) {
  for (auto k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
    if (matrix.col_idx[k] == col) return k;
  }
  return -1;
}

// Blocks of 32 rows, each with the main diagonal and one of its own.
HostCsr<double> wandering_diagonals(std::int64_t blocks) {
  HostCsr<double> matrix;
  matrix.rows = 32 * blocks;
  matrix.cols = 33 * blocks + 32;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (const auto col : {row, row + 1 + row / 32}) {
      matrix.col_idx.push_back(static_cast<std::int32_t>(col));
      matrix.values.push_back(random_value(3, matrix.values.size()));
    }
    matrix.row_ptr.push_back(static_cast<std::int64_t>(matrix.col_idx.size()));
  }
  return matrix;
}

template <class T>
class SymmetricDia : public ::testing::Test {};
using Values = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SymmetricDia, Values);

TYPED_TEST(SymmetricDia, StoresHalf) {
  using T = TypeParam;
  for (const char* name : {"gen:fem:7:2", "gen:grid2d:50", "gen:fem:1:1"}) {
    const auto matrix = matrix_of(generate<T>(name));
    for (const auto& device : devices()) {
      SCOPED_TRACE(std::string(name) + " on " + std::string(name_of(device.backend)));
      const auto half = build<T>("dia", matrix, device, {{"symmetric", 1}});
      const auto full = build<T>("dia", matrix, device, {{"symmetric", 0}});
      ASSERT_TRUE(half.admitted()) << half.reason();
      ASSERT_TRUE(full.admitted()) << full.reason();
      expect_product(**half, matrix, device);
      const auto slots = (matrix.rows() + 31) / 32 * 32 * static_cast<std::int64_t>(sizeof(T));
      EXPECT_LE(2 * (*half)->bytes(), (*full)->bytes() + slots + 4);
    }
  }
}

TYPED_TEST(SymmetricDia, TakesOnlyValuesThatAreSymmetricStill) {
  using T = TypeParam;
  const auto source = generate<T>("gen:fem:6:2");
  for (const auto& device : devices()) {
    SCOPED_TRACE(name_of(device.backend));
    auto matrix = matrix_of(source);
    auto built = build<T>("dia", matrix, device, {{"symmetric", 1}});
    ASSERT_TRUE(built.admitted()) << built.reason();
    const auto bytes = (*built)->bytes();
    auto values = source.values;
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<T>(random_value(21, k));
    EXPECT_FALSE(update(**built, matrix, values, device));
    EXPECT_EQ((*built)->bytes(), bytes);
    values = source.values;
    for (auto& value : values) value *= 3;
    EXPECT_TRUE(update(**built, matrix, values, device));
    expect_product(**built, matrix, device);
    EXPECT_FALSE((*built)->takes_any_values());
  }
}

TYPED_TEST(SymmetricDia, RefusesValuesThatDifferInOneBit) {
  using T = TypeParam;
  auto source = generate<T>("gen:fem:6:2");
  auto& value = source.values[static_cast<std::size_t>(place_of(source, 40, 38))];
  value = std::nextafter(value, T{2});
  const auto matrix = matrix_of(source);
  for (const auto& device : devices()) {
    const auto built = build<T>("dia", matrix, device, {{"symmetric", 1}});
    ASSERT_FALSE(built.admitted());
    EXPECT_EQ(built.reason().rfind("values: ", 0), 0U) << built.reason();
  }
}

TEST(SymmetricDiaPattern, RefusesPatternsThatAreNotSymmetric) {
  const auto refused = [](std::vector<std::int64_t> row_ptr, std::vector<std::int32_t> col_idx) {
    HostCsr<double> source;
    source.rows = source.cols = static_cast<std::int64_t>(row_ptr.size()) - 1;
    source.row_ptr = std::move(row_ptr);
    source.col_idx = std::move(col_idx);
    source.values.assign(source.col_idx.size(), 1.5);
    const auto matrix = matrix_of(source);
    for (const auto& device : devices()) {
      const auto* format = find_format<double>("dia");
      const auto view = data_of(matrix).on(device);
      auto params = format->params(extract_features(view, device), device).combinations().front();
      params.set("symmetric", 1);
      if (format->build(view, params, device).admitted()) return false;
    }
    return true;
  };
  EXPECT_FALSE(refused({0, 2, 4}, {0, 1, 0, 1}));
  EXPECT_TRUE(refused({0, 2, 3}, {0, 1, 1})) << "nothing below the main diagonal";
  EXPECT_TRUE(refused({0, 1, 3}, {0, 0, 1})) << "nothing above it";
  EXPECT_TRUE(refused({0, 1, 2, 3}, {1, 1, 1})) << "as many above as below, elsewhere";
  // Two nonzeros at (2, 0) for the one at (0, 2), and none for the one at (0, 1).
  EXPECT_TRUE(refused({0, 2, 2, 4}, {1, 2, 0, 0})) << "a repeated nonzero";
}

TEST(Hdia, StoresOnlyWhatAHackMeets) {
  const auto matrix = matrix_of(wandering_diagonals(5000));
  for (const auto& device : devices()) {
    SCOPED_TRACE(name_of(device.backend));
    const auto features = extract_features(data_of(matrix).on(device), device);
    const auto* dia = find_format<double>("dia");
    EXPECT_FALSE(dia->predict(features, params_of(*dia, features, device, {}), device).admitted());
    const auto* hdia = find_format<double>("hdia");
    const auto params = params_of(*hdia, features, device, {{"hack", 32}});
    const auto cost = hdia->predict(features, params, device);
    const auto built = hdia->build(data_of(matrix).on(device), params, device);
    ASSERT_TRUE(cost.admitted()) << cost.reason();
    ASSERT_TRUE(built.admitted()) << built.reason();
    expect_product(**built, matrix, device);
    // Two diagonals a hack, their offsets and where they begin.
    const auto bytes = (*built)->bytes();
    EXPECT_EQ(bytes, 5000 * (2 * (32 * 8 + 4) + 4) + 4);
    EXPECT_GE(cost->storage_bytes, 0.9 * static_cast<double>(bytes));
    EXPECT_LE(cost->storage_bytes, 2.0 * static_cast<double>(bytes));
  }
}

TEST(Hdia, TakesEveryMultipleOf32AsAHack) {
  const auto matrix = matrix_of(generate<double>("gen:fem:6:3"));
  for (const auto& device : devices()) {
    for (const std::int64_t hack : {32, 96, 160, 1024}) {
      SCOPED_TRACE(hack);
      const auto built = build<double>("hdia", matrix, device, {{"hack", hack}});
      ASSERT_TRUE(built.admitted()) << built.reason();
      expect_product(**built, matrix, device);
    }
    for (const std::int64_t hack : {0, 16, 33, 2048}) {
      EXPECT_FALSE(build<double>("hdia", matrix, device, {{"hack", hack}}).admitted()) << hack;
    }
  }
}

// Of one value, and half full at random: a slice has more diagonals than features count, and nearly all have holes.
TEST(Hdia, IsPredictedSlowWhereDiagonalsHaveHoles) {
  const auto device = host_device();
  const auto* hdia = find_format<double>("hdia");
  const auto work_of_nonzero = [&](const char* spec) {
    const auto matrix = matrix_of(with_few_values(generate<double>(spec), 1));
    const auto features = extract_features(data_of(matrix).on(device), device);
    const auto cost = hdia->predict(features, params_of(*hdia, features, device, {{"constants", 1}}), device);
    EXPECT_TRUE(cost.admitted()) << cost.reason();
    return cost->work / static_cast<double>(features.nnz);
  };
  const double full = work_of_nonzero("gen:grid2d:300");
  EXPECT_NEAR(full, 0.075, 0.02);
  EXPECT_GT(work_of_nonzero("gen:uniform:2048:1024:512"), 4 * full);
}

TEST(Hdia, TakesColumnsInAnyOrder) {
  const auto sorted = generate<double>("gen:fem:6:3");
  auto source = sorted;
  for (std::int64_t row = 0; row < source.rows; row += 2) {
    std::reverse(source.col_idx.begin() + source.row_ptr[row], source.col_idx.begin() + source.row_ptr[row + 1]);
    std::reverse(source.values.begin() + source.row_ptr[row], source.values.begin() + source.row_ptr[row + 1]);
  }
  for (const auto& device : devices()) {
    const auto in_order = build<double>("hdia", matrix_of(sorted), device, {});
    const auto matrix = matrix_of(source);
    const auto built = build<double>("hdia", matrix, device, {});
    ASSERT_TRUE(built.admitted()) << built.reason();
    expect_product(**built, matrix, device);
    EXPECT_EQ((*built)->bytes(), (*in_order)->bytes());
  }
}

TEST(Hdia, RefusesRowsThatHaveNothingInCommon) {
  const auto scattered = matrix_of(generate<double>("gen:uniform:20000:20000:20"));
  const auto dense_row = matrix_of([] {
    auto source = wandering_diagonals(3000);
    source.cols = 2 * source.cols;
    for (std::int32_t col = 0; col < 60000; ++col) source.col_idx.push_back(col);
    source.values.resize(source.col_idx.size(), 1.0);
    source.row_ptr.push_back(static_cast<std::int64_t>(source.col_idx.size()));
    ++source.rows;
    return source;
  }());
  for (const auto& device : devices()) {
    for (const auto* matrix : {&scattered, &dense_row}) {
      const auto built = build<double>("hdia", *matrix, device, {});
      ASSERT_FALSE(built.admitted());
      EXPECT_EQ(built.reason().rfind("padding: ", 0), 0U) << built.reason();
    }
  }
}

// A grid of n x n points and five diagonals: -1, `main` and -1.
template <class T>
HostCsr<T> five_points(std::int64_t n, T main) {
  auto source = generate<T>("gen:grid2d:" + std::to_string(n));
  for (std::int64_t row = 0; row < source.rows; ++row) {
    for (auto k = source.row_ptr[row]; k < source.row_ptr[row + 1]; ++k) {
      source.values[k] = source.col_idx[k] == row ? main : T{-1};
    }
  }
  return source;
}

// With as many rows a thread as are part of a hack, where that is a parameter.
template <class T>
Result<std::unique_ptr<Operator<T>>> build_constants(const Matrix<T>& matrix, const Device& device, std::int64_t hack) {
  Params set{{"constants", 1}, {"hack", hack}};
  if (device.backend == Backend::cuda) set.set("rows", std::gcd(hack / formats::hdia::word_rows, std::int64_t{8}));
  return build<T>("hdia", matrix, device, set);
}

template <class T>
class ConstantDiagonals : public ::testing::Test {};
TYPED_TEST_SUITE(ConstantDiagonals, Values);

TYPED_TEST(ConstantDiagonals, TakeHardlyAnyMemory) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 5, 31, 32, 33, 100}) {
    const auto matrix = matrix_of(five_points<T>(n, T{4}));
    for (const auto& device : devices()) {
      for (const std::int64_t hack : {32, 64, 96, 128, 1024}) {
        SCOPED_TRACE(std::to_string(n) + ", hacks of " + std::to_string(hack));
        const auto built = build_constants<T>(matrix, device, hack);
        ASSERT_TRUE(built.admitted()) << built.reason();
        expect_product(**built, matrix, device);
        // A value, an offset twice, a number and a bit a row.
        const auto hacks = (n * n + hack - 1) / hack;
        EXPECT_LE((*built)->bytes(), hacks * (4 + 5 * (16 + 4 + hack / 8)) + 4);
      }
    }
  }
}

TYPED_TEST(ConstantDiagonals, LieBesideOthersInFull) {
  using T = TypeParam;
  auto source = five_points<T>(60, T{4});
  for (std::int64_t row = 0; row < source.rows; ++row) {
    if (row / 64 % 3 != 0) continue;
    for (auto k = source.row_ptr[row]; k < source.row_ptr[row + 1]; ++k) {
      if (source.col_idx[k] >= row) source.values[k] = static_cast<T>(random_value(5, static_cast<std::size_t>(k)));
    }
  }
  for (const auto& device : devices()) {
    SCOPED_TRACE(name_of(device.backend));
    auto matrix = matrix_of(source);
    const auto built = build_constants<T>(matrix, device, 64);
    ASSERT_TRUE(built.admitted()) << built.reason();
    expect_product(**built, matrix, device);
    auto values = source.values;
    for (auto& value : values) value *= -3;
    EXPECT_TRUE(update(**built, matrix, values, device));
    expect_product(**built, matrix, device);
  }
}

TYPED_TEST(ConstantDiagonals, MakeNothingOfWhatIsNotThere) {
  using T = TypeParam;
  auto source = five_points<T>(40, T{4});
  for (std::int64_t row = 0; row < source.rows; ++row) {
    for (auto k = source.row_ptr[row]; k < source.row_ptr[row + 1]; ++k) {
      if (source.col_idx[k] == row + 1) source.values[k] = std::numeric_limits<T>::infinity();
    }
  }
  const auto matrix = matrix_of(source);
  for (const auto& device : devices()) {
    for (const std::int64_t hack : {32, 64, 128}) {
      SCOPED_TRACE(std::string(name_of(device.backend)) + ", hacks of " + std::to_string(hack));
      const auto built = build_constants<T>(matrix, device, hack);
      ASSERT_TRUE(built.admitted()) << built.reason();
      expect_product(**built, matrix, device);
    }
  }
}

TYPED_TEST(ConstantDiagonals, TakeOnlyValuesThatAreConstantStill) {
  using T = TypeParam;
  for (const auto& device : devices()) {
    SCOPED_TRACE(name_of(device.backend));
    auto matrix = matrix_of(five_points<T>(50, T{4}));
    auto built = build<T>("hdia", matrix, device, {{"constants", 1}});
    ASSERT_TRUE(built.admitted()) << built.reason();
    EXPECT_FALSE((*built)->takes_any_values());
    EXPECT_TRUE(update(**built, matrix, five_points<T>(50, T{0}).values, device)) << "a stored zero is a nonzero";
    expect_product(**built, matrix, device);
    auto values = five_points<T>(50, T{4}).values;
    values[values.size() / 2] = T{7};
    EXPECT_FALSE(update(**built, matrix, values, device));
    EXPECT_FALSE(update(**built, matrix, five_points<T>(50, std::numeric_limits<T>::infinity()).values, device));
    EXPECT_TRUE(update(**built, matrix, five_points<T>(50, T{5}).values, device));
    expect_product(**built, matrix, device);
  }
}

TEST(RowsOfAThread, AreRefusedWhereNoKernelTakesThem) {
  const auto matrix = matrix_of(five_points<double>(40, 4));
  const auto device = described_gpu();
  const auto features = extract_features(data_of(matrix).on(host_device()), host_device());
  const auto* hdia = find_format<double>("hdia");
  const auto reason = [&](std::int64_t constants, std::int64_t hack, std::int64_t rows) -> std::string {
    const Params params{{"block", 128}, {"constants", constants}, {"hack", hack}, {"rows", rows}};
    const auto cost = hdia->predict(features, params, device);
    return cost.admitted() ? "" : cost.reason();
  };
  EXPECT_EQ(reason(1, 256, 8), "");
  EXPECT_EQ(reason(1, 96, 1), "");
  EXPECT_EQ(reason(1, 96, 2), "rows: 2 times 32 do not divide a hack of 96");
  EXPECT_EQ(reason(0, 128, 4), "");
  EXPECT_EQ(reason(0, 96, 4), "rows: 4 times 32 do not divide a hack of 96");
  EXPECT_EQ(reason(0, 256, 8), "rows: at most 4 where diagonals are in full");
  for (const auto& params : hdia->params(features, device).combinations()) {
    if (!hdia->predict(features, params, device).admitted()) continue;
    const auto any = hdia->predict(features, hdia->for_any_values(params), device);
    EXPECT_TRUE(any.admitted()) << params.text() << ": " << any.reason();
  }
}

TEST(ConstantDiagonalsOfSeveralValues, AreRefused) {
  const auto matrix = matrix_of(with_few_values(generate<double>("gen:grid2d:40"), 9));
  for (const auto& device : devices()) {
    const auto built = build<double>("hdia", matrix, device, {{"constants", 1}});
    ASSERT_FALSE(built.admitted());
    EXPECT_EQ(built.reason().rfind("values: ", 0), 0U) << built.reason();
  }
}

TEST(Diagonals, RefuseTwoNonzerosAtOnePlace) {
  HostCsr<double> source;
  source.rows = source.cols = 100;
  for (std::int32_t row = 0; row < 100; ++row) {
    source.col_idx.push_back(row);
    if (row == 77) source.col_idx.push_back(row);
    source.row_ptr.push_back(static_cast<std::int64_t>(source.col_idx.size()));
  }
  source.values.assign(source.col_idx.size(), 2.0);
  const auto matrix = matrix_of(source);
  for (const auto& device : devices()) {
    for (const char* format : {"dia", "hdia"}) {
      const auto built = build<double>(format, matrix, device, {});
      ASSERT_FALSE(built.admitted()) << format;
      EXPECT_EQ(built.reason().rfind("duplicates: ", 0), 0U) << built.reason();
    }
  }
}

}  // namespace
}  // namespace autospmv::testing
