#include "tuner/meter.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/array.hpp"
#include "core/error.hpp"
#include "core/parallel.hpp"
#include "tuner/clock.hpp"
#include "tuner/cuda/meter.hpp"

namespace autospmv {

namespace {

// Of samples on the host over those on a device.
constexpr double host_stretch = 16;
constexpr int most_repetitions = 1000;

class HostTimedProduct final : public TimedProduct {
 public:
  HostTimedProduct(Launch launch, double sample_seconds) : launch_(std::move(launch)) {
    launch_({});
    const double once = time(1);
    repetitions_ = std::clamp(static_cast<int>(sample_seconds / std::max(once, 1e-9)), 1, most_repetitions);
  }

  // Other candidates ran since the last sample: the caches and the branch predictor, which learns the lengths of a
  // matrix's rows over tens of repetitions, must first be this one's again.
  double warm_sample() override {
    time(repetitions_);
    return time(repetitions_);
  }
  double loop_sample() override { return time(repetitions_); }

  double cold_sample(CacheFlusher& flusher) override {
    flusher.flush({});
    return time(1);
  }

 private:
  double time(int repetitions) {
    const auto start = Clock::now();
    for (int i = 0; i < repetitions; ++i) launch_({});
    return seconds_since(start) / repetitions;
  }

  Launch launch_;
  int repetitions_ = 1;
};

double host_copy_bandwidth(const Device& device) {
  CopiedArrays copied(static_cast<std::size_t>(std::max<std::int64_t>(device.cache_bytes, 1 << 27)), device);
  auto& from = copied.from;
  auto& to = copied.to;
  const auto size = from.size();
  std::vector<double> samples;
  for (int round = 0; round < 4; ++round) {
    const auto start = Clock::now();
    parallel_region(static_cast<std::int64_t>(size), [&](int thread, int threads) {
      const auto share = share_of(static_cast<std::int64_t>(size), thread, threads);
      std::memcpy(to.data() + share.first, from.data() + share.first,
                  static_cast<std::size_t>(share.last - share.first));
    });
    // The first round is spent on the page faults.
    if (round > 0) samples.push_back(seconds_since(start));
  }
  return 2.0 * static_cast<double>(size) / summarize(samples).median;
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

std::unique_ptr<TimedProduct> make_timed_product(const Device& device, Launch launch, double sample_seconds) {
  if constexpr (built_with_cuda) {
    if (device.backend == Backend::cuda) return cuda::make_timed_product(device, std::move(launch), sample_seconds);
  }
  return std::make_unique<HostTimedProduct>(std::move(launch), host_stretch * sample_seconds);
}

double measure_copy_bandwidth(const Device& device) {
  if constexpr (built_with_cuda) {
    if (device.backend == Backend::cuda) return cuda::measure_copy_bandwidth(device);
  }
  return host_copy_bandwidth(device);
}

Timing summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const auto above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (position - static_cast<double>(below)) * (samples[above] - samples[below]);
  };
  return {at(0.5), at(0.25), at(0.75), static_cast<int>(samples.size())};
}

bool settled(const std::vector<double>& samples, double resolution) {
  const auto timing = summarize(samples);
  // The standard error of a median, from the quartiles of a normal distribution: 1.25 sigma / sqrt(n).
  const double sigma = (timing.high_quartile - timing.low_quartile) / 1.35;
  return 1.25 * sigma / std::sqrt(static_cast<double>(timing.samples)) <= resolution * timing.median;
}

}  // namespace autospmv
