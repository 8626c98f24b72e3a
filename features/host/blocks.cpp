// What a sample of the rows holds of blocks and of diagonals.
#include <omp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/machine/parallel.hpp"
#include "features/host/reading.hpp"
#include "features/value_set.hpp"

namespace autospmv::host {

namespace {

using Columns = std::span<const std::int32_t>;

/// For every size of blocks, the last block row in which each block column held a nonzero. Finds the first nonzero of
/// a block whatever the order of the columns.
class BlockStamps {
 public:
  static std::size_t size_for(std::int64_t cols) {
    std::size_t size = 0;
    for (const int b : block_sizes) size += columns_of(cols, b);
    return size;
  }

  /// `storage` has size_for(cols) elements, all 0.
  BlockStamps(std::uint32_t* storage, std::int64_t cols) {
    for (std::size_t s = 0; s < block_sizes.size(); ++s) {
      stamps_[s] = storage;
      storage += columns_of(cols, block_sizes[s]);
    }
  }

  /// One row, at a position in the sample that tells its block rows from all others.
  void count_row(std::int64_t position, Columns columns, Sums& sums) {
    count_row(position, columns, sums, std::make_index_sequence<block_sizes.size()>());
  }

 private:
  static std::size_t columns_of(std::int64_t cols, int b) { return static_cast<std::size_t>((cols + b - 1) / b); }

  template <std::size_t... S>
  void count_row(std::int64_t position, Columns columns, Sums& sums, std::index_sequence<S...> /*sizes*/) {
    const auto stamps = stamps_;
    const std::array<std::uint32_t, sizeof...(S)> block_row = {
        static_cast<std::uint32_t>(position / block_sizes[S] + 1)...};
    std::array<Count, sizeof...(S)> blocks{};
    for (const std::int32_t j : columns) {
      ((blocks[S] += first_in<block_sizes[S]>(stamps[S], static_cast<std::uint32_t>(j), block_row[S])), ...);
    }
    ((sums.blocks[S] += blocks[S]), ...);
    sums.sampled_nnz += columns.size();
  }

  template <int b>
  static Count first_in(std::uint32_t* stamps, std::uint32_t column, std::uint32_t block_row) {
    auto& stamp = stamps[column / b];
    return std::exchange(stamp, block_row) != block_row ? 1 : 0;
  }

  std::array<std::uint32_t*, block_sizes.size()> stamps_{};
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

/// Only as many threads as keep their stamps together smaller than the pattern, but one at least.
int block_threads(std::int64_t nnz, std::size_t stamps) {
  const std::int64_t affordable = nnz / std::max<std::int64_t>(1, static_cast<std::int64_t>(stamps));
  return static_cast<int>(std::clamp<std::int64_t>(affordable, 1, std::max(1, omp_get_max_threads())));
}

}  // namespace

template <class Offset>
Sums read_sample(const Pattern<Offset>& pattern) {
  const auto sample = RowSample::of(pattern.rows, pattern.nnz);
  const auto stamps = BlockStamps::size_for(pattern.cols);
  const int workers = block_threads(pattern.nnz, stamps);
  std::vector<std::uint32_t> storage(stamps * static_cast<std::size_t>(workers));
  std::vector<Sums> partial(static_cast<std::size_t>(workers));
  const auto count_share = [&](int thread, int threads) {
    if (thread >= workers) return;
    const auto worker = static_cast<std::size_t>(thread);
    BlockStamps counter(storage.data() + worker * stamps, pattern.cols);
    Sums sums;
    ValueSet diagonals;
    // Shares of groups, so that no block row is torn apart.
    const auto groups = share_of(sample.taken, thread, std::min(threads, workers));
    const std::int64_t last = std::min(groups.last * RowSample::group_rows, sample.size());
    for (std::int64_t position = groups.first * RowSample::group_rows; position < last; ++position) {
      const std::int64_t i = sample.row(position);
      const auto npr = static_cast<std::size_t>(pattern.row_ptr[i + 1] - pattern.row_ptr[i]);
      counter.count_row(position, {pattern.col_idx + pattern.row_ptr[i], npr}, sums);
      if (position % span_slice != 0) continue;
      const Count met = diagonals_of_slice(pattern, i, std::min(i + span_slice, pattern.rows), diagonals);
      sums.slice_diagonals += met;
      sums.met_slices += met > 0 ? 1 : 0;
    }
    partial[worker] = sums;
  };
  parallel_region(pattern.nnz, count_share);
  Sums total;
  for (const auto& sums : partial) add_words(total, sums);
  return total;
}

template Sums read_sample(const Pattern<std::int32_t>&);
template Sums read_sample(const Pattern<std::int64_t>&);

}  // namespace autospmv::host
