// Which nonzeros a cut takes, the same on host and device: rules, the predicates they become, and the bits that keep
// what the predicates said.
#pragma once

#include <bit>
#include <cstdint>

#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"
#include "core/search.hpp"
#include "core/verify/random.hpp"
#include "features/features.hpp"

namespace autospmv::formats::cocktail {

/// The values of the parameter `parts`.
enum class Cut : std::int64_t { rows = 1, diagonals = 2, blocks = 3 };

struct CutRule {
  Cut cut = Cut::rows;
  std::int64_t least = 1;  ///< nonzeros of a row, a diagonal or a block that is cut out
  std::int64_t block = 1;  ///< blocks: b
  double saved = 1;        ///< diagonals and blocks: column indices that each nonzero in them does without
  double least_saved = 0;  ///< of all column indices, as a share: with fewer, as a sample says, nothing is cut out
};

/// What is copied into the parts: all of it at first, then whenever values change, the values.
enum class Entries : std::uint8_t { columns_and_values, values };

/// The nonzeros in which diagonals are counted and blocks are looked for: all of them, or `most` in short runs, one at
/// a random place of each of as many equal stretches. A handful of counters that every nonzero adds to would cost more
/// than the rest of the conversion; at regular distances, runs might always meet the same diagonals of rows that are
/// all alike.
struct NonzeroSample {
  static constexpr std::int64_t most = std::int64_t{1} << 17;
  static constexpr std::int64_t run = 32;
  static constexpr std::int64_t stretches = most / run;

  explicit NonzeroSample(std::int64_t nonzeros) : nnz(nonzeros), runs(nonzeros / run) {}

  [[nodiscard]] AUTOSPMV_HD bool complete() const { return nnz <= most; }
  [[nodiscard]] std::int64_t size() const { return complete() ? nnz : stretches * run; }
  /// The nonzero at a position in the sample.
  [[nodiscard]] AUTOSPMV_HD std::int64_t at(std::int64_t position) const {
    if (complete()) return position;
    const std::int64_t stretch = position / run;
    const std::int64_t first = stretch * runs / stretches;
    const std::int64_t last = (stretch + 1) * runs / stretches;
    const std::int64_t width = last > first ? last - first : 1;
    const auto chosen = random_bits(0, static_cast<std::uint64_t>(stretch)) % static_cast<std::uint64_t>(width);
    return (first + static_cast<std::int64_t>(chosen)) * run + position % run;
  }
  /// How many of `count` nonzeros are expected in the sample, rounded up.
  [[nodiscard]] std::int64_t share_of(std::int64_t count) const {
    return complete() ? count : (count * size() + nnz - 1) / nnz;
  }

  std::int64_t nnz;
  std::int64_t runs;
};

// ---- Predicates: whether nonzero k, which lies in `row`, is cut out.

template <class Offset>
struct InLongRow {
  const Offset* row_ptr;
  std::int64_t least;

  AUTOSPMV_HD bool operator()(std::int64_t row, std::int64_t /*k*/) const {
    return row_ptr[row + 1] - row_ptr[row] >= least;
  }
};

struct OnDenseDiagonal {
  const std::int32_t* col_idx;
  std::int64_t rows;
  const std::int32_t* counts;  ///< of the sample, by column - row + rows - 1
  std::int64_t least;          ///< in the sample

  [[nodiscard]] AUTOSPMV_HD std::int64_t diagonal(std::int64_t row, std::int64_t k) const {
    return col_idx[k] - row + rows - 1;
  }
  AUTOSPMV_HD bool operator()(std::int64_t row, std::int64_t k) const { return counts[diagonal(row, k)] >= least; }
};

/// Counts a block by searching the rows that it spans, which neighbouring nonzeros search too: no table of blocks,
/// of which a scattered matrix has as many as nonzeros, and no sort. Finds blocks where columns are sorted; where they
/// are not, what it finds makes two parts as well.
template <class Offset>
struct InDenseBlock {
  const Offset* row_ptr;
  const std::int32_t* col_idx;
  std::int64_t rows;
  std::int64_t block;
  std::int64_t least;

  AUTOSPMV_HD bool operator()(std::int64_t row_of_k, std::int64_t k) const {
    // Divisions and searches of 64 bits would cost more than all the rest.
    const auto size = static_cast<std::uint32_t>(block);
    const auto column = static_cast<std::uint32_t>(col_idx[k]);
    const auto first_column = static_cast<std::int32_t>(column - column % size);
    const auto first_row = row_of_k - static_cast<std::uint32_t>(row_of_k) % size;
    std::int64_t count = 0;
    for (std::int64_t row = first_row; row < first_row + block && row < rows; ++row) {
      const std::int32_t* const columns = col_idx + row_ptr[row];
      const auto length = static_cast<std::int32_t>(row_ptr[row + 1] - row_ptr[row]);
      const auto before = [&](std::int32_t i) { return columns[i] < first_column; };
      // Columns of a row differ, so it has at most `block` of them here.
      for (auto i = partition_point(0, length, before); i < length && columns[i] - first_column < block; ++i) ++count;
    }
    return count >= least;
  }
};

/// Calls body(predicate, row offsets) with the predicate of a rule. `counts` are of the sample, for diagonals only.
template <class T, class Body>
void with_predicate(const CsrView<T>& matrix, const CutRule& rule, const std::int32_t* counts, const Body& body) {
  with_offsets(matrix.row_ptr, [&]<class Offset>(const Offset* row_ptr) {
    if (rule.cut == Cut::rows) {
      body(InLongRow<Offset>{row_ptr, rule.least}, row_ptr);
    } else if (rule.cut == Cut::diagonals) {
      const auto least = NonzeroSample(matrix.nnz).share_of(rule.least);
      body(OnDenseDiagonal{matrix.col_idx, matrix.rows, counts, least}, row_ptr);
    } else {
      body(InDenseBlock<Offset>{row_ptr, matrix.col_idx, matrix.rows, rule.block, rule.least}, row_ptr);
    }
  });
}

// ---- What the predicates said.

struct MarksView {
  static constexpr std::int64_t word_bits = 32;

  const std::uint32_t* words;
  const std::int64_t* before;

  [[nodiscard]] AUTOSPMV_HD static std::int64_t bits_in(std::uint32_t word) {
#ifdef __CUDA_ARCH__
    return __popc(word);
#else
    return std::popcount(word);
#endif
  }
  [[nodiscard]] AUTOSPMV_HD bool cut_out(std::int64_t k) const {
    return (words[k / word_bits] >> (k % word_bits) & 1U) != 0;
  }
  /// How many of the nonzeros before k are cut out; k may be nnz.
  [[nodiscard]] AUTOSPMV_HD std::int64_t rank(std::int64_t k) const {
    const std::uint32_t below = (std::uint32_t{1} << (k % word_bits)) - 1;
    return before[k / word_bits] + bits_in(words[k / word_bits] & below);
  }
};

/// Where the nonzeros of a split go: those that are cut out, and the rest.
template <class T>
struct EntryTargets {
  MarksView marks;
  std::int32_t* cut_columns;
  std::int32_t* rest_columns;
  T* cut_values;
  T* rest_values;

  AUTOSPMV_HD void take(const CsrView<T>& matrix, std::int64_t k, Entries which) const {
    const bool cut = marks.cut_out(k);
    const std::int64_t rank = marks.rank(k);
    const std::int64_t to = cut ? rank : k - rank;
    (cut ? cut_values : rest_values)[to] = matrix.values[k];
    if (which == Entries::columns_and_values) (cut ? cut_columns : rest_columns)[to] = matrix.col_idx[k];
  }
};

}  // namespace autospmv::formats::cocktail
