#include "formats/common/streams/scratch.hpp"

#include "core/cuda/check.hpp"
#include "core/machine/device.hpp"

namespace autospmv::formats::device {

namespace {

using Held = std::shared_ptr<std::atomic<bool>>;

// Called by a thread of the driver's, which may not call CUDA.
void CUDART_CB let_go(void* data) {
  const std::unique_ptr<Held> held(static_cast<Held*>(data));
  **held = false;
}

// CUDA does not give the number of a stream that is being captured. Its handle tells it from the others of one capture,
// but for the one that stands for another stream in every thread.
std::uint64_t captured_stream(Stream stream) {
  static thread_local char here = 0;
  if (stream.handle == cudaStreamPerThread) return reinterpret_cast<std::uintptr_t>(&here);
  return reinterpret_cast<std::uintptr_t>(stream.handle);
}

}  // namespace

Capture capture_of(Stream stream) {
  cudaStreamCaptureStatus status{};
  unsigned long long id = 0;
  unsigned long long stream_id = 0;
  cudaGraph_t graph = nullptr;
  cuda::check(cudaStreamGetCaptureInfo(stream.handle, &status, &id, &graph, nullptr, nullptr, nullptr));
  if (status == cudaStreamCaptureStatusActive) return {id, captured_stream(stream), graph};
  cuda::check(cudaStreamGetId(stream.handle, &stream_id));
  return {0, stream_id, nullptr};
}

void set_up_during_capture(Place place, const std::function<void()>& body) {
  const DeviceScope scope(place);
  const RelaxedCapture relaxed(place);
  body();
  synchronize(place, setup_stream(place));
}

void hold(CUgraph_st* graph, const Held& held) {
  auto data = std::make_unique<Held>(held);
  cudaUserObject_t object = nullptr;
  cuda::check(cudaUserObjectCreate(&object, data.get(), let_go, 1, cudaUserObjectNoDestructorSync));
  *held = true;
  static_cast<void>(data.release());  // the object's, which lets go when the last reference to it does
  const auto retained = cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
  if (retained != cudaSuccess) cuda::ignore(cudaUserObjectRelease(object, 1));
  cuda::check(retained);
}

CUevent_st* create_event(Place place) {
  const DeviceScope scope(place);
  cudaEvent_t event = nullptr;
  cuda::check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

void destroy_event(CUevent_st* event) noexcept { cuda::ignore(cudaEventDestroy(event)); }

void wait_for(CUevent_st* event, Stream stream) { cuda::check(cudaStreamWaitEvent(stream.handle, event, 0)); }

void record(CUevent_st* event, Stream stream) { cuda::check(cudaEventRecord(event, stream.handle)); }

}  // namespace autospmv::formats::device
