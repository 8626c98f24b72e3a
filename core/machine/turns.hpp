// Whose turn it is to ask something of a CUDA driver. The driver lets in one thread at a time and has the others sleep,
// and to wake one of those takes as long as several products, at times as long as a hundred. What is done in the
// background therefore asks when a caller who multiplies does not: just after his last order, for then his product
// runs, and who awaits it only looks at a word of memory. Whoever must wait stays awake.
#pragma once

#include <atomic>

#include "core/types.hpp"
#include "core/uncopied.hpp"

namespace autospmv {

namespace detail {
inline std::atomic<int> threads_beside{0};
}

/// As long as one lives, its thread works beside callers, who wait for it no longer than for one order.
class BesideCallers : Uncopied {
 public:
  BesideCallers() noexcept;
  ~BesideCallers();
};

/// As long as it lives, it is the thread's turn: around what asks the driver something, never around what waits for the
/// device. Costs nothing where nobody works beside callers, or within another of the same thread. It is a courtesy and
/// no lock: whoever has waited for long goes on without.
class DriverTurn : Uncopied {
 public:
  static constexpr double most_wait = 1e-4;         ///< seconds: an order takes 2 to 10 us, if no kernel is loaded
  static constexpr double most_wait_beside = 2e-4;  ///< likewise, of a thread beside callers

  /// The host needs none.
  explicit DriverTurn(Backend backend = Backend::cuda) noexcept
      : held_(backend == Backend::cuda && detail::threads_beside.load(std::memory_order_relaxed) > 0 && take()) {}
  ~DriverTurn() {
    if (held_) give_back();
  }

  /// False for one within another, and for one that goes on without.
  [[nodiscard]] bool held() const { return held_; }

 private:
  static bool take() noexcept;
  static void give_back() noexcept;

  bool held_;
};

}  // namespace autospmv
