// Predicted times from the features alone: what a format says that it moves over the bandwidth, and what its threads
// do over the threads that the device holds, with a few coefficients of the device. It ranks candidates where nothing
// better is known, and is what the history of other matrices corrects.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/device.hpp"
#include "formats/format.hpp"

namespace autospmv {

/// What a device's launches, caches and conversions cost. The defaults order candidates sensibly on any device;
/// fit_coefficients() finds better ones from recorded trials.
struct Coefficients {
  double launch_seconds = 0;       ///< of each kernel of a product
  double latency_seconds = 0;      ///< of any product, however small
  double cache_speedup = 1;        ///< bandwidth of the last-level cache over that of memory
  double wave_seconds = 0;         ///< of as many threads as the device holds at once, beside their steps (Cost::walk)
  double step_seconds = 0;         ///< of one step of all of them
  double single_step_seconds = 0;  ///< of one step of a thread that others wait for
  double work_seconds = 0;         ///< of what a thread computes in a nanosecond where Cost::work was measured
  double conversion_seconds = 0;   ///< of any conversion, however small: allocations, launches, turns of the host
  double conversion_passes = 0;    ///< how often it moves the bytes of CSR and of what it stores

  friend bool operator==(const Coefficients&, const Coefficients&) = default;
};

/// Sane values for a backend where nothing was recorded.
Coefficients default_coefficients(Backend backend);

/// One entry of the table by which coefficients are stored and shown.
struct CoefficientInfo {
  std::string_view name;
  std::string_view unit;
  double Coefficients::*member;
  double least;  ///< what a fit or a database may say
  double most;
};
std::span<const CoefficientInfo> coefficient_table();

class CostModel {
 public:
  /// `bandwidth` is that of a copy, bytes a second.
  CostModel(const Device& device, double bandwidth, const Coefficients& coefficients)
      : cache_bytes_(static_cast<double>(device.cache_bytes)),
        threads_(std::max(
            1.0, static_cast<double>(device.multiprocessors) * static_cast<double>(device.threads_of_multiprocessor))),
        processors_(std::max(1, device.multiprocessors)),
        bandwidth_(bandwidth),
        coefficients_(coefficients) {}

  /// Of one product, warm.
  [[nodiscard]] double product_seconds(const Cost& cost) const;

  /// What memory alone takes for the bytes that no cache serves: no product is faster, whatever others were.
  [[nodiscard]] double memory_seconds(const Cost& cost) const;

  /// Of building it from CSR arrays of so many bytes; 0 where it needs no storage of its own.
  [[nodiscard]] double conversion_seconds(const Cost& cost, double csr_bytes) const;

  /// Standard deviation of the logarithm of what products take over product_seconds().
  static constexpr double deviation = 0.4;

  [[nodiscard]] double bandwidth() const { return bandwidth_; }
  [[nodiscard]] const Coefficients& coefficients() const { return coefficients_; }

  friend bool operator==(const CostModel&, const CostModel&) = default;

 private:
  [[nodiscard]] double cached_share(double bytes) const;

  double cache_bytes_;
  double threads_;  // that the device holds at once
  double processors_;
  double bandwidth_;
  Coefficients coefficients_;
};

/// Of numbers that it may put into another order; 0 of none.
double median(std::vector<double>& values);

/// What a fit starts from: one trial that passed.
struct CostSample {
  std::size_t group = 0;  ///< of trials that share an unknown factor: those of one format
  Cost cost;
  double csr_bytes = 0;
  double product_seconds = 0;  ///< measured
  double setup_seconds = 0;    ///< likewise
};

struct CoefficientFit {
  Coefficients coefficients;
  double error_before = 0;  ///< mean absolute error of log2(measured / predicted) about the median of each group
  double error_after = 0;
  double setup_error_before = 0;
  double setup_error_after = 0;
};

/// The coefficients that predict the samples best, up to a factor for each group, by a search along one coefficient
/// after the other, from `start` on. Without samples it returns `start`.
CoefficientFit fit_coefficients(const Device& device, double bandwidth, const Coefficients& start,
                                std::span<const CostSample> samples);

}  // namespace autospmv
