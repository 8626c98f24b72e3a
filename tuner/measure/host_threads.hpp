// The threads that multiply on the host, while they are timed: each on a processor of its own, and whether it had it to
// itself. What a busy machine adds to a product is not the candidate's.
#pragma once

#include <functional>
#include <vector>

#include <sched.h>

#include "core/uncopied.hpp"

namespace autospmv {

/// What something took.
struct Sample {
  double seconds = 0;
  /// A thread was switched out, moved to another processor or left waiting for one meanwhile; the seconds are then
  /// without the longest wait, a rough estimate of what it takes undisturbed.
  bool disturbed = false;
};

/// Times the body as the calling thread and the others of its parallel regions see it.
Sample time_threads(const std::function<void()>& body);

/// How long to go on looking for undisturbed samples, of many products together: a few times as long as taking samples
/// takes anyway. On a machine that is never quiet there is no use in more.
class Patience {
 public:
  void earn(double seconds) { left_ += share * seconds; }
  void spend(double seconds) { left_ -= seconds; }
  [[nodiscard]] bool is_left() const { return left_ > 0; }

 private:
  static constexpr double share = 3;
  double left_ = 0.5;
};

/// Times the body `wanted` times, and again as long as there is patience and fewer than that were undisturbed. The
/// least of those that count: what was undisturbed, where anything was.
Sample time_least(const std::function<void()>& body, int wanted, Patience& patience);

/// As long as it lives, each thread of the calling thread's parallel regions has a processor of its own; afterwards it
/// may run where it might before. Does nothing where the user has placed the threads (OMP_PROC_BIND), where there are
/// more of them than processors, or where the system does not allow it.
class PinnedThreads : Uncopied {
 public:
  PinnedThreads();
  ~PinnedThreads();

 private:
  std::vector<cpu_set_t> before_;  ///< of each thread; empty where none was pinned
};

}  // namespace autospmv
