// What a sample of the rows holds of blocks and of diagonals.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

#include "core/machine/parallel.hpp"
#include "core/verify/random.hpp"
#include "features/host/reading.hpp"
#include "features/value_set.hpp"

namespace autospmv::host {

namespace {

/// Counts different numbers by a hash table that is no larger than they ask for, however many columns there are: new
/// memory takes longer to get than a sample to read.
class BlockColumns {
 public:
  /// Different block columns, of `b` columns each, among these.
  Count count(std::span<const std::int32_t> columns, int b) {
    constexpr std::int32_t none = -1;
    slots_.assign(std::bit_ceil(2 * columns.size() + 1), none);
    const auto mask = slots_.size() - 1;
    Count met = 0;
    for (const std::int32_t j : columns) {
      const std::int32_t block = j / b;
      auto slot = static_cast<std::size_t>(mix64(static_cast<std::uint64_t>(block))) & mask;
      while (slots_[slot] != none && slots_[slot] != block) slot = (slot + 1) & mask;
      if (slots_[slot] == none) ++met;
      slots_[slot] = block;
    }
    return met;
  }

 private:
  std::vector<std::int32_t> slots_;
};

/// The diagonals that the rows [first, last) meet, up to slice_diagonals_cap + 1.
template <class Offset>
Count diagonals_of_slice(const Pattern<Offset>& pattern, std::int64_t first, std::int64_t last, ValueSet& met) {
  met.clear();
  for (std::int64_t i = first; i < last; ++i) {
    for (auto k = pattern.row_ptr[i]; k < pattern.row_ptr[i + 1] && !met.over_cap(); ++k) {
      met.insert(diagonal_key(pattern.rows, i, pattern.col_idx[k]));
    }
  }
  return static_cast<Count>(met.count());
}

}  // namespace

template <class Offset>
Sums read_sample(const Pattern<Offset>& pattern) {
  const auto sample = RowSample::of(pattern.rows, pattern.nnz);
  const auto read_groups = [&](Share groups) {
    Sums sums;
    BlockColumns blocks;
    ValueSet diagonals;
    for (auto group = groups.first; group < groups.last; ++group) {
      // Its rows follow one another.
      const auto first = sample.row(group * RowSample::group_rows);
      const auto last = std::min(first + RowSample::group_rows, pattern.rows);
      const auto columns_of = [&](std::int64_t row, std::int64_t rows) {
        const auto begin = pattern.row_ptr[row];
        const auto end = pattern.row_ptr[std::min(row + rows, last)];
        return std::span(pattern.col_idx + begin, static_cast<std::size_t>(end - begin));
      };
      sums.sampled_nnz += columns_of(first, last - first).size();
      for (std::size_t s = 0; s < block_sizes.size(); ++s) {
        const int b = block_sizes[s];
        for (auto row = first; row < last; row += b) sums.blocks[s] += blocks.count(columns_of(row, b), b);
      }
      for (auto row = first; row < last; row += span_slice) {
        const Count met = diagonals_of_slice(pattern, row, std::min(row + span_slice, last), diagonals);
        sums.slice_diagonals += met;
        sums.met_slices += met > 0 ? 1 : 0;
      }
    }
    return sums;
  };
  const auto add = [](Sums a, const Sums& b) {
    add_words(a, b);
    return a;
  };
  return parallel_reduce(sample.taken, Sums{}, read_groups, add,
                         std::max<std::int64_t>(1, pattern.nnz / std::max<std::int64_t>(1, sample.groups)));
}

template Sums read_sample(const Pattern<std::int32_t>&);
template Sums read_sample(const Pattern<std::int64_t>&);

}  // namespace autospmv::host
