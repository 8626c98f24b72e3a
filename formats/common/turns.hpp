// For operators whose products share scratch memory: one product at a time, on CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>

#include "core/cuda/check.hpp"
#include "core/stream.hpp"

namespace autospmv::formats {

class Turns {
 public:
  Turns() { cuda::check(cudaEventCreateWithFlags(&last_use_, cudaEventDisableTiming)); }
  ~Turns() { cuda::ignore(cudaEventDestroy(last_use_)); }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Calls launch(), which gives one product to the stream. Threads take turns, and a product on another stream runs
  /// after the last one. A stream that is being captured is left to its own order, for an event recorded outside a
  /// graph cannot be waited for inside it.
  template <class Launch>
  void take(Stream stream, const Launch& launch) const {
    const std::scoped_lock lock(mutex_);
    cudaStreamCaptureStatus capture{};
    cuda::check(cudaStreamIsCapturing(stream.handle, &capture));
    const bool eager = capture == cudaStreamCaptureStatusNone;
    if (eager && used_ && stream != last_stream_) cuda::check(cudaStreamWaitEvent(stream.handle, last_use_, 0));
    launch();
    if (eager) {
      cuda::check(cudaEventRecord(last_use_, stream.handle));
      last_stream_ = stream;
      used_ = true;
    }
  }

  /// Calls body() while no thread gives a product to a stream.
  template <class Body>
  void pause(const Body& body) const {
    const std::scoped_lock lock(mutex_);
    body();
  }

 private:
  cudaEvent_t last_use_ = nullptr;
  mutable std::mutex mutex_;
  mutable Stream last_stream_;
  mutable bool used_ = false;
};

}  // namespace autospmv::formats
