#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

#include "core/machine/parallel.hpp"
#include "core/search.hpp"
#include "features/host/positions.hpp"
#include "features/host/reading.hpp"

namespace autospmv::host {

namespace {

Tally merge(Tally a, const Tally& b) {
  add_words(a.sums, b.sums);
  add_words(a.short_rows, b.short_rows);
  auto maxima = b.maxima;
  for (int i = 0; i < count_words<Maxima>(); ++i) {
    words_of(a.maxima)[i] = std::max(words_of(a.maxima)[i], words_of(maxima)[i]);
  }
  return a;
}

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
    // Every slice is made of some of the least size.
    std::array<Offset, largest_slice / slice_sizes.front()> longest{};
    for (std::int64_t i = first; i < last; ++i) {
      auto& of_slice = longest[static_cast<std::size_t>((i - first) / slice_sizes.front())];
      of_slice = std::max(of_slice, length(i));
      count_length(static_cast<std::int64_t>(length(i)));
    }
    for (std::size_t s = 0; s < slice_sizes.size(); ++s) {
      const auto parts = static_cast<std::size_t>(slice_sizes[s] / slice_sizes.front());
      for (std::size_t part = 0; part < longest.size(); part += parts) {
        const auto row = first + static_cast<std::int64_t>(part) * slice_sizes.front();
        const auto rows = std::clamp<std::int64_t>(last - row, 0, slice_sizes[s]);
        const auto most = *std::max_element(longest.begin() + part, longest.begin() + part + parts);
        tally_.sums.sliced_slots[s] += static_cast<Count>(most) * static_cast<Count>(rows);
      }
    }
    if (pattern_.col_idx == nullptr) return;
    for (std::int64_t i = first; i < last; i += span_slice) read_span(i, std::min(i + span_slice, last));
  }

  void count_length(std::int64_t npr) {
    if (npr < long_row) {
      ++tally_.short_rows[static_cast<std::size_t>(npr)];
    } else {
      long_rows_.add(npr);
    }
  }

  void read_span(std::int64_t first, std::int64_t last) {
    PositionCounts counts;
    std::int64_t row = first;
    const auto end = static_cast<std::int64_t>(pattern_.row_ptr[last]);
    for (auto begin = static_cast<std::int64_t>(pattern_.row_ptr[first]); begin < end;) {
      const auto count = std::min<std::int64_t>(end - begin, most_nonzeros);
      read_nonzeros(begin, count, first, row, counts);
      begin += count;
    }
    tally_.sums.asymmetry += counts.asymmetry;
    tally_.sums.descents += counts.descents;
    if (counts.columns.empty()) return;
    widen(tally_.maxima.lower_bandwidth, first - counts.diagonals.smallest);
    widen(tally_.maxima.upper_bandwidth, counts.diagonals.largest - first);
    ++tally_.sums.spanned_slices;
    tally_.sums.span += counts.columns.width();
    tally_.maxima.span = std::max(tally_.maxima.span, counts.columns.width());
  }

  // `row` is that of the first of these nonzeros, or one before it; then that of the last.
  void read_nonzeros(std::int64_t begin, std::int64_t count, std::int64_t first, std::int64_t& row,
                     PositionCounts& counts) {
    const std::int64_t end = begin + count;
    for (std::int64_t k = begin; k < end;) {
      while (static_cast<std::int64_t>(pattern_.row_ptr[row + 1]) <= k) ++row;
      const auto row_end = std::min(end, static_cast<std::int64_t>(pattern_.row_ptr[row + 1]));
      const auto step = static_cast<std::int32_t>(row - first);
      for (; k < row_end; k += at_once) std::fill_n(rows_.begin() + (k - begin), at_once, step);
      k = row_end;
    }
    const Nonzeros nonzeros{first, rows_.data(), pattern_.col_idx + begin, count};
    // Of a row that is read in pieces, the first nonzero of a piece comes after the last of the one before.
    const auto row_of_first = first + rows_.front();
    if (begin > static_cast<std::int64_t>(pattern_.row_ptr[row_of_first]) &&
        pattern_.col_idx[begin - 1] >= pattern_.col_idx[begin]) {
      ++counts.descents;
    }
    count_positions(nonzeros, pattern_.rows == pattern_.cols, counts);
    diagonals_.see(nonzeros);
  }

  static void widen(Count& bandwidth, std::int64_t distance) {
    bandwidth = std::max(bandwidth, static_cast<Count>(std::max<std::int64_t>(distance, 0)));
  }

  [[nodiscard]] Offset length(std::int64_t i) const { return pattern_.row_ptr[i + 1] - pattern_.row_ptr[i]; }

  // They and their columns stay in the first-level cache.
  static constexpr std::int64_t most_nonzeros = 2048;
  // Rows are filled in by so many entries, be they fewer: the next row overwrites what is too many.
  static constexpr std::int64_t at_once = 16;

  Pattern<Offset> pattern_;
  Diagonals& diagonals_;
  LongRows& long_rows_;
  Tally tally_;
  std::array<std::int32_t, most_nonzeros + at_once> rows_;
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

}  // namespace

template <class Offset>
RowReading read_rows(const Pattern<Offset>& pattern) {
  const bool with_columns = pattern.col_idx != nullptr;
  Diagonals diagonals(with_columns ? pattern.rows : 0, with_columns ? pattern.cols : 0);
  LongRows long_rows(pattern.nnz);
  const auto read_share = [&](Share share) {
    return RowReader<Offset>(pattern, diagonals, long_rows)
        .read(row_after(pattern, share.first), row_after(pattern, share.last));
  };
  RowReading reading{parallel_reduce(pattern.rows + pattern.nnz, Tally{}, read_share, merge), long_rows.take()};
  reading.tally.sums.diagonals = static_cast<Count>(diagonals.count());
  return reading;
}

template RowReading read_rows(const Pattern<std::int32_t>&);
template RowReading read_rows(const Pattern<std::int64_t>&);

}  // namespace autospmv::host
