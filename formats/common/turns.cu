#include "formats/common/turns.hpp"

#include "core/cuda/check.hpp"

namespace autospmv::formats {

Turns::Turns(Place place) {
  const DeviceScope scope(place);
  cuda::check(cudaEventCreateWithFlags(&last_use_, cudaEventDisableTiming));
}

Turns::~Turns() { cuda::ignore(cudaEventDestroy(last_use_)); }

// Returns whether the stream runs what it is given, rather than recording it.
bool Turns::wait(Stream stream) {
  cudaStreamCaptureStatus capture{};
  cuda::check(cudaStreamIsCapturing(stream.handle, &capture));
  if (capture != cudaStreamCaptureStatusNone) return false;
  if (used_ && stream != last_stream_) cuda::check(cudaStreamWaitEvent(stream.handle, last_use_, 0));
  return true;
}

void Turns::record(Stream stream) {
  cuda::check(cudaEventRecord(last_use_, stream.handle));
  last_stream_ = stream;
  used_ = true;
}

}  // namespace autospmv::formats
