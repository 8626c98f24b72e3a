#include "tuner/measure/cuda/caller_stream.hpp"

#include <cuda_runtime_api.h>

#include "core/cuda/check.hpp"
#include "core/cuda/runtime.hpp"

namespace autospmv::cuda {

namespace {

class CudaStopwatch final : public Stopwatch {
 public:
  CudaStopwatch() {
    check(cudaEventCreate(&start_));
    check(cudaEventCreate(&stop_));
  }
  ~CudaStopwatch() override {
    ignore(cudaEventDestroy(start_));
    ignore(cudaEventDestroy(stop_));
  }

  void start(Stream stream) override { check(cudaEventRecord(start_, stream.handle)); }
  void stop(Stream stream) override { check(cudaEventRecord(stop_, stream.handle)); }

  [[nodiscard]] bool stopped() const override {
    // A capture in global mode, of whatever thread, would be broken by the question.
    const int previous = relax_capture();
    const auto status = cudaEventQuery(stop_);
    restore_capture(previous);
    if (status == cudaErrorNotReady) {
      // Not an error, and yet the next check of a launch would find it.
      ignore(cudaGetLastError());
      return false;
    }
    check(status);
    return true;
  }

  [[nodiscard]] double seconds() const override {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

}  // namespace

std::unique_ptr<Stopwatch> make_stopwatch() { return std::make_unique<CudaStopwatch>(); }

std::uint64_t stream_id(Stream stream) {
#if CUDART_VERSION >= 12000
  unsigned long long id = 0;
  check(cudaStreamGetId(stream.handle, &id));
  return id;
#else
  return reinterpret_cast<std::uint64_t>(stream.handle);
#endif
}

}  // namespace autospmv::cuda
