// What the steps of a tuning beside the caller's products are expected to take of him: arithmetic, without a clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/machine/device.hpp"
#include "tuner/search/search.hpp"

namespace autospmv {

/// Products of plain CSR, which pass over the matrix once, more of them where rows have few nonzeros, for work that has
/// to do with rows and vectors, and seconds besides.
struct StepCost {
  double products = 0;
  double products_of_rows = 0;  ///< divided by the nonzeros of a row
  double seconds = 0;
};

/// What comes before the first candidate.
struct StepCosts {
  StepCost plain_loop;  ///< the time that one takes
  StepCost key;         ///< fingerprint, and a look into the database
  StepCost features;
  StepCost prediction;  ///< of all candidates, where nothing of other matrices has to be read
  StepCost references;  ///< for verification, and plain CSR's own
  StepCost candidate;   ///< what one asks for at least

  static const StepCosts& of(Backend backend) {
    // What is per row is new memory, most of it: to touch it for the first time takes far longer than to read it.
    static constexpr StepCosts host{{0.5, 0, 1e-5}, {2.5, 2, 2e-4}, {3, 5, 2e-4},
                                    {0, 0, 5e-4},   {4, 32, 1e-4},  {8, 0, 0}};
    // The prediction runs on a processor that nobody's products need.
    static constexpr StepCosts device{{}, {2, 0, 3e-4}, {3, 0, 2e-4}, {}, {8, 0, 6e-4}, {}};
    return backend == Backend::host ? host : device;
  }
};

/// Seconds by which a step has slowed so many products down, of which one took `watched` where it takes `alone`: each
/// as much as that one, but all together no more than the time that has passed leaves. That may be less than they take,
/// where the caller does not wait for them: then they have not all run.
inline double slowing_of(std::int64_t products, double watched, double alone, double passed) {
  const double each = std::max(0.0, watched - alone);
  const double all = static_cast<double>(products) * alone;
  const double most = passed > all ? passed - all : passed;
  return std::min(static_cast<double>(products) * each, std::max(each, most));
}

/// On the host the caller waits for every step. On a device steps run beside his products, which they slow down: a
/// share of what they take themselves, for most of it they wait.
class StepPrices {
 public:
  /// Of a matrix of so many nonzeros a row.
  StepPrices(Backend backend, double nonzeros_of_row)
      : on_host_(backend == Backend::host),
        nonzeros_of_row_(std::max(1.0, nonzeros_of_row)),
        overrun_(on_host_ ? 2 : 3) {}

  /// On a device, so many more seconds of steps have slowed the products beside them down by so many.
  void note(double worked, double slowed) {
    worked_ += worked;
    slowed_ += slowed;
  }

  /// A conversion took so many seconds where others were expected. On a device the first loads its kernels, which says
  /// nothing of the next.
  void note_conversion(double expected, double taken) {
    if (on_host_ && expected > 0) overrun_ = std::max(least_overrun, taken / expected);
  }

  /// Seconds of the caller, where a product of plain CSR takes so many.
  [[nodiscard]] double of(StepCost cost, double plain) const {
    const double seconds = (cost.products + cost.products_of_rows / nonzeros_of_row_) * plain + cost.seconds;
    return on_host_ ? seconds : std::min(1.0, slowed_ / worked_) * seconds;
  }

  /// A trial of a candidate whose conversion and whose product are expected to take so many seconds: it is converted,
  /// verified by two products, beside what plain CSR's verification took as well, and then timed.
  [[nodiscard]] double of_trial(double setup, double seconds, double verification, double plain, double best) const {
    const double verified = std::max(0.0, verification - 2 * plain) + 2 * seconds;
    return of({.seconds = overrun_ * setup + verified}, plain) +
           of_timed_calls(on_host_ ? doubt_of_products * seconds : seconds, best);
  }

  /// What the products by which a candidate is timed take more than as many of the best.
  [[nodiscard]] static double of_timed_calls(double seconds, double best) {
    return SearchRules{}.products_of_trial * std::max(0.0, seconds - best);
  }

 private:
  // What promises most of many has mostly been overrated.
  static constexpr double doubt_of_products = 1.4;
  static constexpr double least_overrun = 1.5;

  bool on_host_;
  double nonzeros_of_row_;
  double overrun_;  // what conversions take over what is expected of them
  // Until it is measured, as if it had been for 2 ms.
  double worked_ = 2e-3;
  double slowed_ = 0.2 * 2e-3;
};

}  // namespace autospmv
