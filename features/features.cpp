#include "features/features.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/parallel.hpp"
#include "core/search.hpp"
#include "features/cuda/features.hpp"
#include "features/tally.hpp"
#include "features/value_set.hpp"

namespace autospmv {

namespace {

using Columns = std::span<const std::int32_t>;

template <class Counts>
void add_words(Counts& to, Counts from) {
  for (int i = 0; i < count_words<Counts>(); ++i) words_of(to)[i] += words_of(from)[i];
}

Tally merge(Tally a, const Tally& b) {
  add_words(a.sums, b.sums);
  add_words(a.short_rows, b.short_rows);
  auto maxima = b.maxima;
  for (int i = 0; i < count_words<Maxima>(); ++i) {
    words_of(a.maxima)[i] = std::max(words_of(a.maxima)[i], words_of(maxima)[i]);
  }
  return a;
}

/// Smallest and largest column of some rows; empty where `largest` is below `smallest`.
struct Span {
  std::int32_t smallest = std::numeric_limits<std::int32_t>::max();
  std::int32_t largest = -1;

  [[nodiscard]] bool empty() const { return largest < smallest; }
  [[nodiscard]] Count width() const { return static_cast<Count>(largest - smallest); }
  void include(Span other) {
    smallest = std::min(smallest, other.smallest);
    largest = std::max(largest, other.largest);
  }
};

Span span_of(Columns columns) {
  Span span;
  for (const std::int32_t j : columns) span.include({j, j});
  return span;
}

Count descents_of(Columns columns) {
  unsigned descents = 0;
  for (std::size_t k = 1; k < columns.size(); ++k) descents += columns[k - 1] >= columns[k] ? 1U : 0U;
  return descents;
}

void count_asymmetry(std::int64_t i, Columns columns, Sums& sums) {
  Count sum = 0;
  for (const std::int32_t j : columns) sum += asymmetry_of(i, j);
  sums.asymmetry += sum;
}

/// The diagonals seen by all threads, counted until there are too many of them.
class Diagonals {
 public:
  Diagonals(std::int64_t rows, std::int64_t cols) : rows_(rows), seen_(static_cast<std::size_t>(rows + cols)) {}

  void see(std::int64_t i, Columns columns) {
    if (count_.load(std::memory_order_relaxed) > diagonals_cap) return;
    auto* const seen = seen_.data() + (rows_ - 1 - i);
    for (const std::int32_t j : columns) {
      // Most diagonals are met again and again: only the first meeting writes.
      const std::atomic_ref<std::uint8_t> flag(seen[j]);
      if (flag.load(std::memory_order_relaxed) == 0 && flag.exchange(1, std::memory_order_relaxed) == 0) {
        count_.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  [[nodiscard]] std::int64_t count() const { return count_.load(); }

 private:
  std::int64_t rows_;
  std::vector<std::uint8_t> seen_;
  std::atomic<std::int64_t> count_ = 0;
};

/// The lengths of the rows that are not counted by their length, in the order in which threads meet them.
class LongRows {
 public:
  explicit LongRows(std::int64_t nnz) : lengths_(static_cast<std::size_t>(nnz / long_row)) {}

  void add(std::int64_t length) { lengths_[count_.fetch_add(1, std::memory_order_relaxed)] = length; }
  [[nodiscard]] std::vector<std::int64_t> take() {
    lengths_.resize(count_.load());
    return std::move(lengths_);
  }

 private:
  std::vector<std::int64_t> lengths_;
  std::atomic<std::size_t> count_ = 0;
};

/// Reads rows, each once, and counts everything but blocks and values; of a pattern without columns, lengths only.
template <class Offset>
class RowReader {
 public:
  RowReader(const Pattern<Offset>& pattern, Diagonals& diagonals, LongRows& long_rows)
      : pattern_(pattern), diagonals_(diagonals), long_rows_(long_rows) {}

  /// Rows [first, last), where first is a multiple of largest_slice.
  Tally read(std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; i += largest_slice) read_slice(i, std::min(i + largest_slice, last));
    return tally_;
  }

 private:
  void read_slice(std::int64_t first, std::int64_t last) {
    for (std::size_t s = 0; s < slice_sizes.size(); ++s) {
      for (std::int64_t i = first; i < last; i += slice_sizes[s]) {
        tally_.sums.sliced_slots[s] += slots(i, std::min(i + slice_sizes[s], last));
      }
    }
    for (std::int64_t i = first; i < last; i += span_slice) read_span(i, std::min(i + span_slice, last));
  }

  [[nodiscard]] Count slots(std::int64_t first, std::int64_t last) const {
    Offset longest = 0;
    for (std::int64_t i = first; i < last; ++i) longest = std::max(longest, length(i));
    return static_cast<Count>(longest) * static_cast<Count>(last - first);
  }

  void read_span(std::int64_t first, std::int64_t last) {
    Span span;
    for (std::int64_t i = first; i < last; ++i) span.include(read_row(i));
    if (span.empty()) return;
    ++tally_.sums.spanned_slices;
    tally_.sums.span += span.width();
    tally_.maxima.span = std::max(tally_.maxima.span, span.width());
  }

  Span read_row(std::int64_t i) {
    const auto npr = static_cast<std::int64_t>(length(i));
    if (npr < long_row) {
      ++tally_.short_rows[static_cast<std::size_t>(npr)];
    } else {
      long_rows_.add(npr);
    }
    if (npr == 0 || pattern_.col_idx == nullptr) return {};
    const Columns columns(pattern_.col_idx + pattern_.row_ptr[i], static_cast<std::size_t>(npr));
    tally_.sums.descents += descents_of(columns);
    diagonals_.see(i, columns);
    if (pattern_.rows == pattern_.cols) count_asymmetry(i, columns, tally_.sums);
    const Span span = span_of(columns);
    widen(tally_.maxima.lower_bandwidth, i - span.smallest);
    widen(tally_.maxima.upper_bandwidth, span.largest - i);
    return span;
  }

  static void widen(Count& bandwidth, std::int64_t distance) {
    bandwidth = std::max(bandwidth, static_cast<Count>(std::max<std::int64_t>(distance, 0)));
  }

  [[nodiscard]] Offset length(std::int64_t i) const { return pattern_.row_ptr[i + 1] - pattern_.row_ptr[i]; }

  Pattern<Offset> pattern_;
  Diagonals& diagonals_;
  LongRows& long_rows_;
  Tally tally_;
};

/// The first row, a multiple of largest_slice or the end, before which there are `work` rows and nonzeros or more:
/// equal shares of work make equal shares of time, be a row empty or dense.
template <class Offset>
std::int64_t row_after(const Pattern<Offset>& pattern, std::int64_t work) {
  const auto row_of = [&](std::int64_t slice) { return std::min(slice * largest_slice, pattern.rows); };
  const std::int64_t slices = (pattern.rows + largest_slice - 1) / largest_slice;
  return row_of(partition_point(std::int64_t{0}, slices, [&](std::int64_t slice) {
    return row_of(slice) + static_cast<std::int64_t>(pattern.row_ptr[row_of(slice)]) < work;
  }));
}

template <class Offset>
Tally read_rows(const Pattern<Offset>& pattern, Diagonals& diagonals, LongRows& long_rows) {
  const auto read_share = [&](Share share) {
    return RowReader<Offset>(pattern, diagonals, long_rows)
        .read(row_after(pattern, share.first), row_after(pattern, share.last));
  };
  return parallel_reduce(pattern.rows + pattern.nnz, Tally{}, read_share, merge);
}

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
Count diagonals_of_slice(const Pattern<Offset>& pattern, std::int64_t first, std::int64_t last) {
  ValueSet met;
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

/// What is read of a sample of the rows.
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
    // Shares of groups, so that no block row is torn apart.
    const auto groups = share_of(sample.taken, thread, std::min(threads, workers));
    const std::int64_t last = std::min(groups.last * RowSample::group_rows, sample.size());
    for (std::int64_t position = groups.first * RowSample::group_rows; position < last; ++position) {
      const std::int64_t i = sample.row(position);
      const auto npr = static_cast<std::size_t>(pattern.row_ptr[i + 1] - pattern.row_ptr[i]);
      counter.count_row(position, {pattern.col_idx + pattern.row_ptr[i], npr}, sums);
      if (position % span_slice != 0) continue;
      const Count met = diagonals_of_slice(pattern, i, std::min(i + span_slice, pattern.rows));
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

struct ValueTally {
  ValueSet distinct;
  bool inexact = false;
};

template <class T>
ValueTally read_values(std::span<const T> values) {
  ValueTally tally;
  std::size_t k = 0;
  // A value met before has been judged before.
  for (; k < values.size() && !tally.distinct.over_cap(); ++k) {
    if (tally.distinct.insert(bits_of(values[k])) && !survives_float(values[k])) tally.inexact = true;
  }
  for (; k < values.size() && !tally.inexact; ++k) tally.inexact = !survives_float(values[k]);
  return tally;
}

template <class T>
void count_values(std::span<const T> values, Sums& sums) {
  const auto read_share = [&](Share share) {
    return read_values(
        values.subspan(static_cast<std::size_t>(share.first), static_cast<std::size_t>(share.last - share.first)));
  };
  const auto unite = [](ValueTally a, const ValueTally& b) {
    a.distinct.unite(b.distinct);
    a.inexact = a.inexact || b.inexact;
    return a;
  };
  const auto tally = parallel_reduce(static_cast<std::int64_t>(values.size()), ValueTally{}, read_share, unite);
  sums.distinct_values = static_cast<Count>(tally.distinct.count());
  sums.zero_values = tally.distinct.has_zero() ? 1 : 0;
  sums.inexact_values = tally.inexact ? 1 : 0;
}

template <class T, class Offset>
Features extract_on_host(const CsrView<T>& matrix, const Offset* row_ptr) {
  const Pattern<Offset> pattern{matrix.rows, matrix.cols, matrix.nnz, row_ptr, matrix.col_idx};
  Diagonals diagonals(matrix.rows, matrix.cols);
  LongRows long_rows(matrix.nnz);
  Tally tally = read_rows(pattern, diagonals, long_rows);
  tally.sums.diagonals = static_cast<Count>(diagonals.count());
  if (matrix.nnz > 0) {
    add_words(tally.sums, read_sample(pattern));
    count_values(std::span<const T>(matrix.values, static_cast<std::size_t>(matrix.nnz)), tally.sums);
  }
  return finish(tally, matrix.rows, matrix.cols, matrix.nnz, long_rows.take());
}

template <class T, class Offset>
Features extract_rows_on_host(const CsrView<T>& matrix, const Offset* row_ptr) {
  const Pattern<Offset> pattern{matrix.rows, matrix.cols, matrix.nnz, row_ptr, nullptr};
  Diagonals none(0, 0);
  LongRows long_rows(matrix.nnz);
  const Tally tally = read_rows(pattern, none, long_rows);
  return finish_rows(tally, matrix.rows, matrix.cols, matrix.nnz, long_rows.take());
}

}  // namespace

template <class T>
Features extract_features(const CsrView<T>& matrix, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::extract_features(matrix, place);
  }
  return std::visit([&](const auto* row_ptr) { return extract_on_host(matrix, row_ptr); }, matrix.row_ptr);
}

template <class T>
Features extract_row_features(const CsrView<T>& matrix, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::extract_row_features(matrix, place);
  }
  return std::visit([&](const auto* row_ptr) { return extract_rows_on_host(matrix, row_ptr); }, matrix.row_ptr);
}

template <class T>
Features extract_value_features(const CsrView<T>& matrix, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::extract_value_features(matrix, place);
  }
  Tally tally;
  count_values(std::span<const T>(matrix.values, static_cast<std::size_t>(matrix.nnz)), tally.sums);
  return finish(tally, matrix.rows, matrix.cols, matrix.nnz, {});
}

#define AUTOSPMV_EXTRACT(T)                                         \
  template Features extract_features(const CsrView<T>&, Place);     \
  template Features extract_row_features(const CsrView<T>&, Place); \
  template Features extract_value_features(const CsrView<T>&, Place);
AUTOSPMV_EXTRACT(float)
AUTOSPMV_EXTRACT(double)
#undef AUTOSPMV_EXTRACT

}  // namespace autospmv
