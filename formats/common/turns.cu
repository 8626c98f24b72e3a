#include "formats/common/turns.hpp"

#include "core/cuda/check.hpp"

namespace autospmv::formats::device {

CUevent_st* create_event(Place place) {
  const DeviceScope scope(place);
  cudaEvent_t event = nullptr;
  cuda::check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

void destroy_event(CUevent_st* event) noexcept { cuda::ignore(cudaEventDestroy(event)); }

bool is_capturing(Stream stream) {
  cudaStreamCaptureStatus capture{};
  cuda::check(cudaStreamIsCapturing(stream.handle, &capture));
  return capture != cudaStreamCaptureStatusNone;
}

void wait_for(CUevent_st* event, Stream stream) { cuda::check(cudaStreamWaitEvent(stream.handle, event, 0)); }

void record(CUevent_st* event, Stream stream) { cuda::check(cudaEventRecord(event, stream.handle)); }

}  // namespace autospmv::formats::device
