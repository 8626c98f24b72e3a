// Columns renumbered by how often they occur, alone: a permutation of those that do, the most frequent first.

#include "formats/csr/csr_merge/hub_columns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/matrix/matrix_data.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

std::vector<std::int64_t> counts_of(const HostCsr<double>& source) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(source.cols), 0);
  for (const auto column : source.col_idx) ++counts[static_cast<std::size_t>(column)];
  return counts;
}

std::vector<std::int32_t> columns_at(const std::int32_t* columns, std::size_t size, Place place) {
  std::vector<std::int32_t> copy(size);
  copy_bytes(copy.data(), columns, size * sizeof(std::int32_t), place, setup_stream(place));
  synchronize(place, setup_stream(place));
  return copy;
}

void expect_renumbered(const HostCsr<double>& source, const Device& device) {
  SCOPED_TRACE(name_of(device.backend));
  const auto matrix = Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
  const formats::HubColumns<double> hub(data_of(matrix).on(device), device, setup_stream(device));
  const auto counts = counts_of(source);
  const auto count_of = [&](std::int32_t column) { return counts[static_cast<std::size_t>(column)]; };
  const auto order = hub.order().to_vector();
  const auto used = std::count_if(counts.begin(), counts.end(), [](auto count) { return count > 0; });
  ASSERT_EQ(static_cast<std::int64_t>(order.size()), used);
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const auto count = count_of(order[i]);
    const auto next = count_of(order[i + 1]);
    EXPECT_TRUE(count > next || (count == next && order[i] < order[i + 1])) << "at " << i;
  }
  const auto columns = columns_at(hub.columns(), source.col_idx.size(), device);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    ASSERT_EQ(order[static_cast<std::size_t>(columns[k])], source.col_idx[k]);
  }
  const auto x = make_x<double>(source.cols, Entries::finite, 3);
  const auto x_there = Array<double>::copy_of(x, device);
  auto reordered = hub.make_x();
  hub.reorder(x_there.data(), reordered, setup_stream(device));
  const auto copy = reordered.to_vector();
  ASSERT_EQ(copy.size(), order.size());
  for (std::size_t i = 0; i < copy.size(); ++i) EXPECT_EQ(copy[i], x[static_cast<std::size_t>(order[i])]);
}

TEST(HubColumns, FrequentColumnsComeFirst) {
  for (const auto& device : devices()) {
    expect_renumbered(generate<double>("gen:rmat:11"), device);
    expect_renumbered(from_lengths<double>(
                          3000, 500, [](std::int64_t row) { return row % 9; }, 37),
                      device);
  }
}

TEST(HubColumns, AMatrixWithoutNonzerosHasNoColumns) {
  for (const auto& device : devices()) {
    expect_renumbered(from_lengths<double>(10, 20, [](auto) { return std::int64_t{0}; }), device);
    expect_renumbered(from_lengths<double>(10, 0, [](auto) { return std::int64_t{0}; }), device);
  }
}

}  // namespace
}  // namespace autospmv::testing
