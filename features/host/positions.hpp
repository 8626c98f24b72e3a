// Where nonzeros stand: diagonals, bandwidths, order and symmetry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "features/tally.hpp"

namespace autospmv::host {

/// Smallest and largest of some numbers; of none, `largest` is below `smallest`.
struct Span {
  std::int32_t smallest = std::numeric_limits<std::int32_t>::max();
  std::int32_t largest = std::numeric_limits<std::int32_t>::min();

  [[nodiscard]] bool empty() const { return largest < smallest; }
  [[nodiscard]] Count width() const { return static_cast<Count>(largest - smallest); }
};

/// Some nonzeros in the order of the matrix, and the rows that they stand in, as steps from `first_row`.
struct Nonzeros {
  std::int64_t first_row = 0;
  const std::int32_t* rows = nullptr;
  const std::int32_t* columns = nullptr;
  std::int64_t count = 0;
};

/// What every nonzero adds to, but for the first one's place behind that before it.
struct PositionCounts {
  Count asymmetry = 0;
  Count descents = 0;
  Span columns;
  Span diagonals;  ///< columns less the steps to their rows
};

/// One loop over the nonzeros of many rows, however short these are.
void count_positions(const Nonzeros& of, bool square, PositionCounts& counts);

/// The diagonals seen by all threads, counted until there are too many of them.
class Diagonals {
 public:
  Diagonals(std::int64_t rows, std::int64_t cols)
      : rows_(rows), seen_(static_cast<std::size_t>((rows + cols + word_bits - 1) / word_bits)) {}

  void see(const Nonzeros& nonzeros) {
    if (count_.load(std::memory_order_relaxed) > diagonals_cap) return;
    const std::int64_t main_diagonal = rows_ - 1 - nonzeros.first_row;
    for (std::int64_t k = 0; k < nonzeros.count; ++k) {
      const auto diagonal = static_cast<std::uint64_t>(main_diagonal + nonzeros.columns[k] - nonzeros.rows[k]);
      const std::atomic_ref<std::uint64_t> word(seen_[diagonal / word_bits]);
      const auto bit = std::uint64_t{1} << diagonal % word_bits;
      // Most diagonals are met again and again: only the first meeting writes.
      if ((word.load(std::memory_order_relaxed) & bit) == 0 &&
          (word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) {
        count_.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  [[nodiscard]] std::int64_t count() const { return count_.load(); }

 private:
  static constexpr std::uint64_t word_bits = 64;

  std::int64_t rows_;
  std::vector<std::uint64_t> seen_;  // a bit each: new memory takes longer to get than to read
  std::atomic<std::int64_t> count_ = 0;
};

}  // namespace autospmv::host
