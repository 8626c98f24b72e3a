// Threads that cannot be started when they are told so.
#pragma once

namespace autospmv::testing {

/// While it lives, no thread can be started. OpenMP ends the process then, so it must have its threads before.
class FailingThreads {
 public:
  FailingThreads();
  ~FailingThreads();
  FailingThreads(const FailingThreads&) = delete;
  FailingThreads& operator=(const FailingThreads&) = delete;
};

}  // namespace autospmv::testing
