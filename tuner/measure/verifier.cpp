#include "tuner/measure/verifier.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/machine/turns.hpp"
#include "core/verify/long_rows.hpp"
#include "core/verify/magnitude.hpp"
#include "tuner/measure/meter.hpp"

namespace autospmv {

namespace {

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

// What is wrong; empty: nothing.
std::string fault_of(const Findings& findings) {
  const auto& comparison = findings.comparison;
  if (!comparison.passed()) {
    return std::to_string(comparison.wrong_rows) + " rows, the first of them " + std::to_string(comparison.first_wrong);
  }
  if (!findings.y_guards_intact) return "wrote outside of y";
  return findings.x_intact ? "" : "changed x";
}

}  // namespace

template <class T>
Verifier<T>::Verifier(const CsrView<T>& matrix, const Device& device, std::uint64_t seed, std::int64_t longest,
                      std::optional<double> magnitude)
    : matrix_(matrix), place_(device), probe_(matrix.cols, matrix.rows, device), watch_(make_stopwatch(device)) {
  const double largest = magnitude ? *magnitude : largest_magnitude(matrix.values, matrix.nnz, place_);
  const double scale = std::ldexp(1.0, exponent_of_scale<T>(largest));
  // As large as a term.
  y_ = {seed, largest > 0 ? std::ldexp(scale, std::ilogb(largest)) : 1};
  const RandomVector x{mix64(seed), scale};
  add_check(x, false, {}, longest);
  checks_.push_back({x, static_cast<T>(some_alpha), static_cast<T>(some_beta), {}});
  const auto rows = longest > strict_terms<T> ? long_rows(matrix, strict_terms<T>, place_) : std::vector<LongRow>{};
  if (!rows.empty()) {
    Array<LongRow> on_device(rows.size(), place_);
    on_device.assign(rows, setup_stream(place_));
    const auto classes = classes_for<T>(rows);
    for (std::int64_t chosen = 0; chosen < classes; ++chosen) {
      add_check({mix64(seed + 2), scale, classes, chosen}, chosen % 2 != 0, on_device, longest);
    }
    probe_.prepare(drawn_for(checks_.front()));
  }
}

template <class T>
void Verifier<T>::add_check(const RandomVector& x, bool scaled, const Array<LongRow>& rows, std::int64_t longest) {
  Check check{x, scaled ? static_cast<T>(some_alpha) : T{1}, scaled ? static_cast<T>(some_beta) : T{0}, {}};
  probe_.prepare(drawn_for(check));
  check.reference = reference_product(matrix_, check.alpha, this->x(), check.beta, y(), place_, rows, longest);
  checks_.push_back(std::move(check));
}

template <class T>
void Verifier<T>::multiply(const Operator<T>& op, const Check& check) {
  const auto stream = setup_stream(place_);
  const bool timed = &check == &checks_.front();
  // From without: a product may hold what a caller's product by the same operator needs.
  const DriverTurn turn(place_.backend);
  if (timed) watch_->start(stream);
  op.apply(check.alpha, x(), check.beta, y(), stream);
  if (timed) watch_->stop(stream);
}

template <class T>
void Verifier<T>::look(const Check& check, const Check& next) {
  if (check.reference) return probe_.look(*check.reference, nullptr, drawn_for(next));
  const Scaled<T> scaled{check.alpha, check.beta, y_, matrix_.row_ptr};
  probe_.look(checks_.front().reference.value(), &scaled, drawn_for(next));
}

// The first product of a kernel in a process loads it, which may take longer than any product: only a second one
// counts.
template <class T>
bool Verifier<T>::is_slow(const Operator<T>& op, double limit) {
  multiply(op, checks_.front());
  synchronize(place_, setup_stream(place_));
  return watch_->seconds() > limit;
}

// One after another without waiting: on a device, to ask for what was found takes longer than most products.
template <class T>
void Verifier<T>::begin(const Operator<T>& op) {
  (void)probe_.take_findings();  // of one that could not be launched
  probe_.prepare(drawn_for(checks_.front()));
  for (auto check = checks_.begin(); check != checks_.end(); ++check) {
    const auto next = std::next(check);
    multiply(op, *check);
    look(*check, next == checks_.end() ? checks_.front() : *next);
  }
}

template <class T>
void Verifier<T>::finish(const Operator<T>& op, Measurement& measurement, double limit) {
  measurement.outcome = Outcome::passed;
  measurement.worst_error = 0;
  for (const auto& findings : probe_.take_findings()) {
    measurement.worst_error = std::max(measurement.worst_error, findings.comparison.worst_error);
    measurement.detail = fault_of(findings);
    if (measurement.detail.empty()) continue;
    measurement.outcome = Outcome::wrong_answer;
    break;
  }
  if (measurement.outcome == Outcome::passed && watch_->seconds() > limit && is_slow(op, limit)) {
    measurement.warm = summarize({watch_->seconds()});
  }
}

template class Verifier<float>;
template class Verifier<double>;

}  // namespace autospmv
