#include "core/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace autospmv::testing {
namespace {

TEST(Search, PartitionPointIsTheFirstThatIsNotBefore) {
  for (int high = 0; high < 20; ++high) {
    for (int point = 0; point <= high; ++point) {
      EXPECT_EQ(partition_point(0, high, [&](int i) { return i < point; }), point);
    }
  }
  EXPECT_EQ(partition_point(5, 3, [](int) { return true; }), 5);
}

// Offsets of parts of 0 to 6 elements.
std::vector<std::int64_t> offsets_of_parts(std::int64_t parts) {
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t part = 0; part < parts; ++part) offsets.push_back(offsets.back() + part * part % 7);
  return offsets;
}

TEST(Search, PartsOfElementsAreFoundFromTheBeginningAndFromAnyPartBefore) {
  for (const std::int64_t parts : {1, 2, 3, 50}) {
    const auto offsets = offsets_of_parts(parts);
    for (std::int64_t value = 0; value < offsets.back(); ++value) {
      const auto expected = std::upper_bound(offsets.begin(), offsets.end(), value) - offsets.begin() - 1;
      ASSERT_EQ(part_of(offsets.data(), parts, value), expected);
      for (std::int64_t first = 0; first <= expected; ++first) {
        ASSERT_EQ(part_near(offsets.data(), first, parts, value), expected);
      }
    }
  }
}

TEST(Search, AValueBeforeAllPartsIsInTheFirst) {
  const std::vector<std::int32_t> offsets{-3, 0, 4};
  EXPECT_EQ(part_of(offsets.data(), std::int32_t{3}, -10), 0);
  EXPECT_EQ(part_near(offsets.data(), std::int32_t{0}, std::int32_t{3}, -10), 0);
}

}  // namespace
}  // namespace autospmv::testing
