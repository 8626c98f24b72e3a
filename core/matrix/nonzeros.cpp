#include "core/matrix/nonzeros.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "core/machine/parallel.hpp"

namespace autospmv {

void expand_rows(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, std::int32_t* row_of) {
  with_offsets(row_ptr, [&](const auto* offsets) {
    parallel_region(nnz + rows, [&](int thread, int threads) {
      const auto [first, last] = rows_of_share(offsets, {0, rows}, thread, threads);
      for (auto row = first; row < last; ++row) {
        std::fill(row_of + offsets[row], row_of + offsets[row + 1], static_cast<std::int32_t>(row));
      }
    });
  });
}

std::vector<std::uint32_t> sort_by_column(const std::int32_t* col_idx, std::int64_t first, std::int64_t last,
                                          std::int64_t cols) {
  // Digit by digit, the lowest first; the counters of one stay in the nearest cache.
  constexpr int digit_bits = 11;
  constexpr std::size_t digits = std::size_t{1} << digit_bits;
  std::vector<std::uint32_t> sorted(static_cast<std::size_t>(last - first));
  std::iota(sorted.begin(), sorted.end(), static_cast<std::uint32_t>(first));
  std::vector<std::uint32_t> next_sorted(sorted.size());
  for (int shift = 0; (cols - 1) >> shift > 0; shift += digit_bits) {
    const auto digit_of = [&](std::uint32_t nonzero) {
      return static_cast<std::size_t>(col_idx[nonzero] >> shift) % digits;
    };
    std::array<std::size_t, digits> next{};
    for (const auto nonzero : sorted) ++next[digit_of(nonzero)];
    std::size_t offset = 0;
    for (auto& count : next) offset += std::exchange(count, offset);
    for (const auto nonzero : sorted) next_sorted[next[digit_of(nonzero)]++] = nonzero;
    sorted.swap(next_sorted);
  }
  return sorted;
}

}  // namespace autospmv
