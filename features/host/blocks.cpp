// What a sample of the rows holds of blocks and of diagonals.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/machine/parallel.hpp"
#include "core/verify/random.hpp"
#include "features/host/reading.hpp"
#include "features/value_set.hpp"

namespace autospmv::host {

namespace {

/// Counts the different block columns of one list of columns after the other.
class BlockColumns {
 public:
  /// Of `b` columns each, a constant: to divide by one is to multiply. Of a matrix of so many columns.
  template <std::int32_t b>
  Count count(std::span<const std::int32_t> columns, std::int64_t cols) {
    const auto blocks = static_cast<std::size_t>(cols / b + 1);
    return blocks <= most_marked ? count_by_marks<b>(columns, blocks) : count_by_hash<b>(columns);
  }

 private:
  // They stay in the second-level cache.
  static constexpr std::size_t most_marked = std::size_t{1} << 17;

  // With a mark of its own for each list, nothing is cleared after it.
  template <std::int32_t b>
  Count count_by_marks(std::span<const std::int32_t> columns, std::size_t blocks) {
    if (marks_.size() < blocks) marks_.resize(blocks, 0);
    if (++mark_ == 0) {
      std::ranges::fill(marks_, std::uint16_t{0});
      mark_ = 1;
    }
    Count met = 0;
    for (const std::int32_t j : columns) {
      auto& mark = marks_[static_cast<std::uint32_t>(j / b)];
      met += mark != mark_ ? 1 : 0;
      mark = mark_;
    }
    return met;
  }

  // A table no larger than the list asks for: new memory takes longer to get than a sample to read.
  template <std::int32_t b>
  Count count_by_hash(std::span<const std::int32_t> columns) {
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

  std::vector<std::uint16_t> marks_;  // of each block: of the last list that it was in
  std::uint16_t mark_ = 0;
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

/// Reads one group of the sample: its blocks of one size, or its diagonals.
template <class Offset>
class GroupReader {
 public:
  // Few long rows make few groups, and every thread is to take its part of one.
  static constexpr std::int64_t parts = block_sizes.size() + 1;

  explicit GroupReader(const Pattern<Offset>& pattern) : pattern_(pattern) {}

  void read(std::int64_t first_row, std::int64_t part) {
    first_ = first_row;
    last_ = std::min(first_ + RowSample::group_rows, pattern_.rows);
    read_part(part, std::make_index_sequence<block_sizes.size()>{});
  }
  [[nodiscard]] const Sums& sums() const { return sums_; }

 private:
  template <std::size_t... s>
  void read_part(std::int64_t part, std::index_sequence<s...> /*sizes*/) {
    const bool is_of_blocks = ((part == s && (count_blocks<s>(), true)) || ...);
    if (!is_of_blocks) count_diagonals();
  }

  template <std::size_t s>
  void count_blocks() {
    constexpr std::int32_t b = block_sizes[s];
    for (auto row = first_; row < last_; row += b) {
      sums_.blocks[s] += blocks_.count<b>(columns_of(row, b), pattern_.cols);
    }
  }

  void count_diagonals() {
    sums_.sampled_nnz += columns_of(first_, last_ - first_).size();
    for (auto row = first_; row < last_; row += span_slice) {
      const Count met = diagonals_of_slice(pattern_, row, std::min(row + span_slice, last_), diagonals_);
      sums_.slice_diagonals += met;
      sums_.met_slices += met > 0 ? 1 : 0;
    }
  }

  // Of rows of this group, which follow one another.
  [[nodiscard]] std::span<const std::int32_t> columns_of(std::int64_t row, std::int64_t rows) const {
    const auto begin = pattern_.row_ptr[row];
    const auto end = pattern_.row_ptr[std::min(row + rows, last_)];
    return {pattern_.col_idx + begin, static_cast<std::size_t>(end - begin)};
  }

  Pattern<Offset> pattern_;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  BlockColumns blocks_;
  ValueSet diagonals_;
  Sums sums_;
};

}  // namespace

template <class Offset>
Sums read_sample(const Pattern<Offset>& pattern) {
  const auto sample = RowSample::of(pattern.rows, pattern.nnz);
  constexpr auto parts = GroupReader<Offset>::parts;
  const auto read_share = [&](Share share) {
    GroupReader<Offset> reader(pattern);
    for (auto at = share.first; at < share.last; ++at) {
      reader.read(sample.row(at / parts * RowSample::group_rows), at % parts);
    }
    return reader.sums();
  };
  const auto add = [](Sums a, const Sums& b) {
    add_words(a, b);
    return a;
  };
  return parallel_reduce(sample.taken * parts, Sums{}, read_share, add,
                         std::max<std::int64_t>(1, pattern.nnz / std::max<std::int64_t>(1, sample.groups * parts)));
}

template Sums read_sample(const Pattern<std::int32_t>&);
template Sums read_sample(const Pattern<std::int64_t>&);

}  // namespace autospmv::host
