// Allocations that fail when they are told to: every operator new of this program goes through here.
#pragma once

#include <cstdint>

namespace autospmv::testing {

/// While it lives, counts the allocations of all threads, and some of them fail: `count` of them, from number `first`
/// on; the first of all is number 1. One at a time.
class FailingAllocations {
 public:
  static constexpr std::int64_t all = INT64_MAX;

  /// None fails.
  FailingAllocations() : FailingAllocations(all, 0) {}
  FailingAllocations(std::int64_t first, std::int64_t count);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  /// How many were asked for so far.
  [[nodiscard]] static std::int64_t asked();
};

}  // namespace autospmv::testing
