// What the conformance suite does not reach of sell_cached: blocks of columns whose parts of x fill shared memory, rows
// whose columns are in no order, and when it is tried unasked.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/matrix/matrix_data.hpp"
#include "features/features.hpp"
#include "formats/format.hpp"
#include "io/generators.hpp"
#include "tests/formats/right_product.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

Params params_of(std::int64_t threads, std::int64_t width, std::int64_t value_bits = 64) {
  return {{"T", threads}, {"width", width}, {"value_bits", value_bits}};
}

// It takes whatever padding there is: these matrices are to be cut in every way.
std::optional<Device> cuda_device() {
  const auto found = cuda_devices();
  if (found.empty()) return std::nullopt;
  auto device = found.front();
  device.any_padding = true;
  return device;
}

// The columns of each row in order; its values stay where they are.
HostCsr<double> in_order(HostCsr<double> matrix) {
  for (std::size_t row = 0; row + 1 < matrix.row_ptr.size(); ++row) {
    std::sort(matrix.col_idx.begin() + static_cast<std::ptrdiff_t>(matrix.row_ptr[row]),
              matrix.col_idx.begin() + static_cast<std::ptrdiff_t>(matrix.row_ptr[row + 1]));
  }
  return matrix;
}

// Columns to either side of the ends of blocks, in rows of every length up to those that are cut into many pieces.
TEST(SellCached, BlocksOfColumnsAreSummedWhole) {
  const auto device = cuda_device();
  if (!device) GTEST_SKIP() << "no CUDA device";
  const auto room = device->shared_bytes_of_block / static_cast<std::int64_t>(sizeof(double));
  for (const std::int64_t cols : {std::int64_t{1023}, std::int64_t{1024}, std::int64_t{1025}, std::int64_t{4097},
                                  room - 33, room, 3 * room + 1}) {
    const auto length = [&](std::int64_t row) {
      return row == 700 ? std::min<std::int64_t>(cols, 9001) : row % 100 == 7 ? 301 : row % 67;
    };
    const auto source = in_order(from_lengths<double>(1500, cols, length, 31));
    for (const std::int64_t threads : {1, 2, 8, 32}) {
      expect_right_product("sell_cached", params_of(threads, 0), source, *device);
      expect_right_product("sell_cached", params_of(threads, 1024), source, *device);
    }
  }
}

// More slices than all warps take in one turn, so that blocks of threads have several blocks of columns and these
// several blocks of threads.
TEST(SellCached, ManySlicesAreDealtOutWhole) {
  const auto device = cuda_device();
  if (!device) GTEST_SKIP() << "no CUDA device";
  for (const auto* const name : {"gen:uniform:200000:2100:5", "gen:rmat:15", "gen:uniform:40:100000:3000"}) {
    const auto source = generate<double>(name);
    for (const std::int64_t width : {0, 1024}) {
      expect_right_product("sell_cached", params_of(1, width), source, *device);
      expect_right_product("sell_cached", params_of(16, width), source, *device);
    }
  }
}

TEST(SellCached, RowsInNoOrderAreOfOneBlock) {
  const auto device = cuda_device();
  if (!device) GTEST_SKIP() << "no CUDA device";
  const auto source = from_lengths<double>(
      300, 2000, [](std::int64_t row) { return 3 + row % 20; }, 1999);
  expect_right_product("sell_cached", params_of(4, 0), source, *device);
  const auto matrix = matrix_of(source);
  const auto refused =
      find_format<double>("sell_cached")->build(data_of(matrix).on(*device), params_of(4, 1024), *device);
  ASSERT_FALSE(refused.admitted());
  EXPECT_NE(refused.reason().find("not in order"), std::string::npos) << refused.reason();
}

TEST(SellCached, PredictsWhatItStores) {
  const auto device = cuda_device();
  if (!device) GTEST_SKIP() << "no CUDA device";
  for (const auto* const name : {"gen:uniform:30000:20000:40", "gen:uniform:30000:90000:40"}) {
    const auto matrix = matrix_of(generate<double>(name));
    const auto view = data_of(matrix).on(*device);
    const auto features = extract_features(view, *device);
    for (const std::int64_t threads : {1, 4}) {
      const auto predicted = find_format<double>("sell_cached")->predict(features, params_of(threads, 0), *device);
      const auto built = find_format<double>("sell_cached")->build(view, params_of(threads, 0), *device);
      ASSERT_TRUE(predicted.admitted() && built.admitted()) << name;
      const auto bytes = static_cast<double>((*built)->bytes());
      EXPECT_GT(predicted->storage_bytes, 0.8 * bytes) << name << " T=" << threads;
      EXPECT_LT(predicted->storage_bytes, 1.3 * bytes) << name << " T=" << threads;
    }
  }
}

// Unasked where columns are scattered and rows long enough, not along a diagonal, nor where a block of columns has
// hardly an entry of a row.
TEST(SellCached, IsTriedUnaskedWhereColumnsAreScattered) {
  const auto tried = [](const char* name, Choices choices) {
    const auto features = extract_features(generate<double>(name).view(), Place{});
    return !find_format<double>("sell_cached")->params(features, described_gpu()).combinations(choices).empty();
  };
  EXPECT_TRUE(tried("gen:uniform:20000:6000:60", Choices::likely));
  EXPECT_TRUE(tried("gen:uniform:20000:60000:60", Choices::likely));
  EXPECT_FALSE(tried("gen:banded:20000:30", Choices::likely));
  EXPECT_FALSE(tried("gen:uniform:20000:60000:10", Choices::likely));
  EXPECT_FALSE(tried("gen:uniform:1000:6000:10", Choices::likely));
  EXPECT_TRUE(tried("gen:banded:20000:30", Choices::all));
}

TEST(SellCached, IsRefusedWhereBlocksWouldBeMoreThanEntries) {
  const auto features = extract_features(generate<double>("gen:uniform:100000:100000:2").view(), Place{});
  const auto refused = find_format<double>("sell_cached")->predict(features, params_of(1, 1024), described_gpu());
  ASSERT_FALSE(refused.admitted());
  EXPECT_NE(refused.reason().find("padding"), std::string::npos) << refused.reason();
}

}  // namespace
}  // namespace autospmv::testing
