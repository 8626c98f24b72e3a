// Bound: which rows lie in a fragment, and which of them in others as well.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "formats/csr/csr_bound/csr_bound.hpp"

namespace autospmv::testing {
namespace {

using formats::csr_bound::Bound;
using formats::csr_bound::Bounds;

std::vector<std::int64_t> offsets_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> offsets{0};
  for (const auto length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

std::vector<Bound> bounds_of(const std::vector<std::int64_t>& offsets, std::int64_t length) {
  const auto rows = static_cast<std::int64_t>(offsets.size()) - 1;
  const auto fragments = formats::csr_bound::count_fragments(offsets.back(), length);
  std::vector<Bound> bounds;
  for (std::int64_t fragment = 0; fragment < fragments; ++fragment) {
    bounds.push_back(formats::csr_bound::bound_of(offsets.data(), rows, fragments, length, fragment));
  }
  return bounds;
}

void expect_shares_out_all_rows(const std::vector<std::int64_t>& lengths, int length) {
  const auto offsets = offsets_of(lengths);
  const auto rows = bounds_of(offsets, length);
  const Bounds bounds{rows.data(), static_cast<std::int64_t>(rows.size()), length};
  EXPECT_EQ(rows.front().first, 0);
  EXPECT_EQ(rows.back().last + 1, static_cast<std::int64_t>(lengths.size()));
  for (std::int64_t fragment = 0; fragment < bounds.fragments; ++fragment) {
    const auto [first, last] = rows[static_cast<std::size_t>(fragment)];
    ASSERT_LE(first, last);
    const auto begin = fragment * length;
    const auto end = begin + length;
    EXPECT_EQ(bounds.begun_before(fragment), offsets[static_cast<std::size_t>(first)] < begin);
    EXPECT_EQ(bounds.goes_on(fragment), offsets[static_cast<std::size_t>(last) + 1] > end);
    if (fragment == 0) continue;
    EXPECT_EQ(bounds.begun_before(fragment), bounds.goes_on(fragment - 1));
    EXPECT_EQ(first, rows[static_cast<std::size_t>(fragment) - 1].last + (bounds.begun_before(fragment) ? 0 : 1));
  }
}

TEST(CsrBound, FragmentsShareOutAllRows) {
  for (const int length : {1, 2, 4, 7}) {
    SCOPED_TRACE(length);
    expect_shares_out_all_rows({3, 0, 3, 1}, length);              // the picture
    expect_shares_out_all_rows({0, 0, 0}, length);                 // no nonzeros
    expect_shares_out_all_rows({29}, length);                      // a row over all fragments
    expect_shares_out_all_rows({4, 4, 4, 4}, length);              // rows that end where fragments do
    expect_shares_out_all_rows({0, 0, 4, 0, 0, 4, 0, 0}, length);  // empty rows at the edges of fragments
    expect_shares_out_all_rows({1, 28, 0, 28, 1, 0}, length);      // long rows side by side
  }
}

TEST(CsrBound, IsThatOfThePicture) {
  const auto bounds = bounds_of(offsets_of({3, 0, 3, 1}), 4);
  ASSERT_EQ(bounds.size(), 2U);
  EXPECT_EQ(bounds[0].first, 0);
  EXPECT_EQ(bounds[0].last, 2);
  EXPECT_EQ(bounds[1].first, 2);
  EXPECT_EQ(bounds[1].last, 3);
}

}  // namespace
}  // namespace autospmv::testing
