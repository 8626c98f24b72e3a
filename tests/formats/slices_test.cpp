// Slices whose slots hosts write in fewer bits: what just fits is kept, what does not is refused. Columns by chunk on
// CUDA, as they are predicted.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/verify/random.hpp"
#include "features/features.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/format.hpp"
#include "formats/sizes.hpp"
#include "io/generators.hpp"
#include "io/host_csr.hpp"
#include "tests/formats/right_product.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

constexpr std::int64_t rows = 1000;
constexpr std::int64_t far_row = 700;

Params params_of(std::int64_t slice_rows, std::int64_t sigma, std::int64_t column_bits, std::int64_t value_bits) {
  return {{"C", slice_rows}, {"T", 1}, {"sigma", sigma}, {"column_bits", column_bits}, {"value_bits", value_bits}};
}

// Rows given by their columns.
template <class ColumnsOf>
HostCsr<double> from_columns(std::int64_t row_count, std::int64_t cols, const ColumnsOf& columns_of) {
  HostCsr<double> csr;
  csr.rows = row_count;
  csr.cols = cols;
  csr.row_ptr = {0};
  for (std::int64_t row = 0; row < row_count; ++row) {
    for (const std::int64_t column : columns_of(row)) {
      csr.col_idx.push_back(static_cast<std::int32_t>(column));
      csr.values.push_back(random_value(5, csr.values.size()));
    }
    csr.row_ptr.push_back(std::ssize(csr.values));
  }
  return csr;
}

// Columns around the row's own place, the smallest one last, in rows of 0 to 12 entries of which float keeps all; those
// of one row span `span` columns more than one.
HostCsr<double> source_of(std::int64_t span) {
  return with_float_values(from_columns(rows, 200000, [&](std::int64_t row) {
    std::vector<std::int64_t> columns;
    if (row == far_row) {
      columns = {50000 + span, 50000 + span / 2, 50000};
    } else if (row / 32 != far_row / 32) {
      for (std::int64_t k = row % 13; k > 0; --k) columns.push_back(20 * (row / 32) + 3 * k);
    }
    return columns;
  }));
}

void expect_refused(const Params& params, const HostCsr<double>& source, const std::string& reason) {
  SCOPED_TRACE(params.text());
  const auto matrix = matrix_of(source);
  const auto built = find_format<double>("sell_p")->build(data_of(matrix).on(host_device()), params, host_device());
  ASSERT_FALSE(built.admitted());
  EXPECT_NE(built.reason().find(reason), std::string::npos) << built.reason();
}

TEST(SlicesOnHosts, KeepColumnsAsFarApartAs16BitsHold) {
  constexpr std::int64_t most = (1 << 16) - 2;
  for (const std::int64_t slice_rows : {1, 8, 16, 32}) {
    const std::int64_t sigma = slice_rows == 1 ? 256 : 1;
    const auto params = params_of(slice_rows, sigma, 16, 64);
    expect_right_product("sell_p", params, source_of(most), host_device());
    expect_refused(params, source_of(most + 1), "a slice spans more than 16 bits");
  }
}

// Rows of four entries, the second of which lies this much farther off from row to row; of one in five rows it is the
// last.
constexpr std::int64_t rows_apart = 200;
HostCsr<double> apart(std::int64_t step) {
  const auto cols = 10 + rows_apart * std::max<std::int64_t>(1, step) + 10;
  return from_columns(rows_apart, cols, [&](std::int64_t row) {
    std::vector<std::int64_t> columns = {row % 2, 2 + row * step, cols - 9 + row % 3, cols - 1};
    if (row % 5 == 0) columns.resize(2);
    return columns;
  });
}

TEST(SlicesOnHosts, KeepColumnsByChunkHoweverFarApart) {
  for (const std::int64_t slice_rows : {8, 16}) {
    // What just fits 1 and 2 bytes, and what just does not.
    for (const std::int64_t farthest : {0xff, 0x100, 0xffff, 0x10000}) {
      for (const std::int64_t beyond : {0, 1}) {
        const auto step = farthest / (slice_rows - 1) + beyond;
        for (const std::int64_t sigma : {1, 256}) {
          expect_right_product("sell_p", params_of(slice_rows, sigma, 0, 64), apart(step), host_device());
        }
        expect_right_product("sliced_ell", {{"S", 16}, {"T", 1}, {"column_bits", 0}, {"value_bits", 64}}, apart(step),
                             host_device());
      }
    }
  }
}

std::int64_t bytes_of(const Params& params, const HostCsr<double>& source) {
  const auto matrix = matrix_of(source);
  const auto built = find_format<double>("sell_p")->build(data_of(matrix).on(host_device()), params, host_device());
  return (*built)->bytes();
}

// What columns by chunk take beside the heads of chunks and where the chunks of a slice begin, in slices of so many
// chunks.
std::int64_t octets_of(std::int64_t slice_rows, std::int64_t chunks, const HostCsr<double>& source) {
  const auto slices = (source.rows + slice_rows - 1) / slice_rows;
  const auto in_full = slices * chunks * slice_rows * 4;
  const auto saved =
      bytes_of(params_of(slice_rows, 1, 32, 64), source) - bytes_of(params_of(slice_rows, 1, 0, 64), source);
  return in_full - saved - slices * chunks * 4 - (slices + 1) * 4;
}

TEST(SlicesOnHosts, KeepColumnsByChunkInFewerBytes) {
  const std::int64_t slots = (rows_apart + 15) / 16 * 16 * 4;
  EXPECT_EQ(octets_of(16, 4, apart(2)), slots);
  // The second columns of rows are runs, which take none.
  EXPECT_EQ(octets_of(16, 4, apart(1)), slots - slots / 4);
}

// A diagonal so far above the main one: negative, below it.
HostCsr<double> diagonal(std::int64_t size, std::int64_t above) {
  return from_columns(size, size, [&](std::int64_t row) {
    const auto column = row + above;
    return column >= 0 && column < size ? std::vector{column} : std::vector<std::int64_t>{};
  });
}

// Where lanes are padding, they read x too.
TEST(SlicesOnHosts, KeepRunsOfColumnsWithinX) {
  for (const std::int64_t slice_rows : {8, 16}) {
    for (const std::int64_t above : {0, 1, -1}) {
      for (const std::int64_t size : {32, 33, 47}) {
        expect_right_product("sell_p", params_of(slice_rows, 1, 0, 64), diagonal(size, above), host_device());
      }
    }
    EXPECT_EQ(octets_of(slice_rows, 1, diagonal(32, 0)), 0);
    EXPECT_EQ(octets_of(slice_rows, 1, diagonal(33, 0)), slice_rows);
    EXPECT_EQ(octets_of(slice_rows, 1, diagonal(32, 1)), slice_rows);
    EXPECT_EQ(octets_of(slice_rows, 1, diagonal(32, -1)), slice_rows);
  }
}

TEST(SlicesOnHosts, RefuseColumnsByChunkThatAreNoShorter) {
  const auto params = params_of(16, 1, 0, 64);
  auto source = apart(1);
  source.cols = 100000000;
  for (std::size_t k = 0; k < source.col_idx.size(); ++k) {
    source.col_idx[k] = static_cast<std::int32_t>((k % 4) * 25000000 + (k / 4 * 7919 % 1000) * 20000);
  }
  expect_refused(params, source, "as many bytes as in full");
  expect_refused(params_of(32, 1, 0, 64), apart(1), "slices of 8 or 16 rows");
  source.cols = (std::int64_t{1} << 30) + 1;
  expect_refused(params, source, "2^30");
}

TEST(SlicesOnHosts, KeepInFloatWhatFloatKeeps) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t slice_rows : {1, 8, 16, 32}) {
    for (const std::int64_t column_bits : {16, 32}) {
      const auto params = params_of(slice_rows, 256, column_bits, 32);
      auto source = source_of(100);
      expect_right_product("sell_p", params, source, host_device());
      source.values[300] = nan;
      expect_right_product("sell_p", params, source, host_device());
      source.values[777] = 0.1;
      expect_refused(params, source, "more than 32 bits");
    }
  }
}

Device device_with_cache(std::int64_t cache_bytes) {
  Device device;
  device.backend = Backend::cuda;
  device.multiprocessors = 1;
  device.memory_bytes = std::int64_t{1} << 30;
  device.cache_bytes = cache_bytes;
  return device;
}

TEST(ChunksOnCuda, AreOfSlicesOf32RowsAndFewBytes) {
  const auto features = extract_features(generate<double>("gen:grid2d:50").view(), Place{});
  const auto device = device_with_cache(1 << 20);
  const auto predicted = [&](std::int64_t slice_rows, std::int64_t column_bits) {
    return find_format<double>("sell_p")->predict(features, params_of(slice_rows, 1, column_bits, 64), device);
  };
  for (const std::int64_t slice_rows : {8, 16, 64, 128}) {
    const auto refused = predicted(slice_rows, formats::columns_by_chunk);
    ASSERT_FALSE(refused.admitted()) << slice_rows;
    EXPECT_NE(refused.reason().find("slices of 32 rows"), std::string::npos) << refused.reason();
  }
  // A quarter of a byte for the head, half a byte or more where a row of the grid ends.
  const double nonzeros = static_cast<double>(features.nnz);
  const auto by_chunk = predicted(32, formats::columns_by_chunk);
  const auto in_full = predicted(32, 32);
  ASSERT_TRUE(by_chunk.admitted() && in_full.admitted());
  EXPECT_LT(by_chunk->bytes, in_full->bytes - 2.5 * nonzeros);
  EXPECT_GT(by_chunk->bytes, in_full->bytes - 3.9 * nonzeros);
}

TEST(ChunksOnCuda, AreTriedUnaskedWhereTheMatrixComesFromMemory) {
  const auto features = extract_features(generate<double>("gen:rmat:10").view(), Place{});
  const auto bytes = static_cast<std::int64_t>(formats::csr_bytes<double>(features.rows, features.nnz));
  for (const auto* const name : {"sell_p", "ell_warp_split"}) {
    const auto tried = [&](std::int64_t cache_bytes, Choices choices) {
      const auto all =
          find_format<double>(name)->params(features, device_with_cache(cache_bytes)).combinations(choices);
      return std::any_of(all.begin(), all.end(), [](const Params& params) { return params["column_bits"] == 0; });
    };
    EXPECT_TRUE(tried(bytes, Choices::likely)) << name;
    EXPECT_FALSE(tried(3 * bytes, Choices::likely)) << name;
    EXPECT_TRUE(tried(3 * bytes, Choices::all)) << name;
  }
}

}  // namespace
}  // namespace autospmv::testing
