// Giving up from outside: by whoever may set a flag, a signal handler too.
#pragma once

#include <atomic>

namespace autospmv {

/// Thrown where a flag was found set. No error: what was measured before is kept.
struct Interrupted {};

/// Set from any thread or signal handler, and looked at between trials and between samples.
using StopFlag = std::atomic<bool>;
static_assert(StopFlag::is_always_lock_free, "a signal handler sets it");

/// Throws Interrupted where there is a flag and it is set.
inline void give_up_if(const StopFlag* stop) {
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw Interrupted{};
}

}  // namespace autospmv
