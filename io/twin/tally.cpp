#include "io/twin/tally.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "io/twin.hpp"

namespace autospmv {

namespace twin {

void Tally::add(std::span<const std::int32_t> row, const std::span<const std::int32_t>* next) {
  if (row.empty()) return;
  ++rows;
  nnz += std::ssize(row);
  ++runs;
  for (std::size_t k = 1; k < row.size(); ++k) runs += static_cast<std::int64_t>(row[k] != row[k - 1] + 1);
  spans += row.back() - row.front();
  if (next == nullptr) return;
  ++pairs;
  std::int64_t close = 0;
  auto other = next->begin();
  for (const auto col : row) {
    while (other != next->end() && *other < col - 1) ++other;
    if (other == next->end()) break;
    close += static_cast<std::int64_t>(*other - 1 <= col);
  }
  similarities += static_cast<double>(close) / static_cast<double>(row.size());
}

Tally tally_rows(std::span<const std::int64_t> row_ptr, const std::int32_t* col_idx, std::int64_t origin, Share share,
                 std::int64_t rows) {
  const auto row = [&](std::int64_t r) {
    return std::span(col_idx + row_ptr[r] - row_ptr[origin], static_cast<std::size_t>(row_ptr[r + 1] - row_ptr[r]));
  };
  Tally tally;
  for (std::int64_t r = share.first; r < share.last; ++r) {
    const auto next = r + 1 < rows ? row(r + 1) : std::span<const std::int32_t>();
    tally.add(row(r), r + 1 < rows ? &next : nullptr);
  }
  return tally;
}

}  // namespace twin

TwinFeatures twin_features(std::int64_t cols, std::span<const std::int64_t> row_ptr,
                           std::span<const std::int32_t> col_idx) {
  const std::int64_t rows = std::ssize(row_ptr) - 1;
  const std::int64_t nnz = row_ptr.back();
  if (nnz == 0) return {};
  const double mean = static_cast<double>(nnz) / static_cast<double>(rows);
  std::int64_t longest = 0;
  double squares = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t npr = row_ptr[r + 1] - row_ptr[r];
    longest = std::max(longest, npr);
    squares += (static_cast<double>(npr) - mean) * (static_cast<double>(npr) - mean);
  }
  const auto tally = parallel_reduce(
      rows, twin::Tally{}, [&](Share share) { return twin::tally_rows(row_ptr, col_idx.data(), 0, share, rows); },
      std::plus<>());
  return {.npr_mean = mean,
          .npr_std = std::sqrt(squares / static_cast<double>(rows)),
          .skew = static_cast<double>(longest) / mean - 1,
          .bandwidth = static_cast<double>(tally.spans) / static_cast<double>(tally.rows) / static_cast<double>(cols),
          .neighbours = 2 * (1 - static_cast<double>(tally.runs) / static_cast<double>(nnz)),
          .similarity = twin::ratio(tally.similarities, static_cast<double>(tally.pairs))};
}

}  // namespace autospmv
