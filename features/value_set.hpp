// Equal and distinct values on the host.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "features/tally.hpp"

namespace autospmv {

/// Whether all have the bits of this one. Without a way out in between, which compilers make wide instructions of.
template <class T>
bool are_all(std::span<const T> values, T one) {
  const auto bits = bits_of(one);
  auto different = bits ^ bits;
  for (const T value : values) different |= bits_of(value) ^ bits;
  return different == 0;
}

/// A set of bit patterns, of use until it is over distinct_values_cap. The pattern of 0 marks a free slot.
class ValueSet {
 public:
  [[nodiscard]] bool over_cap() const { return count_ > distinct_values_cap; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] bool has_zero() const { return has_zero_; }

  /// In no order, without that of 0.
  [[nodiscard]] std::vector<std::uint64_t> patterns() const {
    std::vector<std::uint64_t> patterns;
    patterns.reserve(static_cast<std::size_t>(count_));
    for (std::int64_t i = 0; i < count_; ++i) patterns.push_back(slots_[filled_[static_cast<std::size_t>(i)]]);
    return patterns;
  }

  /// Forgets all, in the time that they took to be met.
  void clear() {
    for (std::int64_t i = 0; i < count_; ++i) slots_[filled_[static_cast<std::size_t>(i)]] = 0;
    count_ = 0;
    has_zero_ = false;
  }

  /// Whether the pattern is new. Not to be called once the set is over its cap.
  bool insert(std::uint64_t bits) {
    if (bits == 0) return !std::exchange(has_zero_, true);
    std::uint64_t slot = value_slot(bits);
    while (slots_[slot] != bits && slots_[slot] != 0) slot = (slot + 1) % value_slots;
    if (slots_[slot] == bits) return false;
    slots_[slot] = bits;
    filled_[static_cast<std::size_t>(count_++)] = static_cast<std::uint16_t>(slot);
    return true;
  }

  void unite(const ValueSet& other) {
    has_zero_ = has_zero_ || other.has_zero_;
    for (std::int64_t i = 0; i < other.count_ && !over_cap(); ++i) {
      insert(other.slots_[other.filled_[static_cast<std::size_t>(i)]]);
    }
  }

 private:
  static_assert(value_slots <= std::numeric_limits<std::uint16_t>::max());
  std::array<std::uint64_t, value_slots> slots_{};
  std::array<std::uint16_t, distinct_values_cap + 1> filled_;  // slots, the first count_ of them
  std::int64_t count_ = 0;
  bool has_zero_ = false;
};

}  // namespace autospmv
