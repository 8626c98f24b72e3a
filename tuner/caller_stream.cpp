#include "tuner/caller_stream.hpp"

#include <chrono>

#include "tuner/cuda/caller_stream.hpp"

namespace autospmv {

namespace {

class HostStopwatch final : public Stopwatch {
 public:
  void start(Stream /*stream*/) override { start_ = Clock::now(); }
  void stop(Stream /*stream*/) override { stop_ = Clock::now(); }
  [[nodiscard]] bool stopped() const override { return true; }
  [[nodiscard]] double seconds() const override { return std::chrono::duration<double>(stop_ - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
  Clock::time_point stop_;
};

}  // namespace

std::unique_ptr<Stopwatch> make_stopwatch(Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::make_stopwatch();
  }
  return std::make_unique<HostStopwatch>();
}

std::uint64_t stream_id(Place place, Stream stream) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::stream_id(stream);
  }
  return 0;
}

}  // namespace autospmv
