#include "tuner/online/trial_builder.hpp"

#include <exception>
#include <random>

#include "core/error.hpp"
#include "tuner/measure/clock.hpp"
#include "tuner/measure/conversion.hpp"

namespace autospmv {

template <class T>
std::unique_ptr<Operator<T>> TrialBuilder<T>::build(const Prospect& prospect, Verification verification, double limit,
                                                    Database& database, const TrialKey& key, Measurement& measurement) {
  launch_ = std::make_unique<FirstLaunch>(database, key, prospect.candidate);
  std::unique_ptr<Operator<T>> op;
  try {
    op = convert(matrix_->on(device_), prospect.candidate, device_, formats_, measurement);
    if (op != nullptr && verification == Verification::due) verifier()->verify(*op, measurement, limit);
    if (measurement.warm.samples > 0) op.reset();
  } catch (const std::exception& error) {
    op.reset();
    note_failure(measurement, error);
    // A sticky error would fail every later trial too.
    try {
      synchronize(device_, setup_stream(device_));
    } catch (...) {
      launch_.reset();
      throw;
    }
  }
  if (measurement.outcome != Outcome::passed) op.reset();
  if (op == nullptr) survive();
  return op;
}

template <class T>
double TrialBuilder<T>::verify(const Operator<T>& op, Measurement& measurement,
                               const std::function<void()>& meanwhile) {
  const auto verifier = this->verifier();
  const auto start = Clock::now();
  verifier->begin(op);
  const double begun = seconds_since(start);
  meanwhile();
  const auto end = Clock::now();
  verifier->finish(op, measurement);
  return begun + seconds_since(end);
}

template <class T>
std::shared_ptr<Verifier<T>> TrialBuilder<T>::verifier() {
  std::optional<double> magnitude;
  {
    const std::scoped_lock lock(mutex_);
    if (verifier_) return verifier_;
    magnitude = magnitude_;
  }
  auto made = std::make_shared<Verifier<T>>(matrix_->on(device_), device_, std::random_device{}(),
                                            matrix_->longest_row().value_or(unknown_length), magnitude);
  const std::scoped_lock lock(mutex_);
  verifier_ = made;
  return made;
}

template <class T>
void TrialBuilder<T>::forget_references() {
  const std::scoped_lock lock(mutex_);
  verifier_.reset();
  magnitude_.reset();
}

template class TrialBuilder<float>;
template class TrialBuilder<double>;

}  // namespace autospmv
