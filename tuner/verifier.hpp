// Whether a candidate's product is right, and nothing else touched.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "core/array.hpp"
#include "core/reference.hpp"
#include "core/trial.hpp"
#include "formats/format.hpp"
#include "tuner/caller_stream.hpp"

namespace autospmv {

/// x and a copy of it, and y between two guards, with the reference product that every candidate of one matrix is
/// compared with. Fresh numbers for every one, so that no candidate can win by having seen them.
template <class T>
class Verifier {
 public:
  /// Draws x and computes the reference product. The matrix lies in the device's memory and outlives the verifier.
  Verifier(const CsrView<T>& matrix, const Device& device, std::uint64_t seed);

  /// Multiplies once on the setup stream and notes outcome, detail and worst error; complete when this returns. Passed
  /// is what is within the bound of compare() in every row, wrote nowhere outside of y and left x as it was. What took
  /// longer than `limit` seconds multiplies once more: where that does too, its time is noted as well, as the one warm
  /// sample of a candidate that is not worth a second look.
  void verify(const Operator<T>& op, Measurement& measurement, double limit = std::numeric_limits<double>::infinity());

  [[nodiscard]] const T* x() const { return x_.data(); }
  /// Poisoned before each verification.
  [[nodiscard]] T* y() { return guarded_y_.data() + guard; }

 private:
  // A warp's worth of elements: what an off-by-one or an unguarded tail would touch first.
  static constexpr std::size_t guard = 64;
  static constexpr int guard_byte = 0xa5;

  void multiply(const Operator<T>& op);
  void note_if_slow(const Operator<T>& op, double limit, Measurement& measurement);
  void poison_y();
  [[nodiscard]] bool guards_intact() const;
  [[nodiscard]] bool x_intact() const;

  CsrView<T> matrix_;
  Place place_;
  Array<T> x_;
  Array<T> x_copy_;
  Array<T> guarded_y_;
  Reference reference_;
  std::unique_ptr<Stopwatch> watch_;
};

extern template class Verifier<float>;
extern template class Verifier<double>;

}  // namespace autospmv
