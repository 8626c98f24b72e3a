// In which order rows are stored.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "core/verify/random.hpp"
#include "formats/sliced/convert.hpp"

namespace autospmv::formats {
namespace {

// The offsets of rows of such lengths; nothing else of the matrix is asked.
CsrView<double> matrix_of(const std::vector<std::int64_t>& offsets) {
  return {static_cast<std::int64_t>(offsets.size()) - 1, 1, offsets.back(), offsets.data(), nullptr, nullptr};
}

// Rows of at most `usual` nonzeros, empty ones among them, but for one in so many, which is of thousands.
std::vector<std::int64_t> offsets_of(std::int64_t rows, std::uint64_t usual, std::uint64_t one_in) {
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto bits = random_bits(3, static_cast<std::uint64_t>(row));
    const auto length = bits % one_in == 0 ? 1000 + bits / one_in % 5000 : bits / one_in % (usual + 1);
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(length));
  }
  return offsets;
}

TEST(SortedRows, AreTheLongestFirstAndOtherwiseInTheirOrder) {
  for (const auto& [rows, usual, one_in] :
       {std::tuple{1, 5, 2}, {64, 0, 1000000}, {1000, 5, 7}, {1000, 300, 2}, {20000, 40, 1000}}) {
    const auto offsets = offsets_of(rows, static_cast<std::uint64_t>(usual), static_cast<std::uint64_t>(one_in));
    const auto longer = [&](std::int32_t a, std::int32_t b) {
      const auto length = [&](std::int32_t row) {
        const auto at = static_cast<std::size_t>(row);
        return offsets[at + 1] - offsets[at];
      };
      return length(a) > length(b);
    };
    const std::vector<std::int64_t> parts = {0, rows / 3, rows / 3, rows};
    for (const std::int64_t window : {2, 16, 300, 1 << 20}) {
      std::vector<std::int32_t> expected(static_cast<std::size_t>(rows));
      std::iota(expected.begin(), expected.end(), 0);
      for (std::size_t part = 0; part + 1 < parts.size(); ++part) {
        for (auto first = parts[part]; first < parts[part + 1]; first += window) {
          const auto last = std::min(first + window, parts[part + 1]);
          std::stable_sort(expected.begin() + first, expected.begin() + last, longer);
        }
      }
      const auto order = host::sort_rows(matrix_of(offsets), window, parts);
      EXPECT_TRUE(std::ranges::equal(order.span(), expected)) << rows << " rows, windows of " << window;
    }
  }
}

}  // namespace
}  // namespace autospmv::formats
