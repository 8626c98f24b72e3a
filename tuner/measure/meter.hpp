// Timing one product, warm and cold, on any backend.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "autospmv/stream.hpp"
#include "core/machine/array.hpp"
#include "core/machine/device.hpp"
#include "core/trial.hpp"
#include "tuner/measure/host_threads.hpp"

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
/// that the host's launch cost is not what is measured, and timed with events; on the host, and where it cannot be
/// captured, they run in a loop.
class TimedProduct {
 public:
  virtual ~TimedProduct() = default;

  /// Of one product, over as many repetitions back to back as fill a sample.
  virtual Sample warm_sample() = 0;
  /// The same from a plain loop of launches, as client code calls: the host's launch cost counts where it is longer.
  virtual Sample loop_sample() = 0;
  /// Of one product after the caches were overwritten; on CUDA, what it adds to the time of overwriting them.
  virtual Sample cold_sample(CacheFlusher& flusher) = 0;
};

/// How long samples last, seconds. The clock of a device ticks in half microseconds; that of the host is disturbed by
/// more.
struct SampleLength {
  double device = 0;
  double host = 0;
  int products = 1;  ///< that one on the host has at least, if they take less than most_of_products
};
inline constexpr double most_of_products = 0.02;
/// Those of a benchmark, and of a tuning that has no more than a few hundred products of time.
inline constexpr SampleLength long_sample{3e-4, 4.8e-3};
inline constexpr SampleLength short_sample{6e-5, 2.4e-4};
/// Of those that are left in it. What another candidate has pushed out of the last cache, which keeps what it has
/// rather than what streams by, is back in it only after several products.
inline constexpr SampleLength medium_sample{6e-5, 5e-4, 4};
/// Of those that many calls are expected of: more of them.
inline constexpr SampleLength repeated_sample{3e-4, 5e-4, 8};
/// Of the few of these that may win: long enough that all is as it is for a caller of many.
inline constexpr SampleLength settled_sample{3e-4, 5e-4, 32};

/// Runs the product a few times to size its samples, each of about that length. On the host they last longer where
/// something disturbs them: they are taken again as long as there is patience, which outlives what is returned.
std::unique_ptr<TimedProduct> make_timed_product(const Device& device, Launch launch, const SampleLength& length,
                                                 Patience& patience, bool capturable = true);

struct Bandwidth {
  double bytes_a_second = 0;
  bool undisturbed = true;  ///< worth remembering
};

/// Of a copy within the device's memory, read and written, far larger than its caches; smaller where memory is short,
/// which may count some of the speed of the caches.
Bandwidth measure_copy_bandwidth(const Device& device);

/// What that may be expected to give, at once; 0 where nothing is known, as on the host.
double expected_copy_bandwidth(const Device& device);

/// The source and the target of such a copy: `size` bytes each, or half as many and so on, where memory is short.
/// Throws OutOfMemory where there is none for less than `least`.
struct CopiedArrays {
  CopiedArrays(std::size_t size, const Device& device);

  static constexpr std::size_t least = std::size_t{1} << 20;
  Array<char> from;
  Array<char> to;
};

/// Median and quartiles of seconds.
Timing summarize(std::vector<double> seconds);

/// Samples of one product. Those that were disturbed count only as long as there are no others.
class Samples {
 public:
  void add(const Sample& sample) { (sample.disturbed ? disturbed_ : undisturbed_).push_back(sample.seconds); }
  [[nodiscard]] bool any_undisturbed() const { return !undisturbed_.empty(); }
  [[nodiscard]] bool all_disturbed() const { return undisturbed_.empty() && !disturbed_.empty(); }
  [[nodiscard]] Timing timing() const { return summarize(undisturbed_.empty() ? disturbed_ : undisturbed_); }
  /// There are undisturbed ones whose quartiles are close enough, for how many there are, to tell candidates
  /// `resolution` apart.
  [[nodiscard]] bool is_precise(double resolution) const;

 private:
  std::vector<double> undisturbed_;
  std::vector<double> disturbed_;
};

}  // namespace autospmv
