// Whether a candidate's product is right, and nothing else touched.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/trial.hpp"
#include "core/verify/probe.hpp"
#include "core/verify/random.hpp"
#include "core/verify/reference.hpp"
#include "formats/format.hpp"
#include "tuner/measure/caller_stream.hpp"

namespace autospmv {

/// x and y between guards, and the reference products that every candidate of one matrix is compared with. Fresh random
/// numbers for every matrix, so that no candidate can win by having seen them.
///
/// Two products check every row: y = A x, with y not a number before, and y = alpha A x + beta y. One reference serves
/// both, for it takes longer, and more memory, than the products of a candidate. Where rounding may hide one nonzero of
/// a row (see strict_terms), others follow: the columns are dealt out into classes at random, at least four and so many
/// that each has about walk_terms of the longest row at most, and for each class x is zero outside of it, which makes
/// the other terms exact. Where columns are repeated, or strict_terms of a row take fewer products, there are as many
/// classes as that asks for. So of a row of any length whose terms are of like magnitude,
/// - a nonzero that is left out, counted twice or added to another row is always found,
/// - one that is multiplied with another element of x is found unless the two happen to be as close to each other as
///   rounding is large: with a probability of 1 - 4 x 10^-4 in float for a row of 60 nonzeros, of 0.9 for any row, and
///   of 1 - 2 x 10^-4 in double for one of a million,
/// - a y that is read where beta is 0, a forgotten or wrong alpha or beta, writes into x or within probe_guard
///   elements of x or y, and reads within as many of x, which are not numbers, are always found.
/// A right kernel passes in whatever order it adds, of long rows with the probability that walk_factor stands for. x is
/// scaled by a power of two so that no sum overflows and the largest products do not underflow.
template <class T>
class Verifier {
 public:
  /// Draws the vectors and computes the reference products. The matrix lies in the device's memory and outlives the
  /// verifier; its longest row has so many nonzeros, and its values are so large (see largest_magnitude()), where that
  /// is known.
  Verifier(const CsrView<T>& matrix, const Device& device, std::uint64_t seed, std::int64_t longest = unknown_length,
           std::optional<double> magnitude = {});

  /// Multiplies on the setup stream and notes outcome, detail and worst error; complete when this returns. Where the
  /// first product took longer than `limit` seconds, it is computed once more: where that does too, its time is noted
  /// as well, as the one warm sample of a candidate that is not worth a second look.
  void verify(const Operator<T>& op, Measurement& measurement, double limit = std::numeric_limits<double>::infinity()) {
    begin(op);
    finish(op, measurement, limit);
  }

  /// In two steps. What begins waits for nothing, so that there is something else to do meanwhile.
  void begin(const Operator<T>& op);
  void finish(const Operator<T>& op, Measurement& measurement, double limit = std::numeric_limits<double>::infinity());

  /// What to time products with: no element is 0.
  [[nodiscard]] const T* x() const { return probe_.x(); }
  [[nodiscard]] T* y() { return probe_.y(); }

 private:
  // A product that verifies, and what it must be.
  struct Check {
    RandomVector x;
    T alpha;
    T beta;
    std::optional<Reference> reference;  ///< none: the first check's, scaled
  };

  /// With a reference of its own for those rows.
  void add_check(const RandomVector& x, bool scaled, const Array<LongRow>& rows, std::int64_t longest);
  /// What the vectors are before it.
  [[nodiscard]] Drawn drawn_for(const Check& check) const { return {check.x, y_, check.beta != T{0}}; }
  void multiply(const Operator<T>& op, const Check& check);
  void look(const Check& check, const Check& next);
  [[nodiscard]] bool is_slow(const Operator<T>& op, double limit);

  CsrView<T> matrix_;
  Place place_;
  Probe<T> probe_;
  RandomVector y_;  // before a product, where beta is not 0
  std::vector<Check> checks_;
  std::unique_ptr<Stopwatch> watch_;
};

extern template class Verifier<float>;
extern template class Verifier<double>;

}  // namespace autospmv
