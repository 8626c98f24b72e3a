// From a candidate to an operator that gives the right product, beside the products of the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/matrix/matrix_data.hpp"
#include "core/trial.hpp"
#include "db/database.hpp"
#include "tuner/measure/first_launch.hpp"
#include "tuner/measure/verifier.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv {

enum class Verification : std::uint8_t { due, done_before };

/// Called with the values of the matrix held, by one thread at a time.
template <class T>
class TrialBuilder {
 public:
  TrialBuilder(std::shared_ptr<const MatrixData<T>> matrix, const Device& device, FormatLookup<T> formats)
      : matrix_(std::move(matrix)), device_(device), formats_(std::move(formats)) {}

  /// Converts and verifies it, and notes what came of that; nullptr unless it passed. Where the product that verifies
  /// it takes longer than `limit` seconds, that is its measurement, and it is not returned either. Throws DeviceError
  /// only where the device no longer answers.
  [[nodiscard]] std::unique_ptr<Operator<T>> build(const Prospect& prospect, Verification verification, double limit,
                                                   Database& database, const TrialKey& key, Measurement& measurement);

  /// To be called once what was built is in use: nobody died of it. To write that down need not keep it waiting.
  void survive() {
    if (launch_) launch_->survive();
    launch_.reset();
  }

  /// Verifies an operator that there is, and calls meanwhile() once that has begun, which a device does not wait for.
  /// Seconds that took, without the reference products and what was done meanwhile.
  double verify(const Operator<T>& op, Measurement& measurement, const std::function<void()>& meanwhile);

  /// How large the values are, see largest_magnitude().
  void note_magnitude(std::optional<double> magnitude) {
    const std::scoped_lock lock(mutex_);
    magnitude_ = magnitude;
  }

  /// The values are others now, or nothing is tried any more. From any thread.
  void forget_references();

 private:
  [[nodiscard]] std::shared_ptr<Verifier<T>> verifier();

  std::shared_ptr<const MatrixData<T>> matrix_;
  Device device_;
  FormatLookup<T> formats_;
  std::unique_ptr<FirstLaunch> launch_;  // of what was built last
  std::mutex mutex_;
  // Guarded by mutex_; none where the values have changed.
  std::shared_ptr<Verifier<T>> verifier_;
  std::optional<double> magnitude_;
};

extern template class TrialBuilder<float>;
extern template class TrialBuilder<double>;

}  // namespace autospmv
