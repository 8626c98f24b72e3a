#include "tuner/verifier.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/equal.hpp"
#include "core/long_rows.hpp"
#include "core/magnitude.hpp"
#include "tuner/meter.hpp"

namespace autospmv {

namespace {

constexpr int not_a_number = 0xff;  // as every byte of a float or a double

// Digits in each of them, so that one that is applied twice, left out or applied to the other's vector tells.
constexpr double some_alpha = -0.7;
constexpr double some_beta = 0.6;

// The power of two that keeps the largest values this far from where they overflow or underflow, which leaves room for
// sums of as many as there can be.
template <class T>
int exponent_of_scale(double largest) {
  constexpr int room = 64;
  using Limits = std::numeric_limits<T>;
  const int exponent = largest > 0 ? std::ilogb(largest) : 0;
  return std::clamp(exponent, Limits::min_exponent + room, Limits::max_exponent - room) - exponent;
}

std::int64_t shares(std::int64_t size, std::int64_t most) { return (size + most - 1) / most; }

// Classes of columns that leave few enough terms of every long row.
template <class T>
std::int64_t classes_for(const std::vector<LongRow>& rows) {
  // So that an element of x is hardly ever taken for another of its class.
  std::int64_t classes = 4;
  for (const auto& row : rows) {
    classes = std::max(classes,
                       std::min(shares(row.length * row.repeats, walk_terms<T>), shares(row.length, strict_terms<T>)));
  }
  return classes;
}

}  // namespace

template <class T>
Verifier<T>::Verifier(const CsrView<T>& matrix, const Device& device, std::uint64_t seed)
    : matrix_(matrix),
      place_(device),
      guarded_x_(static_cast<std::size_t>(matrix.cols) + 2 * guard, device),
      guarded_x_copy_(guarded_x_.size(), device),
      guarded_y_(static_cast<std::size_t>(matrix.rows) + 2 * guard, device),
      watch_(make_stopwatch(device)) {
  const double largest = largest_magnitude(matrix.values, matrix.nnz, place_);
  const double scale = std::ldexp(1.0, exponent_of_scale<T>(largest));
  // As large as a term.
  y_ = {seed, largest > 0 ? std::ldexp(scale, std::ilogb(largest)) : 1};
  add_check({mix64(seed), scale}, false, {});
  add_check({mix64(seed + 1), scale}, true, {});
  const auto rows = long_rows(matrix, strict_terms<T>, place_);
  if (!rows.empty()) {
    const auto on_device = Array<LongRow>::copy_of(rows, place_);
    const auto classes = classes_for<T>(rows);
    for (std::int64_t chosen = 0; chosen < classes; ++chosen) {
      add_check({mix64(seed + 2), scale, classes, chosen}, chosen % 2 != 0, on_device);
    }
  }
  draw_x(checks_.front());
}

template <class T>
void Verifier<T>::add_check(const RandomVector& x, bool scaled, const Array<LongRow>& rows) {
  Check check{x, scaled ? static_cast<T>(some_alpha) : T{1}, scaled ? static_cast<T>(some_beta) : T{0}, {}};
  draw_x(x);
  prepare_y(check.beta);
  check.reference = reference_product(matrix_, check.alpha, this->x(), check.beta, y(), place_, rows);
  checks_.push_back(std::move(check));
}

template <class T>
void Verifier<T>::draw_x(const RandomVector& x) {
  const auto stream = setup_stream(place_);
  const auto bytes = static_cast<std::size_t>(guarded_x_.bytes());
  for (auto* beside : {guarded_x_.data(), guarded_x_.data() + guarded_x_.size() - guard}) {
    fill_bytes(beside, not_a_number, guard * sizeof(T), place_, stream);
  }
  fill_random(guarded_x_.data() + guard, matrix_.cols, x, place_, stream);
  copy_bytes(guarded_x_copy_.data(), guarded_x_.data(), bytes, place_, stream);
}

// Many candidates are multiplied with the same x, and timed with that of the first check.
template <class T>
void Verifier<T>::draw_x(const Check& check) {
  if (drawn_ == &check) return;
  drawn_ = nullptr;
  draw_x(check.x);
  drawn_ = &check;
}

template <class T>
void Verifier<T>::prepare_y(T beta) {
  const auto stream = setup_stream(place_);
  fill_bytes(guarded_y_.data(), guard_byte, static_cast<std::size_t>(guarded_y_.bytes()), place_, stream);
  if (beta == T{0}) {
    fill_bytes(y(), not_a_number, static_cast<std::size_t>(matrix_.rows) * sizeof(T), place_, stream);
  } else {
    fill_random(y(), matrix_.rows, y_, place_, stream);
  }
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
  return equal_bytes(guarded_x_.data(), guarded_x_copy_.data(), static_cast<std::size_t>(guarded_x_.bytes()), place_);
}

template <class T>
void Verifier<T>::multiply(const Operator<T>& op, const Check& check) {
  draw_x(check);
  prepare_y(check.beta);
  const auto stream = setup_stream(place_);
  watch_->start(stream);
  op.apply(check.alpha, x(), check.beta, y(), stream);
  watch_->stop(stream);
}

template <class T>
std::string Verifier<T>::fault_of(const Check& check, Measurement& measurement) {
  const auto comparison = compare(check.reference, static_cast<const T*>(y()), place_);
  measurement.worst_error = std::max(measurement.worst_error, comparison.worst_error);
  if (!comparison.passed()) {
    return std::to_string(comparison.wrong_rows) + " rows, the first of them " + std::to_string(comparison.first_wrong);
  }
  if (!guards_intact()) return "wrote outside of y";
  if (x_intact()) return {};
  drawn_ = nullptr;
  return "changed x";
}

// The first product of a kernel in a process loads it, which may take longer than any product: only a second one
// counts.
template <class T>
bool Verifier<T>::is_slow(const Operator<T>& op, double limit) {
  multiply(op, checks_.front());
  synchronize(place_, setup_stream(place_));
  return watch_->seconds() > limit;
}

template <class T>
void Verifier<T>::verify(const Operator<T>& op, Measurement& measurement, double limit) {
  measurement.outcome = Outcome::passed;
  measurement.worst_error = 0;
  double first_seconds = 0;
  for (const auto& check : checks_) {
    multiply(op, check);
    measurement.detail = fault_of(check, measurement);
    if (!measurement.detail.empty()) {
      measurement.outcome = Outcome::wrong_answer;
      break;
    }
    if (&check == &checks_.front()) first_seconds = watch_->seconds();
  }
  if (measurement.outcome == Outcome::passed && first_seconds > limit && is_slow(op, limit)) {
    measurement.warm = summarize({watch_->seconds()});
  }
  draw_x(checks_.front());
}

template class Verifier<float>;
template class Verifier<double>;

}  // namespace autospmv
