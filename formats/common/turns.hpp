// Products of one operator that share its scratch memory take turns.
#pragma once

#include <mutex>

#include "core/device.hpp"
#include "core/stream.hpp"

struct CUevent_st;

namespace autospmv::formats {

namespace device {
CUevent_st* create_event(Place place);
void destroy_event(CUevent_st* event) noexcept;
bool is_capturing(Stream stream);
void wait_for(CUevent_st* event, Stream stream);
void record(CUevent_st* event, Stream stream);
}  // namespace device

/// One product at a time: host threads wait for each other, and work on another stream is ordered behind the last,
/// without the host waiting. A stream that is being captured is left to its own order, for an event recorded outside a
/// graph cannot be waited for inside it: graphs that hold the same operator must not run at once.
class Turns {
 public:
  explicit Turns(Place place) : place_(place) {
    if constexpr (built_with_cuda) {
      if (place_.backend == Backend::cuda) last_use_ = device::create_event(place_);
    }
  }
  ~Turns() {
    if constexpr (built_with_cuda) {
      if (last_use_ != nullptr) device::destroy_event(last_use_);
    }
  }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Calls body(), which gives one product to the stream.
  template <class Body>
  void take(Stream stream, const Body& body) const {
    const std::scoped_lock lock(mutex_);
    bool ordered = false;
    if constexpr (built_with_cuda) {
      ordered = place_.backend == Backend::cuda && !device::is_capturing(stream);
      if (ordered && used_ && stream != last_stream_) device::wait_for(last_use_, stream);
    }
    body();
    if constexpr (built_with_cuda) {
      if (ordered) device::record(last_use_, stream);
    }
    if (ordered) {
      last_stream_ = stream;
      used_ = true;
    }
  }

 private:
  Place place_;
  CUevent_st* last_use_ = nullptr;
  mutable std::mutex mutex_;
  mutable Stream last_stream_;
  mutable bool used_ = false;
};

}  // namespace autospmv::formats
