#include "tuner/measure/caller_stream.hpp"

#include <chrono>

#include "core/machine/on_backend.hpp"
#include "tuner/measure/cuda/timing.hpp"

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
  const DeviceScope scope(place);
  return on_backend(
      place, []() -> std::unique_ptr<Stopwatch> { return std::make_unique<HostStopwatch>(); },
      [] { return cuda::make_stopwatch(); });
}

std::uint64_t stream_id(Place place, Stream stream) {
  return on_backend(
      place, [] { return std::uint64_t{0}; }, [&] { return cuda::stream_id(stream); });
}

}  // namespace autospmv
