// The merge path alone: its search, its bits, a walk along it as the lanes of a warp do it, and the rows that cross
// the boundaries of blocks.

#include "formats/csr/csr_merge/merge_path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

namespace autospmv::formats {
namespace {

using Lengths = std::vector<std::int64_t>;

// Rows of every kind: empty ones at both ends and in between, short ones, and some that are longer than a tile.
Lengths mixed_lengths() {
  Lengths lengths(7, 0);
  for (std::int64_t row = 0; row < 400; ++row) lengths.push_back(row % 97 == 11 ? 1500 : row % 5 == 0 ? 0 : row % 7);
  lengths.insert(lengths.end(), 700, 0);
  lengths.push_back(3);
  lengths.insert(lengths.end(), 5, 0);
  return lengths;
}

std::vector<Lengths> all_lengths() { return {mixed_lengths(), {0}, {1}, {5000}, Lengths(3000, 0), Lengths(352, 1)}; }

template <class Offset>
std::vector<Offset> offsets_of(const Lengths& lengths) {
  std::vector<Offset> row_ptr{0};
  for (const auto length : lengths) row_ptr.push_back(static_cast<Offset>(row_ptr.back() + length));
  return row_ptr;
}

// The path step by step: whether each ends a row.
std::vector<bool> path_of(const Lengths& lengths) {
  std::vector<bool> path;
  for (const auto length : lengths) {
    path.insert(path.end(), static_cast<std::size_t>(length), false);
    path.push_back(true);
  }
  return path;
}

template <class Offset>
void expect_search_to_agree_with_a_walk(const Lengths& lengths) {
  const auto row_ptr = offsets_of<Offset>(lengths);
  const auto rows = static_cast<std::int64_t>(lengths.size());
  const auto path = path_of(lengths);
  std::int64_t ended = 0;
  for (std::size_t step = 0; step < path.size(); ++step) {
    ASSERT_EQ(rows_ended(row_ptr.data(), rows, static_cast<std::int64_t>(step)), ended);
    if (path[step]) {
      ASSERT_EQ(end_step(row_ptr.data(), ended), static_cast<std::int64_t>(step));
      ++ended;
    }
  }
  EXPECT_EQ(rows_ended(row_ptr.data(), rows, static_cast<std::int64_t>(path.size())), rows);
}

TEST(MergePath, SearchAgreesWithAWalk) {
  for (const auto& lengths : all_lengths()) {
    expect_search_to_agree_with_a_walk<std::int32_t>(lengths);
    expect_search_to_agree_with_a_walk<std::int64_t>(lengths);
  }
}

TEST(MergePath, BitsAreReadAcrossWords) {
  const std::vector<std::uint32_t> path{0x80000001U, 0x00000005U, 0xffffffffU};
  EXPECT_EQ(path_bits(path.data(), 0, 15), 1U);
  EXPECT_EQ(path_bits(path.data(), 31, 4), 0b1011U);
  EXPECT_EQ(path_bits(path.data(), 32, 3), 0b101U);
  EXPECT_EQ(path_bits(path.data(), 60, 7), 0b1110000U);
}

// The path of a matrix in words, filled up to whole tiles by ends of rows that do not exist.
std::vector<std::uint32_t> words_of(const std::vector<std::int64_t>& row_ptr, std::int64_t tile_steps) {
  const auto rows = static_cast<std::int64_t>(row_ptr.size()) - 1;
  const auto steps = rows + row_ptr.back();
  const auto filled = (steps + tile_steps - 1) / tile_steps * tile_steps;
  std::vector<std::uint32_t> path(static_cast<std::size_t>(path_words(filled)), 0);
  const auto end_row_at = [&](std::int64_t step) { path[static_cast<std::size_t>(step / 32)] |= 1U << (step % 32); };
  for (std::int64_t row = 0; row < rows; ++row) end_row_at(end_step(row_ptr.data(), row));
  for (auto step = steps; step < filled; ++step) end_row_at(step);
  return path;
}

// Sums of rows, in tiles of 32 lanes with Items steps each, as the kernel does it. Products are small integers, so that
// sums are exact in any order.
template <int Items>
std::vector<double> sums_along_path(const Lengths& lengths, const std::vector<double>& products) {
  constexpr int lanes = 32;
  constexpr std::int64_t tile_steps = lanes * Items;
  const auto row_ptr = offsets_of<std::int64_t>(lengths);
  const auto path = words_of(row_ptr, tile_steps);
  std::vector<double> sums(lengths.size(), -1);
  std::size_t row = 0;
  std::size_t nonzero = 0;
  double carry = 0;
  for (std::int64_t tile = 0; row < lengths.size(); ++tile) {
    const auto* tile_path = path.data() + tile * Items;
    std::array<std::uint32_t, lanes> bits;
    for (int lane = 0; lane < lanes; ++lane) {
      bits[static_cast<std::size_t>(lane)] = path_bits(tile_path, lane * Items, Items);
    }
    const int ends =
        std::accumulate(bits.begin(), bits.end(), 0, [](int sum, auto b) { return sum + std::popcount(b); });
    const int nonzeros = static_cast<int>(tile_steps) - ends;
    std::vector<double> slots(tile_steps, 1e300);
    for (int i = 0; i < nonzeros; ++i) slots[static_cast<std::size_t>(i)] = products[nonzero++];
    int rows_before = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      const auto lane_bits = bits[static_cast<std::size_t>(lane)];
      double product[Items];
      read_products(lane_bits, slots.data() + (lane * Items - rows_before), product);
      auto* row_sums = slots.data() + (nonzeros + rows_before);
      const double rest = sum_path(lane_bits, product, row_sums);
      if (lane_bits != 0) *row_sums += carry;
      carry = lane_bits != 0 ? rest : carry + rest;
      rows_before += std::popcount(lane_bits);
    }
    const double* ended = slots.data() + nonzeros;
    for (int i = 0; i < ends && row < sums.size(); ++i) sums[row++] = ended[i];
  }
  EXPECT_EQ(nonzero, products.size());
  return sums;
}

TEST(MergePath, AWalkInTilesSumsEveryRow) {
  for (const auto& lengths : all_lengths()) {
    std::vector<double> products;
    std::vector<double> expected;
    for (const auto length : lengths) {
      double sum = 0;
      for (std::int64_t k = 0; k < length; ++k) {
        products.push_back(static_cast<double>(products.size() % 1009) - 400);
        sum += products.back();
      }
      expected.push_back(sum);
    }
    EXPECT_EQ(sums_along_path<3>(lengths, products), expected);
    EXPECT_EQ(sums_along_path<7>(lengths, products), expected);
    EXPECT_EQ(sums_along_path<11>(lengths, products), expected);
    EXPECT_EQ(sums_along_path<15>(lengths, products), expected);
  }
}

TEST(MergePath, ACrossingReachesAsFarAsItsRow) {
  for (const auto& lengths : all_lengths()) {
    const auto row_ptr = offsets_of<std::int64_t>(lengths);
    const auto rows = static_cast<std::int64_t>(lengths.size());
    const auto steps = rows + row_ptr.back();
    for (const std::int64_t block_steps : {96, 384}) {
      const auto blocks = static_cast<std::int32_t>((steps + block_steps - 1) / block_steps);
      const auto row_at = [&](std::int32_t b) { return rows_ended(row_ptr.data(), rows, b * block_steps); };
      for (std::int32_t boundary = 1; boundary < blocks; ++boundary) {
        const auto row = row_at(boundary);
        std::int32_t first = boundary;
        while (first > 1 && row_at(first - 1) == row) --first;
        std::int32_t last = boundary;
        while (last + 1 < blocks && row_at(last + 1) == row) ++last;
        const auto crossing = crossing_of(row_ptr.data(), row, block_steps, blocks);
        EXPECT_EQ(crossing.first, first);
        EXPECT_EQ(crossing.last, last);
      }
    }
  }
}

}  // namespace
}  // namespace autospmv::formats
