#include "tuner/measure/cuda/timing.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "core/cuda/check.hpp"
#include "core/cuda/runtime.hpp"
#include "core/machine/array.hpp"
#include "core/machine/turns.hpp"
#include "core/uncopied.hpp"

namespace autospmv::cuda {

namespace {

constexpr int most_repetitions = 100;
constexpr int cold_products = 10;  // of a sample

// Those that are given back are kept for the next who asks: beside kernels that are being loaded, to make the events of
// a trial takes a tenth of a millisecond.
class EventPool : Uncopied {
 public:
  static EventPool& get() {
    static auto& one = *new EventPool();  // by the time static objects go, the driver may be gone
    return one;
  }

  /// Of the current device.
  cudaEvent_t take(int device) {
    {
      const std::scoped_lock lock(mutex_);
      auto& idle = idle_[device];
      if (!idle.empty()) {
        auto* const event = idle.back();
        idle.pop_back();
        return event;
      }
    }
    const DriverTurn turn;
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event));
    return event;
  }

  void give_back(cudaEvent_t event, int device) noexcept {
    try {
      const std::scoped_lock lock(mutex_);
      idle_[device].push_back(event);
    } catch (const std::bad_alloc&) {
      ignore(cudaEventDestroy(event));
    }
  }

  static int current_device() {
    int device = 0;
    check(cudaGetDevice(&device));
    return device;
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<cudaEvent_t>> idle_;
};

// A point of a stream's order.
class Event : Uncopied {
 public:
  Event() : device_(EventPool::current_device()), event_(EventPool::get().take(device_)) {}
  ~Event() { EventPool::get().give_back(event_, device_); }

  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  int device_;
  cudaEvent_t event_;
};

// Two of them.
class Events : Uncopied {
 public:
  [[nodiscard]] cudaEvent_t start() const { return start_.get(); }
  [[nodiscard]] cudaEvent_t stop() const { return stop_.get(); }

  /// Seconds between them, around what `work` gives the stream.
  template <class Work>
  double time(Stream stream, const Work& work) {
    record_around(stream, cudaEventRecordDefault, work);
    return elapsed();
  }

  /// Records them before and after the work; with cudaEventRecordExternal, as nodes of the graph that is captured.
  template <class Work>
  void record_around(Stream stream, unsigned flags, const Work& work) {
    check(cudaEventRecordWithFlags(start(), stream.handle, flags));
    work();
    check(cudaEventRecordWithFlags(stop(), stream.handle, flags));
  }

  /// Waits for the second.
  [[nodiscard]] double elapsed() const {
    check(cudaEventSynchronize(stop()));
    return seconds();
  }

  /// Once the device has come past the second.
  [[nodiscard]] double seconds() const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start(), stop()));
    return milliseconds * 1e-3;
  }

 private:
  Event start_;
  Event stop_;
};

// A stream to capture. A product that is being captured for the first time may set something up in the setup stream,
// which must not be the one that is captured.
class OwnStream : Uncopied {
 public:
  explicit OwnStream(const Device& device) {
    check(cudaStreamCreateWithFlags(&stream_.handle, cudaStreamNonBlocking));
    order_after(device, stream_, setup_stream(device));
  }
  // What products read is released in the order of the setup stream.
  ~OwnStream() {
    ignore(cudaStreamSynchronize(stream_.handle));
    ignore(cudaStreamDestroy(stream_.handle));
  }

  [[nodiscard]] Stream get() const { return stream_; }

 private:
  Stream stream_;
};

// Repetitions of a launch, captured once and replayed. The events lie within the graph, so that the start of a replay
// is not in the time.
class Graph : Uncopied {
 public:
  Graph(const Launch& launch, int repetitions, Events& events, Stream stream) {
    check(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal));
    try {
      events.record_around(stream, cudaEventRecordExternal, [&] {
        for (int i = 0; i < repetitions; ++i) launch(stream);
      });
    } catch (...) {
      cudaGraph_t broken = nullptr;
      ignore(cudaStreamEndCapture(stream.handle, &broken));
      if (broken != nullptr) ignore(cudaGraphDestroy(broken));
      throw;
    }
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream.handle, &graph));
    const auto status = cudaGraphInstantiate(&executable_, graph, 0);
    ignore(cudaGraphDestroy(graph));
    check(status);
  }
  ~Graph() { ignore(cudaGraphExecDestroy(executable_)); }

  void replay(Stream stream) const { check(cudaGraphLaunch(executable_, stream.handle)); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

class CudaTimedProduct final : public TimedProduct {
 public:
  CudaTimedProduct(const Device& device, Launch launch, double sample_seconds, bool capturable)
      : own_stream_(device), stream_(own_stream_.get()), launch_(std::move(launch)) {
    launch_(stream_);
    repetitions_ = std::clamp(static_cast<int>(sample_seconds / std::max(seconds_of_one(), 1e-7)), 2, most_repetitions);
    if (capturable) graph_ = std::make_unique<Graph>(launch_, repetitions_, graph_events_, stream_);
  }

  Sample warm_sample() override {
    launch_(stream_);  // finds in the cache what others have left there
    if (!graph_) return loop_sample();
    graph_->replay(stream_);
    return {graph_events_.elapsed() / repetitions_};
  }

  Sample loop_sample() override {
    const double seconds = events_.time(stream_, [&] {
      for (int i = 0; i < repetitions_; ++i) launch_(stream_);
    });
    return {seconds / repetitions_};
  }

  // What a product adds to a program whose other kernels leave nothing in the cache: the time with it less the time
  // without. Events around a single product would measure themselves, some 3 us with nothing between them, and what
  // the product finds in the cache to be written back, which is the flusher's.
  Sample cold_sample(CacheFlusher& flusher) override {
    const auto seconds_of = [&](bool with_product) {
      return events_.time(stream_, [&] {
        for (int i = 0; i < cold_products; ++i) {
          flusher.flush(stream_);
          if (with_product) launch_(stream_);
        }
      });
    };
    const double without = seconds_of(false);
    return {std::max(seconds_of(true) - without, 0.0) / cold_products};
  }

 private:
  // A product that is launched alone waits for its launch, which takes longer than many products do; several in a row
  // wait for each other.
  double seconds_of_one() {
    constexpr double hides_a_launch = 5e-5;
    constexpr int several = 8;
    const auto time = [&](int products) {
      return events_.time(stream_, [&] {
        for (int i = 0; i < products; ++i) launch_(stream_);
      }) / products;
    };
    const double alone = time(1);
    return alone < hides_a_launch ? time(several) : alone;
  }

  OwnStream own_stream_;
  Stream stream_;
  Launch launch_;
  Events events_;
  Events graph_events_;
  std::unique_ptr<Graph> graph_;  // none of what cannot be captured
  int repetitions_ = 1;
};

class CudaStopwatch final : public Stopwatch {
 public:
  void start(Stream stream) override { check(cudaEventRecord(events_.start(), stream.handle)); }
  void stop(Stream stream) override { check(cudaEventRecord(events_.stop(), stream.handle)); }
  [[nodiscard]] bool stopped() const override {
    // A capture in global mode, of whatever thread, would be broken by the question.
    const int previous = relax_capture();
    const auto status = cudaEventQuery(events_.stop());
    restore_capture(previous);
    if (status == cudaErrorNotReady) {
      // Not an error, and yet the next check of a launch would find it.
      ignore(cudaGetLastError());
      return false;
    }
    check(status);
    return true;
  }
  [[nodiscard]] double seconds() const override { return events_.seconds(); }

 private:
  Events events_;
};

}  // namespace

std::unique_ptr<TimedProduct> make_timed_product(const Device& device, Launch launch, double sample_seconds,
                                                 bool capturable) {
  const DeviceScope scope(device);
  return std::make_unique<CudaTimedProduct>(device, std::move(launch), sample_seconds, capturable);
}

double measure_copy_bandwidth(const Device& device) {
  const DeviceScope scope(device);
  const auto stream = setup_stream(device);
  CopiedArrays copied(static_cast<std::size_t>(std::max<std::int64_t>(8 * device.cache_bytes, std::int64_t{1} << 29)),
                      device);
  auto& from = copied.from;
  auto& to = copied.to;
  const auto size = from.size();
  fill_bytes(from.data(), 1, size, device, stream);
  Events events;
  std::vector<double> samples;
  for (int round = 0; round < 12; ++round) {
    const double seconds = events.time(stream, [&] { copy_bytes(to.data(), from.data(), size, device, stream); });
    if (round > 1) samples.push_back(seconds);
  }
  return 2.0 * static_cast<double>(size) / summarize(samples).median;
}

// To ask for a clock takes as long as tens of small products.
double peak_bandwidth(const Device& device) {
  static std::mutex mutex;
  static auto& known = *new std::map<int, double>();
  const std::scoped_lock lock(mutex);
  auto& peak = known[device.ordinal];
  if (peak > 0) return peak;
  int kilohertz = 0;
  int bits = 0;
  check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, device.ordinal));
  check(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device.ordinal));
  return peak = 2e3 * kilohertz * bits / 8;  // two transfers a clock
}

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
