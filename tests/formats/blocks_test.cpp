// The conversion to blocks against a map of them, on every backend there is, and products of every shape of block.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/matrix/matrix_data.hpp"
#include "core/verify/random.hpp"
#include "core/verify/reference.hpp"
#include "formats/blocks/bsr/bsr.hpp"
#include "formats/blocks/family.hpp"
#include "formats/blocks/storage.hpp"
#include "formats/format.hpp"
#include "io/generators.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

using formats::BlockLayout;
using formats::BlockMatrix;

// Random blocks, some of them not full, at a width of columns that no block size divides.
HostCsr<double> ragged(std::int64_t rows, std::int64_t cols, bool sorted) {
  HostCsr<double> matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<std::int32_t> columns;
    for (std::int64_t col = 0; col < cols; ++col) {
      const bool block = random_unit(3, static_cast<std::uint64_t>(row / 4 * cols + col / 3)) < 0.2;
      const bool inside = random_unit(4, static_cast<std::uint64_t>(row * cols + col)) < 0.8;
      if (row % 11 != 5 && block && inside) columns.push_back(static_cast<std::int32_t>(col));
    }
    if (!sorted)
      std::rotate(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(columns.size() / 3), columns.end());
    for (const auto col : columns) {
      matrix.col_idx.push_back(col);
      // A stored zero now and then.
      const auto k = matrix.values.size();
      matrix.values.push_back(k % 29 == 7 ? 0.0 : random_value(9, k));
    }
    matrix.row_ptr.push_back(static_cast<std::int64_t>(matrix.col_idx.size()));
  }
  return matrix;
}

template <class T>
struct OnDevice {
  OnDevice(const HostCsr<T>& source, const Device& device)
      : matrix(Matrix<T>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values)),
        view(data_of(matrix).on(device)) {}

  Matrix<T> matrix;
  CsrView<T> view;
};

struct Expected {
  std::vector<std::int32_t> slice_chunks;
  std::vector<std::int32_t> block_columns;
  std::vector<double> values;
};

// As the header of blocks/storage.hpp says, slot by slot.
Expected expected_blocks(const HostCsr<double>& matrix, const BlockLayout& layout) {
  const std::int64_t block_rows = (matrix.rows + layout.r - 1) / layout.r;
  const std::int64_t slice = layout.slice > 0 ? layout.slice : std::max<std::int64_t>(16, (block_rows + 15) / 16 * 16);
  std::vector<std::map<std::int64_t, std::vector<double>>> blocks(static_cast<std::size_t>(block_rows));
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (auto k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
      const std::int64_t column = matrix.col_idx[k];
      auto& elements = blocks[static_cast<std::size_t>(row / layout.r)][column / layout.c];
      elements.resize(static_cast<std::size_t>(layout.r) * static_cast<std::size_t>(layout.c), 0.0);
      const double value = matrix.values[k];
      elements[static_cast<std::size_t>(column % layout.c * layout.r + row % layout.r)] = value == 0 ? -0.0 : value;
    }
  }
  Expected expected{{0}, {}, {}};
  for (std::int64_t first = 0; first < block_rows; first += slice) {
    std::size_t longest = 0;
    for (auto row = first; row < std::min(block_rows, first + slice); ++row) {
      longest = std::max(longest, blocks[static_cast<std::size_t>(row)].size());
    }
    for (std::size_t chunk = 0; chunk < longest; ++chunk) {
      std::vector<double> planes(static_cast<std::size_t>(layout.r * layout.c * slice), 0.0);
      for (std::int64_t lane = 0; lane < slice; ++lane) {
        const bool there = first + lane < block_rows && chunk < blocks[static_cast<std::size_t>(first + lane)].size();
        if (!there) {
          expected.block_columns.push_back(-1);
          continue;
        }
        const auto at =
            std::next(blocks[static_cast<std::size_t>(first + lane)].begin(), static_cast<std::ptrdiff_t>(chunk));
        expected.block_columns.push_back(static_cast<std::int32_t>(at->first));
        for (std::int64_t j = 0; j < layout.c; ++j) {
          for (std::int64_t i = 0; i < layout.r; ++i) {
            planes[static_cast<std::size_t>(j * slice * layout.r + lane * layout.r + i)] =
                at->second[static_cast<std::size_t>(j * layout.r + i)];
          }
        }
      }
      expected.values.insert(expected.values.end(), planes.begin(), planes.end());
    }
    expected.slice_chunks.push_back(expected.slice_chunks.back() + static_cast<std::int32_t>(longest));
  }
  return expected;
}

std::vector<std::uint64_t> bits_of(const std::vector<double>& values, std::size_t count) {
  std::vector<std::uint64_t> bits;
  for (std::size_t i = 0; i < count; ++i) bits.push_back(std::bit_cast<std::uint64_t>(values.at(i)));
  return bits;
}

void expect_blocks(const HostCsr<double>& source, const BlockLayout& layout) {
  const auto expected = expected_blocks(source, layout);
  for (const auto& device : devices()) {
    SCOPED_TRACE(std::string(name_of(device.backend)) + " r=" + std::to_string(layout.r) +
                 " c=" + std::to_string(layout.c) + " C=" + std::to_string(layout.slice));
    const OnDevice<double> on(source, device);
    const auto built = formats::build_blocks(on.view, layout, device);
    ASSERT_TRUE(built.admitted()) << built.reason();
    EXPECT_EQ(built->slice_chunks.to_vector(), expected.slice_chunks);
    EXPECT_EQ(built->block_columns.to_vector(), expected.block_columns);
    const auto values = built->values.full.to_vector();
    ASSERT_EQ(values.size(), expected.values.size() + BlockMatrix<double>::read_past);
    EXPECT_EQ(bits_of(values, expected.values.size()), bits_of(expected.values, expected.values.size()));
  }
}

TEST(Blocks, EveryShapeOfSortedRows) {
  const auto matrix = ragged(61, 83, true);
  for (int r = 2; r <= 8; ++r) {
    for (int c = 2; c <= 8; ++c) expect_blocks(matrix, {r, c, 1});
  }
}

TEST(Blocks, EveryShapeOfUnsortedRows) {
  const auto matrix = ragged(61, 83, false);
  for (int r = 2; r <= 8; ++r) {
    for (int c = 2; c <= 8; ++c) expect_blocks(matrix, {r, c, 1});
  }
}

TEST(Blocks, Slices) {
  for (const bool sorted : {true, false}) {
    const auto matrix = ragged(203, 83, sorted);
    for (const std::int64_t slice : {4, 8, 16, 32, 0}) {
      expect_blocks(matrix, {3, 3, slice});
      expect_blocks(matrix, {2, 4, slice});
      expect_blocks(matrix, {8, 5, slice});
    }
  }
}

TEST(Blocks, FullBlocksOfAMesh) {
  const auto matrix = generate<double>("gen:fem:5:3");
  auto unsorted = matrix;
  for (std::size_t row = 0; row + 1 < matrix.row_ptr.size(); ++row) {
    std::reverse(unsorted.col_idx.begin() + matrix.row_ptr[row], unsorted.col_idx.begin() + matrix.row_ptr[row + 1]);
    std::reverse(unsorted.values.begin() + matrix.row_ptr[row], unsorted.values.begin() + matrix.row_ptr[row + 1]);
  }
  for (const std::int64_t slice : {1, 4, 32, 0}) {
    expect_blocks(matrix, {3, 3, slice});
    expect_blocks(unsorted, {3, 3, slice});
  }
  const auto built = formats::build_blocks(matrix.view(), {3, 3, 1}, host_device());
  EXPECT_EQ(static_cast<std::int64_t>(built->block_columns.size()) * 9, matrix.nnz());
}

TEST(Blocks, LongAndEmptyRows) {
  // Rows of one to many warps of nonzeros, between others that are empty.
  const auto length = [](std::int64_t row) { return row % 7 == 3 ? 300 * (row % 5) + 1 : 0; };
  for (const std::int64_t step : {1, 501}) {
    const auto matrix = from_lengths<double>(60, 1511, length, step);
    for (const std::int64_t slice : {1, 16, 0}) {
      expect_blocks(matrix, {2, 2, slice});
      expect_blocks(matrix, {4, 8, slice});
    }
  }
}

TEST(Blocks, RowsOfManyThousands) {
  // More than a conversion holds in shared memory at a time, many times over.
  const auto length = [](std::int64_t row) { return 3000 + 450 * (row % 4); };
  for (const std::int64_t step : {1, 1009}) {
    const auto matrix = from_lengths<double>(24, 5003, length, step);
    for (const std::int64_t slice : {1, 4}) {
      expect_blocks(matrix, {2, 2, slice});
      expect_blocks(matrix, {3, 5, slice});
    }
  }
}

TEST(Blocks, NothingToStore) {
  for (const auto& [rows, cols] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {0, 9}, {7, 0}, {33, 5}}) {
    const auto matrix = from_lengths<double>(rows, cols, [](std::int64_t) { return 0; });
    for (const std::int64_t slice : {1, 4, 0}) expect_blocks(matrix, {3, 2, slice});
  }
}

TEST(Blocks, DuplicatesAreRefused) {
  for (const bool sorted : {true, false}) {
    auto matrix = ragged(61, 83, sorted);
    const auto row = std::max_element(matrix.row_ptr.begin() + 1, matrix.row_ptr.end()) - matrix.row_ptr.begin() - 1;
    const auto last = static_cast<std::size_t>(matrix.row_ptr[static_cast<std::size_t>(row) + 1] - 1);
    ASSERT_GT(last, 1U);
    // Beside each other in the sorted matrix, at both ends of the row in the other.
    const auto first = static_cast<std::size_t>(matrix.row_ptr[static_cast<std::size_t>(row)]);
    matrix.col_idx[last] = matrix.col_idx[sorted ? last - 1 : first];
    for (const auto& device : devices()) {
      SCOPED_TRACE(name_of(device.backend));
      const OnDevice<double> on(matrix, device);
      const auto built = formats::build_blocks(on.view, {3, 3, 1}, device);
      ASSERT_FALSE(built.admitted());
      EXPECT_EQ(built.reason().rfind("duplicates:", 0), 0U) << built.reason();
    }
  }
}

TEST(Blocks, EmptyBlocksAreRefused) {
  const auto matrix = generate<double>("gen:banded:300000:0");
  for (const auto& device : devices()) {
    SCOPED_TRACE(name_of(device.backend));
    const OnDevice<double> on(matrix, device);
    const auto built = formats::build_blocks(on.view, {8, 8, 1}, device);
    ASSERT_FALSE(built.admitted());
    EXPECT_EQ(built.reason().rfind("padding:", 0), 0U) << built.reason();
    const auto features = extract_features(on.view, device);
    for (const auto* name : {"bsr", "bell"}) {
      const auto* format = find_format<double>(name);
      for (auto params : format->params(features, device).combinations()) {
        params.set("r", 8);
        params.set("c", 8);
        EXPECT_FALSE(format->predict(features, params, device).admitted()) << name << " " << params.text();
      }
    }
  }
}

TEST(Blocks, NewValuesReplaceOld) {
  auto matrix = ragged(61, 83, false);
  for (const auto& device : devices()) {
    SCOPED_TRACE(name_of(device.backend));
    const OnDevice<double> before(matrix, device);
    auto built = formats::build_blocks(before.view, {3, 4, 4}, device);
    ASSERT_TRUE(built.admitted());
    auto changed = matrix;
    for (auto& value : changed.values) value = 1 - value;
    const OnDevice<double> after(changed, device);
    EXPECT_TRUE(built->refresh(after.view, device, setup_stream(device)));
    const auto expected = expected_blocks(changed, {3, 4, 4});
    EXPECT_EQ(bits_of(built->values.full.to_vector(), expected.values.size()),
              bits_of(expected.values, expected.values.size()));
  }
}

// Shapes and threads that params() would offer for no scenario, with infinities in x at every place of a block.
template <class T>
void expect_products(const std::string& name, const HostCsr<T>& source, const std::vector<Params>& choices,
                     const Device& device) {
  const OnDevice<T> on(source, device);
  const auto x = Array<T>::copy_of(make_x<T>(source.cols, Entries::with_infinities, 3), device);
  const auto y0 = Array<T>::copy_of(make_x<T>(source.rows, Entries::finite, 5), device);
  const auto reference = reference_product<T>(on.view, 2, x.data(), -1, y0.data(), device);
  const auto* format = find_format<T>(name);
  for (int r = 2; r <= 8; ++r) {
    for (int c = 2; c <= 8; ++c) {
      for (auto params : choices) {
        params.set("r", r);
        params.set("c", c);
        SCOPED_TRACE(name + " " + std::string(name_of(device.backend)) + " " + params.text());
        const auto built = format->build(on.view, params, device);
        ASSERT_TRUE(built.admitted()) << built.reason();
        auto y = Array<T>::copy_of(make_x<T>(source.rows, Entries::finite, 5), device);
        (*built)->apply(2, x.data(), -1, y.data(), setup_stream(device));
        synchronize(device);
        const auto comparison = compare(reference, static_cast<const T*>(y.data()), device);
        EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong, first " << comparison.first_wrong;
      }
    }
  }
}

template <class T>
HostCsr<T> of_type(const HostCsr<double>& from) {
  return {from.rows, from.cols, from.row_ptr, from.col_idx, {from.values.begin(), from.values.end()}};
}

template <class T>
void expect_all_products() {
  for (const auto& device : devices()) {
    std::vector<Params> bsr{{}};
    std::vector<Params> bell{{{"C", 4}}, {{"C", 0}}};
    if (device.backend == Backend::cuda) {
      bsr.clear();
      bell.clear();
      const std::int64_t full = formats::full_value_bits<T>;
      for (const std::int64_t t : {4, 16, 32}) bsr.push_back({{"T", t}, {"block", 64}, {"value_bits", full}});
      for (const std::int64_t t : {1, 2, 4, 8}) {
        for (const std::int64_t slice : {4, 32, 0}) {
          bell.push_back({{"T", t}, {"block", 128}, {"C", slice}, {"value_bits", full}});
        }
      }
    }
    for (const bool sorted : {true, false}) {
      const auto matrix = of_type<T>(ragged(203, 331, sorted));
      expect_products<T>("bsr", matrix, bsr, device);
      expect_products<T>("bell", matrix, bell, device);
    }
  }
}

TEST(Blocks, ProductsOfEveryShapeFloat) { expect_all_products<float>(); }
TEST(Blocks, ProductsOfEveryShapeDouble) { expect_all_products<double>(); }

template <class T>
void expect_whole_blocks() {
  using namespace formats::bsr;
  for (int r = 2; r <= 8; ++r) {
    for (int c = 2; c <= 8; ++c) {
      SCOPED_TRACE(std::to_string(r) + " x " + std::to_string(c));
      const int block = lanes_of_block<T>(r, c);
      EXPECT_GE(block * rows_of_lane<T>(r) * columns_of_lane<T>(r, c), r * c);
      for (const int threads : {AUTOSPMV_BSR_LANES}) {
        const int lanes = lanes_of_row<T>(r, c, threads);
        EXPECT_EQ(lanes % block, 0);
        EXPECT_LE(lanes, std::max(threads, block));
        EXPECT_GT(lanes + block, threads);
        EXPECT_LE(lanes, 32);
      }
    }
  }
}

TEST(Blocks, LanesOfABlockRowHoldWholeBlocks) {
  expect_whole_blocks<float>();
  expect_whole_blocks<double>();
  EXPECT_EQ(formats::bsr::lanes_of_row<double>(3, 3, 4), 9);
  EXPECT_EQ(formats::bsr::lanes_of_row<double>(3, 3, 32), 27);
  EXPECT_EQ(formats::bsr::lanes_of_row<double>(6, 6, 4), 9);
  EXPECT_EQ(formats::bsr::lanes_of_row<float>(4, 4, 32), 32);
}

TEST(Blocks, FewLanesAreTheFirstGuessForManyEvenRows) {
  Device device;
  device.backend = Backend::cuda;
  const auto guess = [&](const Features& features) {
    return find_format<double>("bsr")->params(features, device).combinations().front()["T"];
  };
  auto features = extract_features(generate<double>("gen:fem:6:3").view(), Place{});
  device.multiprocessors = 2;
  EXPECT_EQ(guess(features), 4);
  features.npr_variance = features.npr_mean * features.npr_mean;
  EXPECT_EQ(guess(features), 32);
  features.npr_variance = 0;
  device.multiprocessors = 100;
  EXPECT_EQ(guess(features), 32);
}

TEST(Blocks, TheSizeOfAMeshIsTheFirstGuess) {
  for (const int unknowns : {2, 3, 4, 5, 6, 7, 8}) {
    SCOPED_TRACE(unknowns);
    const auto matrix = generate<double>("gen:fem:6:" + std::to_string(unknowns));
    const auto features = extract_features(matrix.view(), Place{});
    EXPECT_EQ(formats::block_sizes_worth_trying<double>(features).front(), unknowns);
    EXPECT_NEAR(formats::block_fill(features, unknowns, unknowns), 1, 1e-12);
  }
}

TEST(Blocks, FillOfOtherShapesLiesBetweenMeasuredOnes) {
  Features features;
  features.rows = features.cols = 1001;
  features.nnz = 10000;
  features.block_fill = {0.8, 0.7, 0.5, 0.2};
  EXPECT_DOUBLE_EQ(formats::block_fill(features, 4, 4), 0.5);
  EXPECT_DOUBLE_EQ(formats::block_fill(features, 2, 4), std::sqrt(0.8 * 0.5));
  double previous = 0.5;
  for (const int b : {5, 6, 7}) {
    const double fill = formats::block_fill(features, b, b);
    EXPECT_LT(fill, previous);
    previous = fill;
  }
  EXPECT_GT(previous, 0.2);
  EXPECT_DOUBLE_EQ(formats::block_count(features, 2, 2), 10000 / (0.8 * 4));
}

}  // namespace
}  // namespace autospmv::testing
