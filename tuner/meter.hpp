// Timing one product, warm and cold, on any backend.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "autospmv/stream.hpp"
#include "core/array.hpp"
#include "core/device.hpp"
#include "core/trial.hpp"

namespace autospmv {

/// Launches one product in the order of a stream.
using Launch = std::function<void(Stream)>;

/// Overwrites a device's caches. Made once for many products: its memory is larger than they are.
class CacheFlusher {
 public:
  explicit CacheFlusher(const Device& device);

  /// In the order of the stream; on the host, every thread overwrites its share, so that all cores' caches go.
  void flush(Stream stream);

 private:
  Array<char> memory_;
  int byte_ = 0;
};

/// One product that can be timed again and again. On CUDA, warm repetitions are replayed from a captured graph, so
/// that the host's launch cost is not what is measured, and timed with events; on the host, they run in a loop.
class TimedProduct {
 public:
  virtual ~TimedProduct() = default;

  /// Seconds a product, over as many repetitions back to back as fill a sample.
  virtual double warm_sample() = 0;
  /// The same from a plain loop of launches, as client code calls: the host's launch cost counts where it is longer.
  virtual double loop_sample() = 0;
  /// Seconds of one product after the caches were overwritten.
  virtual double cold_sample(CacheFlusher& flusher) = 0;
};

/// How long a sample of a benchmark lasts, and one of a tuning that has no more than a few hundred products of time.
/// The clock of a device ticks in half microseconds.
inline constexpr double long_sample_seconds = 3e-4;
inline constexpr double short_sample_seconds = 6e-5;

/// Runs the product a few times to size its samples, each of about so many seconds. On the host they last ten times as
/// long: its clock is disturbed by more.
std::unique_ptr<TimedProduct> make_timed_product(const Device& device, Launch launch,
                                                 double sample_seconds = long_sample_seconds);

/// Bytes a second of a copy within the device's memory, read and written, far larger than its caches; smaller where
/// memory is short, which may count some of the speed of the caches.
double measure_copy_bandwidth(const Device& device);

/// The source and the target of such a copy: `size` bytes each, or half as many and so on, where memory is short.
/// Throws OutOfMemory where there is none for less than `least`.
struct CopiedArrays {
  CopiedArrays(std::size_t size, const Device& device);

  static constexpr std::size_t least = std::size_t{1} << 20;
  Array<char> from;
  Array<char> to;
};

/// Median and quartiles of samples.
Timing summarize(std::vector<double> samples);

/// The quartiles are close enough, for the samples there are, to tell candidates `resolution` apart.
bool settled(const std::vector<double>& samples, double resolution);

}  // namespace autospmv
