// Distinct values on the host.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "features/tally.hpp"

namespace autospmv {

/// A set of bit patterns, of use until it is over distinct_values_cap. The pattern of 0 marks a free slot.
class ValueSet {
 public:
  [[nodiscard]] bool over_cap() const { return count_ > distinct_values_cap; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] bool has_zero() const { return has_zero_; }

  /// In no order, without that of 0.
  [[nodiscard]] std::vector<std::uint64_t> patterns() const {
    std::vector<std::uint64_t> filled;
    std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(filled),
                 [](std::uint64_t bits) { return bits != 0; });
    return filled;
  }

  /// Whether the pattern is new. Not to be called once the set is over its cap.
  bool insert(std::uint64_t bits) {
    if (bits == 0) return !std::exchange(has_zero_, true);
    std::uint64_t slot = value_slot(bits);
    while (slots_[slot] != bits && slots_[slot] != 0) slot = (slot + 1) % value_slots;
    if (slots_[slot] == bits) return false;
    slots_[slot] = bits;
    ++count_;
    return true;
  }

  void unite(const ValueSet& other) {
    has_zero_ = has_zero_ || other.has_zero_;
    for (const std::uint64_t bits : other.slots_) {
      if (bits != 0 && !over_cap()) insert(bits);
    }
  }

 private:
  std::array<std::uint64_t, value_slots> slots_{};
  std::int64_t count_ = 0;
  bool has_zero_ = false;
};

}  // namespace autospmv
