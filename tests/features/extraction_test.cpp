// Host extraction against an oracle that counts everything the slow way.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/matrix/matrix_data.hpp"
#include "features/features.hpp"
#include "features/longest_row.hpp"
#include "features/recorded.hpp"
#include "features/tally.hpp"
#include "io/generators.hpp"
#include "scenarios.hpp"

namespace autospmv {
namespace {

using test::scenarios;

template <class T>
std::vector<std::int64_t> lengths_of(const HostCsr<T>& matrix) {
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i + 1 < matrix.row_ptr.size(); ++i) {
    lengths.push_back(matrix.row_ptr[i + 1] - matrix.row_ptr[i]);
  }
  return lengths;
}

using Positions = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Calls body(row, column) for every nonzero.
template <class T, class Body>
void for_each_nonzero(const HostCsr<T>& matrix, const Body& body) {
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (auto k = matrix.row_ptr[static_cast<std::size_t>(i)]; k < matrix.row_ptr[static_cast<std::size_t>(i) + 1];
         ++k) {
      body(i, std::int64_t{matrix.col_idx[static_cast<std::size_t>(k)]});
    }
  }
}

void oracle_npr(std::vector<std::int64_t> lengths, Features& f) {
  if (lengths.empty()) return;
  std::sort(lengths.begin(), lengths.end());
  const auto rows = static_cast<long double>(lengths.size());
  long double squares = 0;
  for (const auto length : lengths) {
    const long double deviation = static_cast<long double>(length) - static_cast<long double>(f.nnz) / rows;
    squares += deviation * deviation;
    const std::size_t bin = length == 0 ? 0 : 1 + static_cast<std::size_t>(std::log2(static_cast<double>(length)));
    ++f.npr_histogram[bin];
  }
  f.npr_mean = static_cast<double>(static_cast<long double>(f.nnz) / rows);
  f.npr_variance = static_cast<double>(squares / rows);
  f.npr_min = lengths.front();
  f.npr_max = lengths.back();
  f.empty_rows = std::count(lengths.begin(), lengths.end(), 0);
  for (std::size_t p = 0; p < npr_percentiles.size(); ++p) {
    const auto rank = (lengths.size() * static_cast<std::size_t>(npr_percentiles[p]) + 99) / 100;
    f.npr_percentile[p] = lengths[std::max<std::size_t>(rank, 1) - 1];
  }
}

double padding(const std::vector<std::int64_t>& lengths, std::size_t slice, std::int64_t nnz) {
  if (nnz == 0) return 0;
  std::int64_t slots = 0;
  for (std::size_t first = 0; first < lengths.size(); first += slice) {
    const auto last = std::min(first + slice, lengths.size());
    std::int64_t longest = 0;
    for (auto i = first; i < last; ++i) longest = std::max(longest, lengths[i]);
    slots += longest * static_cast<std::int64_t>(last - first);
  }
  return static_cast<double>(slots) / static_cast<double>(nnz);
}

template <class T>
void oracle_positions(const HostCsr<T>& matrix, Features& f) {
  std::set<std::int64_t> diagonals;
  Positions stored;
  Positions mirrored;
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> slices;
  for_each_nonzero(matrix, [&](std::int64_t i, std::int64_t j) {
    diagonals.insert(j - i);
    stored.emplace_back(i, j);
    mirrored.emplace_back(j, i);
    f.lower_bandwidth = std::max(f.lower_bandwidth, i - j);
    f.upper_bandwidth = std::max(f.upper_bandwidth, j - i);
    auto& [smallest, largest] = slices.try_emplace(i / 32, j, j).first->second;
    smallest = std::min(smallest, j);
    largest = std::max(largest, j);
  });
  f.diagonals = std::min(static_cast<std::int64_t>(diagonals.size()), diagonals_cap + 1);
  std::sort(stored.begin(), stored.end());
  std::sort(mirrored.begin(), mirrored.end());
  f.symmetric_pattern = f.rows == f.cols && stored == mirrored;
  std::int64_t total = 0;
  for (const auto& [slice, span] : slices) {
    total += span.second - span.first;
    f.slice_span_max = std::max(f.slice_span_max, span.second - span.first);
  }
  if (!slices.empty()) f.slice_span_mean = static_cast<double>(total) / static_cast<double>(slices.size());
  for (std::size_t i = 0; i + 1 < matrix.row_ptr.size(); ++i) {
    for (auto k = matrix.row_ptr[i] + 1; k < matrix.row_ptr[i + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (matrix.col_idx[at - 1] >= matrix.col_idx[at]) f.sorted_columns = false;
    }
  }
}

template <class T>
void oracle_sample(const HostCsr<T>& matrix, Features& f) {
  const auto sample = RowSample::of(matrix.rows, matrix.nnz());
  std::vector<bool> is_sampled(static_cast<std::size_t>(matrix.rows));
  for (std::int64_t position = 0; position < sample.size(); ++position) {
    is_sampled[static_cast<std::size_t>(sample.row(position))] = true;
  }
  f.sampled = sample.size() < matrix.rows;
  std::map<std::int64_t, std::set<std::int64_t>> slices;
  for_each_nonzero(matrix, [&](std::int64_t i, std::int64_t j) {
    if (is_sampled[static_cast<std::size_t>(i)]) slices[i / 32].insert(j - i);
  });
  for (const auto& [slice, diagonals] : slices) {
    const auto count = std::min(static_cast<std::int64_t>(diagonals.size()), slice_diagonals_cap + 1);
    f.slice_diagonals_mean += static_cast<double>(count) / static_cast<double>(slices.size());
  }
  for (std::size_t s = 0; s < block_sizes.size(); ++s) {
    const int b = block_sizes[s];
    Positions blocks;
    for_each_nonzero(matrix, [&](std::int64_t i, std::int64_t j) {
      if (is_sampled[static_cast<std::size_t>(i)]) blocks.emplace_back(i / b, j / b);
    });
    const auto nnz = static_cast<double>(blocks.size());
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    if (!blocks.empty()) f.block_fill[s] = nnz / (static_cast<double>(blocks.size()) * b * b);
    if (blocks.empty() && matrix.nnz() > 0) f.block_fill[s] = 1.0 / (b * b);
  }
}

template <class T>
void oracle_values(const HostCsr<T>& matrix, Features& f) {
  std::set<std::uint64_t> patterns;
  f.values_exact_in_float = f.nnz > 0;
  for (const T value : matrix.values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    patterns.insert(bits);
    const T returned = static_cast<T>(static_cast<float>(value));
    std::uint64_t returned_bits = 0;
    std::memcpy(&returned_bits, &returned, sizeof(T));
    if (returned_bits != bits) f.values_exact_in_float = false;
  }
  f.distinct_values = std::min(static_cast<std::int64_t>(patterns.size()), distinct_values_cap + 1);
  f.values_all_equal = patterns.size() == 1;
}

template <class T>
Features oracle(const HostCsr<T>& matrix) {
  Features f;
  f.rows = matrix.rows;
  f.cols = matrix.cols;
  f.nnz = matrix.nnz();
  const auto lengths = lengths_of(matrix);
  oracle_npr(lengths, f);
  f.ell_padding = padding(lengths, std::max<std::size_t>(lengths.size(), 1), f.nnz);
  for (std::size_t s = 0; s < slice_sizes.size(); ++s) {
    f.sliced_ell_padding[s] = padding(lengths, static_cast<std::size_t>(slice_sizes[s]), f.nnz);
  }
  oracle_positions(matrix, f);
  oracle_sample(matrix, f);
  oracle_values(matrix, f);
  return f;
}

void expect_close(const Features& actual, const Features& expected) {
  for (const auto& feature : feature_table()) {
    const double want = feature.read(expected);
    EXPECT_NEAR(feature.read(actual), want, 1e-13 * std::abs(want)) << feature.name;
  }
}

void expect_same(const Features& actual, const Features& expected) {
  for (const auto& feature : feature_table()) {
    EXPECT_EQ(feature.read(actual), feature.read(expected)) << feature.name;
  }
}

template <class T>
class ExtractionTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ExtractionTest, Scalars);

TYPED_TEST(ExtractionTest, AgreesWithOracle) {
  for (const auto& [name, matrix] : scenarios<TypeParam>()) {
    SCOPED_TRACE(name);
    expect_close(extract_features(matrix.view(), Place{}), oracle(matrix));
  }
}

TYPED_TEST(ExtractionTest, NarrowOffsetsGiveTheSame) {
  for (const auto& [name, matrix] : scenarios<TypeParam>()) {
    SCOPED_TRACE(name);
    const auto offsets = test::narrow(matrix.row_ptr);
    auto view = matrix.view();
    view.row_ptr = offsets.data();
    expect_same(extract_features(view, Place{}), extract_features(matrix.view(), Place{}));
  }
}

TYPED_TEST(ExtractionTest, ThreadsGiveTheSame) {
  const int threads = omp_get_max_threads();
  for (const auto& [name, matrix] : scenarios<TypeParam>()) {
    SCOPED_TRACE(name);
    omp_set_num_threads(1);
    const auto alone = extract_features(matrix.view(), Place{});
    omp_set_num_threads(7);
    expect_same(extract_features(matrix.view(), Place{}), alone);
  }
  omp_set_num_threads(threads);
}

TEST(ValuesTest, SignallingNanDoesNotSurviveFloat) {
  const auto signalling = std::bit_cast<double>(std::uint64_t{0x7ff4000000000000});
  EXPECT_FALSE(survives_float(signalling));
  EXPECT_TRUE(survives_float(std::bit_cast<double>(std::uint64_t{0xfff8000020000000})));
  EXPECT_FALSE(survives_float(std::bit_cast<double>(std::uint64_t{0x7ff8000000000001})));
}

TEST(ValuesTest, RangeOfFloat) {
  EXPECT_TRUE(survives_float(0x1p-149));
  EXPECT_FALSE(survives_float(0x1p-150));
  EXPECT_FALSE(survives_float(1e300));
  EXPECT_FALSE(survives_float(16777217.0));
}

TEST(RowSampleTest, TakesWholeBlockRowsEachOnce) {
  for (const std::int64_t rows : {1, 95, 96, 97, 1000, 123457}) {
    for (const std::int64_t nnz : {feature_sample_nnz, feature_sample_nnz + 1, feature_sample_nnz * 40}) {
      const auto sample = RowSample::of(rows, nnz);
      std::int64_t previous = -1;
      for (std::int64_t position = 0; position < sample.size(); ++position) {
        const std::int64_t i = sample.row(position);
        ASSERT_GT(i, previous);
        ASSERT_LT(i, rows);
        for (const int b : block_sizes) ASSERT_EQ(i % b, position % b);
        previous = i;
      }
      EXPECT_EQ(sample.complete(), sample.size() == rows);
    }
  }
}

TEST(RowSampleTest, HoldsAboutAsManyNonzerosAsItShould) {
  const std::int64_t rows = 1 << 20;
  const std::int64_t npr = 10;
  const auto sampled = npr * RowSample::of(rows, npr * rows).size();
  EXPECT_NEAR(static_cast<double>(sampled), static_cast<double>(feature_sample_nnz), 2.0 * npr * RowSample::group_rows);
}

TEST(SampledFillTest, MeetsTheWholeMatrix) {
  // 4 x 4 blocks down the diagonal: every group of rows looks alike.
  const std::int64_t rows = 240000;
  const auto matrix = test::matrix_of<float>(rows, rows, [=](std::int64_t i) {
    const auto first = static_cast<std::int32_t>(i / 4 * 4);
    return std::vector<std::int32_t>{first, first + 1, first + 2, first + 3};
  });
  const auto features = extract_features(matrix.view(), Place{});
  EXPECT_TRUE(features.sampled);
  EXPECT_EQ(features.block_fill[0], 1);
  EXPECT_EQ(features.block_fill[2], 1);
  EXPECT_EQ(features.block_fill[3], 0.5);
}

// One nonzero in each group of rows, where what marks the blocks of a list of columns would mark them a second time if
// it were a number of 16 bits that is never begun anew: 565 groups before, of 116 lists each, and four lists after.
TEST(BlockFillTest, CountsBlocksAnewAfterManyRows) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  constexpr std::int64_t groups = 565;
  const std::int64_t rows = 5 * groups * RowSample::group_rows;
  const auto matrix = test::matrix_of<double>(rows, 8 * groups, [](std::int64_t i) {
    const auto group = i / RowSample::group_rows;
    const auto list = 20 - 4 * (group / groups);
    const auto column = static_cast<std::int32_t>(8 * (group % groups));
    return i % RowSample::group_rows == 2 * list ? std::vector{column} : std::vector<std::int32_t>();
  });
  const auto features = extract_features(matrix.view(), Place{});
  omp_set_num_threads(threads);
  EXPECT_FALSE(features.sampled);
  for (std::size_t s = 0; s < block_sizes.size(); ++s) {
    EXPECT_EQ(features.block_fill[s], 1.0 / (block_sizes[s] * block_sizes[s])) << block_sizes[s];
  }
}

TEST(LongestRow, IsTheFeature) {
  for (const auto& [name, matrix] : scenarios<double>()) {
    SCOPED_TRACE(name);
    const auto view = matrix.view();
    EXPECT_EQ(longest_row(view.row_ptr, view.rows, Place{}), extract_features(view, Place{}).npr_max);
  }
}

TEST(FeatureTableTest, NamesAreUniqueAndExplained) {
  std::set<std::string_view> names;
  for (const auto& feature : feature_table()) {
    EXPECT_TRUE(names.insert(feature.name).second) << feature.name;
    EXPECT_FALSE(feature.meaning.empty()) << feature.name;
    EXPECT_EQ(feature.meaning.find('\n'), std::string_view::npos) << feature.name;
  }
  const std::set<std::string_view> expected = {"npr_p50", "npr_bin_3", "block_fill_3", "sliced_ell_padding_32"};
  EXPECT_TRUE(std::includes(names.begin(), names.end(), expected.begin(), expected.end()));
}

TEST(FeatureTableTest, ReadsTheFieldItNames) {
  Features f;
  f.npr_percentile[3] = 41;
  f.npr_histogram[3] = 42;
  f.block_fill[1] = 0.25;
  f.sliced_ell_padding[1] = 1.5;
  f.symmetric_pattern = true;
  const std::map<std::string_view, double> expected = {{"npr_p50", 41},          {"npr_bin_3", 42},
                                                       {"block_fill_3", 0.25},   {"sliced_ell_padding_32", 1.5},
                                                       {"symmetric_pattern", 1}, {"sorted_columns", 1}};
  for (const auto& feature : feature_table()) {
    const auto found = expected.find(feature.name);
    EXPECT_EQ(feature.read(f), found == expected.end() ? 0 : found->second) << feature.name;
  }
}

TEST(ExtractRowFeatures, SaysOfTheRowsWhatAllFeaturesSay) {
  for (const auto& [name, matrix] : test::scenarios<double>()) {
    SCOPED_TRACE(name);
    const auto all = extract_features(matrix.view(), Place{});
    const auto of_rows = extract_row_features(matrix.view(), Place{});
    for (const auto& feature : feature_table()) {
      const auto& feature_name = feature.name;
      const bool is_size =
          feature_name == "rows" || feature_name == "cols" || feature_name == "nnz" || feature_name == "empty_rows";
      const bool is_of_rows =
          feature_name.starts_with("npr") || feature_name.find("ell_padding") != std::string_view::npos;
      EXPECT_EQ(feature.read(of_rows), is_size || is_of_rows ? feature.read(all) : feature.read(Features{}))
          << feature_name;
    }
  }
}

TEST(ExtractValueFeatures, SaysOfTheValuesWhatAllFeaturesSay) {
  for (const auto& [name, matrix] : test::scenarios<double>()) {
    SCOPED_TRACE(name);
    const auto all = extract_features(matrix.view(), Place{});
    const auto of_values = extract_value_features(matrix.view(), Place{});
    EXPECT_EQ(of_values.nnz, all.nnz);
    EXPECT_EQ(of_values.distinct_values, all.distinct_values);
    EXPECT_EQ(of_values.values_all_equal, all.values_all_equal);
    EXPECT_EQ(of_values.values_exact_in_float, all.values_exact_in_float);
  }
}

TEST(FeaturesOfRecord, ReadsBackWhatTheTableSays) {
  const auto source = generate<double>("gen:circuit:3000");
  const auto matrix = Matrix<double>::from_csr(source.rows, source.cols, std::span<const std::int64_t>(source.row_ptr),
                                               source.col_idx, source.values);
  const auto features = extract_features(data_of(matrix).on({}), Place{});
  std::vector<std::pair<std::string, double>> record = {{"no such feature", 3}};
  for (const auto& feature : feature_table()) record.emplace_back(feature.name, feature.read(features));
  const auto read = features_of_record(record);
  ASSERT_TRUE(read);
  for (const auto& feature : feature_table()) EXPECT_EQ(feature.read(*read), feature.read(features)) << feature.name;

  auto damaged = record;
  damaged.back().second = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(features_of_record(damaged));
  record.pop_back();
  EXPECT_FALSE(features_of_record(record)) << "one is missing";
}

using Record = std::vector<std::pair<std::string, double>>;

Record with(Record record, const std::string& name, double value) {
  const auto at = std::find_if(record.begin(), record.end(), [&](const auto& one) { return one.first == name; });
  EXPECT_NE(at, record.end()) << name;
  at->second = value;
  return record;
}

TEST(FeaturesOfRecord, TakesThoseOfEveryMatrix) {
  for (const auto& [name, matrix] : test::scenarios<double>()) {
    Record record;
    const auto features = extract_features(matrix.view(), Place{});
    for (const auto& feature : feature_table()) record.emplace_back(feature.name, feature.read(features));
    EXPECT_TRUE(features_of_record(record)) << name;
  }
}

TEST(FeaturesOfRecord, RefusesWhatNoMatrixHas) {
  Record record;
  const auto features = extract_features(generate<double>("gen:circuit:3000").view(), Place{});
  for (const auto& feature : feature_table()) record.emplace_back(feature.name, feature.read(features));
  for (const auto& [name, value] : Record{{"rows", -1},
                                          {"rows", 1e12},
                                          {"cols", 0},
                                          {"nnz", 0x1p50},
                                          {"npr_mean", 1e9},
                                          {"npr_variance", -1},
                                          {"npr_min", 0x1p53},
                                          {"npr_max", 0},
                                          {"npr_p50", -5},
                                          {"npr_bin_3", -5},
                                          {"npr_bin_32", 0x1p53},
                                          {"empty_rows", 1},
                                          {"diagonals", -1},
                                          {"lower_bandwidth", 3000},
                                          {"slice_span_mean", 1e300},
                                          {"slice_diagonals_mean", -1},
                                          {"block_fill_2", 0},
                                          {"ell_padding", 0.5},
                                          {"sliced_ell_padding_32", 1e300},
                                          {"distinct_values", 0}}) {
    EXPECT_FALSE(features_of_record(with(record, name, value))) << name << " = " << value;
  }
}

}  // namespace
}  // namespace autospmv
