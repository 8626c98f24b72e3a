#include "core/cuda/check.hpp"
#include "formats/common/streams/fork_join.hpp"

namespace autospmv::formats {

ForkJoin::ForkJoin(int width, Place place) {
  const DeviceScope scope(place);
  cuda::check(cudaEventCreateWithFlags(&forked_, cudaEventDisableTiming));
  for (int i = 1; i < width; ++i) {
    cuda::check(cudaStreamCreateWithFlags(&streams_.emplace_back().handle, cudaStreamNonBlocking));
    cuda::check(cudaEventCreateWithFlags(&joined_.emplace_back(), cudaEventDisableTiming));
  }
}

ForkJoin::~ForkJoin() {
  for (const auto& stream : streams_) cuda::ignore(cudaStreamDestroy(stream.handle));
  for (auto* event : joined_) cuda::ignore(cudaEventDestroy(event));
  cuda::ignore(cudaEventDestroy(forked_));
}

void ForkJoin::fork(Stream stream, int used) const {
  cuda::check(cudaEventRecord(forked_, stream.handle));
  for (int i = 0; i < used; ++i) {
    cuda::check(cudaStreamWaitEvent(streams_[static_cast<std::size_t>(i)].handle, forked_, 0));
  }
}

void ForkJoin::join(Stream stream, int used) const {
  for (int i = 0; i < used; ++i) {
    const auto at = static_cast<std::size_t>(i);
    cuda::check(cudaEventRecord(joined_[at], streams_[at].handle));
    cuda::check(cudaStreamWaitEvent(stream.handle, joined_[at], 0));
  }
}

bool ForkJoin::is_capturing(Stream stream) {
  cudaStreamCaptureStatus status{};
  cuda::check(cudaStreamIsCapturing(stream.handle, &status));
  return status != cudaStreamCaptureStatusNone;
}

ForkJoin::Dependencies ForkJoin::dependencies_of(Stream stream) {
  cudaStreamCaptureStatus status{};
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  cuda::check(cudaStreamGetCaptureInfo(stream.handle, &status, nullptr, nullptr, &nodes, &edges, &count));
  Dependencies dependencies{{nodes, nodes + count}, {}};
  if (edges != nullptr) dependencies.edges.assign(edges, edges + count);
  dependencies.edges.resize(count);
  return dependencies;
}

void ForkJoin::set_dependencies(Stream stream, const Dependencies& dependencies) {
  auto nodes = dependencies.nodes;
  cuda::check(cudaStreamUpdateCaptureDependencies(stream.handle, nodes.data(), dependencies.edges.data(), nodes.size(),
                                                  cudaStreamSetCaptureDependencies));
}

}  // namespace autospmv::formats
