#include "tuner/verifier.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/equal.hpp"
#include "core/random.hpp"
#include "tuner/meter.hpp"

namespace autospmv {

template <class T>
Verifier<T>::Verifier(const CsrView<T>& matrix, const Device& device, std::uint64_t seed)
    : matrix_(matrix),
      place_(device),
      x_(static_cast<std::size_t>(matrix.cols), device),
      x_copy_(static_cast<std::size_t>(matrix.cols), device),
      guarded_y_(static_cast<std::size_t>(matrix.rows) + 2 * guard, device),
      watch_(make_stopwatch(device)) {
  fill_random(x_.data(), matrix.cols, seed, place_, setup_stream(place_));
  fill_random(x_copy_.data(), matrix.cols, seed, place_, setup_stream(place_));
  reference_ = reference_product<T>(matrix, T{1}, x_.data(), T{0}, nullptr, place_);
}

// All bits set: not a number, in float and double alike.
template <class T>
void Verifier<T>::poison_y() {
  const auto stream = setup_stream(place_);
  fill_bytes(guarded_y_.data(), guard_byte, static_cast<std::size_t>(guarded_y_.bytes()), place_, stream);
  fill_bytes(y(), 0xff, static_cast<std::size_t>(guarded_y_.bytes()) - 2 * guard * sizeof(T), place_, stream);
}

template <class T>
bool Verifier<T>::guards_intact() const {
  std::array<unsigned char, guard * sizeof(T)> before{};
  std::array<unsigned char, guard * sizeof(T)> after{};
  const auto stream = setup_stream(place_);
  copy_bytes(before.data(), guarded_y_.data(), before.size(), place_, stream);
  copy_bytes(after.data(), guarded_y_.data() + guarded_y_.size() - guard, after.size(), place_, stream);
  synchronize(place_, stream);
  const auto intact = [](unsigned char byte) { return byte == guard_byte; };
  return std::all_of(before.begin(), before.end(), intact) && std::all_of(after.begin(), after.end(), intact);
}

template <class T>
bool Verifier<T>::x_intact() const {
  return equal_bytes(x_.data(), x_copy_.data(), static_cast<std::size_t>(x_.bytes()), place_);
}

template <class T>
void Verifier<T>::multiply(const Operator<T>& op) {
  const auto stream = setup_stream(place_);
  watch_->start(stream);
  op.apply(T{1}, x(), T{0}, y(), stream);
  watch_->stop(stream);
}

// The first product of a kernel in a process loads it, which may take longer than any product: only a second one
// counts.
template <class T>
void Verifier<T>::note_if_slow(const Operator<T>& op, double limit, Measurement& measurement) {
  if (watch_->seconds() <= limit) return;
  multiply(op);
  synchronize(place_, setup_stream(place_));
  if (watch_->seconds() > limit) measurement.warm = summarize({watch_->seconds()});
}

template <class T>
void Verifier<T>::verify(const Operator<T>& op, Measurement& measurement, double limit) {
  poison_y();
  multiply(op);
  const auto comparison = compare(matrix_, reference_, static_cast<const T*>(y()), place_);
  measurement.worst_error = comparison.worst_error;
  measurement.outcome = Outcome::passed;
  if (!comparison.passed()) {
    measurement.outcome = Outcome::wrong_answer;
    measurement.detail =
        std::to_string(comparison.wrong_rows) + " rows, the first of them " + std::to_string(comparison.first_wrong);
  } else if (!guards_intact()) {
    measurement.outcome = Outcome::wrong_answer;
    measurement.detail = "wrote outside of y";
  } else if (!x_intact()) {
    measurement.outcome = Outcome::wrong_answer;
    measurement.detail = "changed x";
  } else {
    note_if_slow(op, limit, measurement);
  }
}

template class Verifier<float>;
template class Verifier<double>;

}  // namespace autospmv
