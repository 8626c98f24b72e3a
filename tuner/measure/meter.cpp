#include "tuner/measure/meter.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "tuner/measure/clock.hpp"
#include "tuner/measure/cuda/timing.hpp"
#include "tuner/measure/host_threads.hpp"

namespace autospmv {

namespace {

constexpr int most_repetitions = 1000;
// A sample is cut into parts, short enough to lie between two of the scheduler's interruptions; one part is the least
// that some of them took.
constexpr int parts_of_sample = 4;
constexpr int most_wanted_parts = 3;
constexpr int most_flushes = 4;

class HostTimedProduct final : public TimedProduct {
 public:
  HostTimedProduct(Launch launch, const SampleLength& length, Patience& patience)
      : launch_(std::move(launch)), patience_(patience) {
    const auto time_one = [&] { return time_least([&] { launch_({}); }, 1, patience_); };
    auto once = time_one();
    // The first one finds in the caches what others have left there: of how many fill a part, only a second one tells.
    if (once.seconds < length.host / parts_of_sample) once = time_one();
    const double sample = std::max(length.host, std::min(length.products * once.seconds, most_of_products));
    const double part = sample / parts_of_sample;
    repetitions_ = std::clamp(static_cast<int>(part / std::max(once.seconds, 1e-9)), 1, most_repetitions);
    wanted_parts_ = std::clamp(static_cast<int>(sample / std::max(once.seconds, part)), 1, most_wanted_parts);
  }

  // Other candidates ran since the last sample: the caches and the branch predictor, which learns the lengths of a
  // matrix's rows over tens of repetitions, must first be this one's again.
  Sample warm_sample() override {
    for (int i = 0; i < std::max(1, wanted_parts_ - 1); ++i) multiply();
    return loop_sample();
  }

  Sample loop_sample() override {
    auto sample = time_least([&] { multiply(); }, wanted_parts_, patience_);
    sample.seconds /= repetitions_;
    return sample;
  }

  Sample cold_sample(CacheFlusher& flusher) override {
    Sample sample;
    // A flush takes longer than most products.
    for (int i = 0; i < most_flushes; ++i) {
      flusher.flush({});
      sample = time_threads([&] { launch_({}); });
      if (!sample.disturbed) break;
    }
    return sample;
  }

 private:
  void multiply() const {
    for (int i = 0; i < repetitions_; ++i) launch_({});
  }

  Launch launch_;
  Patience& patience_;
  int wanted_parts_ = 1;
  int repetitions_ = 1;
};

Bandwidth host_copy_bandwidth(const Device& device) {
  // Four times the caches in all: larger arrays are copied no slower and take longer to get.
  CopiedArrays copied(static_cast<std::size_t>(std::max<std::int64_t>(2 * device.cache_bytes, 1 << 25)), device);
  auto& from = copied.from;
  auto& to = copied.to;
  const auto size = from.size();
  const auto each_share = [&](const auto& body) {
    parallel_region(static_cast<std::int64_t>(size), [&](int thread, int threads) {
      const auto share = share_of(static_cast<std::int64_t>(size), thread, threads);
      body(to.data() + share.first, from.data() + share.first, static_cast<std::size_t>(share.last - share.first));
    });
  };
  const auto copy = [&] {
    each_share([](char* target, const char* source, std::size_t bytes) { std::memcpy(target, source, bytes); });
  };
  const PinnedThreads pinned;
  // What was never written to is one and the same page of zeros, which a cache holds.
  each_share([](char* target, char* source, std::size_t bytes) {
    std::memset(source, 1, bytes);
    std::memset(target, 0, bytes);
  });
  Patience patience;
  const auto sample = time_least(copy, 3, patience);
  return {2.0 * static_cast<double>(size) / sample.seconds, !sample.disturbed};
}

// A quarter more than the cache, in case it does not evict its oldest lines first.
std::size_t flush_size(const Device& device) {
  return static_cast<std::size_t>(std::max<std::int64_t>(device.cache_bytes + device.cache_bytes / 4, 1 << 25));
}

}  // namespace

CopiedArrays::CopiedArrays(std::size_t size, const Device& device) {
  while (to.empty()) {
    try {
      from = Array<char>(size, device);
      to = Array<char>(size, device);
    } catch (const OutOfMemory&) {
      from = {};
      size /= 2;
      if (size < least) throw;
    }
  }
}

CacheFlusher::CacheFlusher(const Device& device) : memory_(flush_size(device), device) {}

void CacheFlusher::flush(Stream stream) {
  ++byte_;
  const auto size = static_cast<std::int64_t>(memory_.size());
  if (memory_.place().backend == Backend::cuda) {
    fill_bytes(memory_.data(), byte_, memory_.size(), memory_.place(), stream);
    return;
  }
  parallel_region(size, [&](int thread, int threads) {
    const auto share = share_of(size, thread, threads);
    std::memset(memory_.data() + share.first, byte_, static_cast<std::size_t>(share.last - share.first));
  });
}

std::unique_ptr<TimedProduct> make_timed_product(const Device& device, Launch launch, const SampleLength& length,
                                                 Patience& patience, [[maybe_unused]] bool capturable) {
  return on_backend(
      device,
      [&]() -> std::unique_ptr<TimedProduct> {
        return std::make_unique<HostTimedProduct>(std::move(launch), length, patience);
      },
      [&] { return cuda::make_timed_product(device, std::move(launch), length.device, capturable); });
}

Bandwidth measure_copy_bandwidth(const Device& device) {
  return on_backend(
      device, [&] { return host_copy_bandwidth(device); },
      [&] {
        return Bandwidth{cuda::measure_copy_bandwidth(device), true};
      });
}

// An H200 copies 0.85 of what its memory moves at most, an H100 0.89.
double expected_copy_bandwidth(const Device& device) {
  constexpr double share_of_peak = 0.87;
  return on_backend(
      device, [] { return 0.0; }, [&] { return share_of_peak * cuda::peak_bandwidth(device); });
}

Timing summarize(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(seconds.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const auto above = std::min(below + 1, seconds.size() - 1);
    return seconds[below] + (position - static_cast<double>(below)) * (seconds[above] - seconds[below]);
  };
  return {at(0.5), at(0.25), at(0.75), static_cast<int>(seconds.size())};
}

bool Samples::is_precise(double resolution) const {
  const auto timing = summarize(undisturbed_);
  if (timing.samples == 0) return false;
  // The standard error of a median, from the quartiles of a normal distribution: 1.25 sigma / sqrt(n).
  const double sigma = (timing.high_quartile - timing.low_quartile) / 1.35;
  return 1.25 * sigma / std::sqrt(static_cast<double>(timing.samples)) <= resolution * timing.median;
}

}  // namespace autospmv
