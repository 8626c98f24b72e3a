// Products of one operator that share its scratch memory on the device take turns.
#pragma once

#include <mutex>

#include "core/device.hpp"
#include "core/stream.hpp"

struct CUevent_st;

namespace autospmv::formats {

/// CUDA only. A product on another stream than the last one's runs after it, without the host waiting. A stream that is
/// being captured is left to its own order, for an event recorded outside a graph cannot be waited for inside it:
/// graphs of one operator are not to be launched at once.
class Turns {
 public:
  explicit Turns(Place place);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Calls body(), which launches work on the stream, as soon as it is its turn.
  template <class Body>
  void take(Stream stream, const Body& body) {
    const std::scoped_lock lock(mutex_);
    const bool eager = wait(stream);
    body();
    if (eager) record(stream);
  }

 private:
  bool wait(Stream stream);
  void record(Stream stream);

  std::mutex mutex_;
  CUevent_st* last_use_ = nullptr;
  Stream last_stream_;
  bool used_ = false;
};

}  // namespace autospmv::formats
