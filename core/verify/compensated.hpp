// One row of the reference product and its bound, the same on host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/machine/host_device.hpp"
#include "core/verify/reference.hpp"

namespace autospmv {

/// A sum of products in twice double precision: Dot2 of Ogita, Rump, Oishi, "Accurate sum and dot product", 2005.
/// Infinities and NaNs are kept beside it, for its error terms would destroy them.
struct CompensatedSum {
  double sum = 0;
  double error = 0;
  double special = 0;      ///< sum of the products with an infinity or a NaN in them, 0 where there are none
  double magnitude = 0;    ///< sum of the magnitudes of the others; infinite where one of them overflows
  double square = 0;       ///< sum of their squares
  std::int64_t terms = 0;  ///< products of nothing but nonzeros: no other is rounded

  AUTOSPMV_HD void add_product(double a, double b) {
    const double product = a * b;
    terms += a != 0 && b != 0 ? 1 : 0;
    if (std::isfinite(product)) {
      add(product, std::fma(a, b, -product));
    } else if (!std::isfinite(a) || !std::isfinite(b)) {
      special += product;
      return;
    }
    magnitude += std::fabs(product);
    square += product * product;
  }

  AUTOSPMV_HD void merge(const CompensatedSum& other) {
    add(other.sum, other.error);
    special += other.special;
    magnitude += other.magnitude;
    square += other.square;
    terms += other.terms;
  }

  [[nodiscard]] AUTOSPMV_HD double value() const { return special == 0 ? sum + error : special; }

 private:
  // Knuth's TwoSum: the rounding error of sum + term, exactly.
  AUTOSPMV_HD void add(double term, double term_error) {
    const double total = sum + term;
    const double shadow = total - sum;
    error += ((sum - (total - shadow)) + (term - shadow)) + term_error;
    sum = total;
  }
};

/// What the type a product was computed in can hold.
template <class T>
struct Precision;
template <>
struct Precision<float> {
  static constexpr double unit_roundoff = 0x1p-24, smallest_normal = 0x1p-126, largest = 0x1.fffffep127;
};
template <>
struct Precision<double> {
  static constexpr double unit_roundoff = 0x1p-53, smallest_normal = 0x1p-1022, largest = 0x1.fffffffffffffp1023;
};

/// A row y = alpha S + beta y0 that is to be bounded: S has `sum.terms` terms.
struct BoundedRow {
  const CompensatedSum& sum;
  double alpha;          ///< its magnitude
  double added;          ///< |beta y0|
  std::int64_t repeats;  ///< as in LongRow; 0: not known, or x is anything
};

/// How far a right product of the row may be from the exact one, as Reference says. Infinite where sums may overflow
/// in one order and not in another.
template <class T>
AUTOSPMV_HD double bound_of(const BoundedRow& row) {
  using P = Precision<T>;
  const auto& sum = row.sum;
  const double most = (row.alpha > 1 ? row.alpha : 1) * sum.magnitude + row.added;
  if (!(most <= P::largest / 4)) return HUGE_VAL;
  // Those beside the terms are the roundings by alpha, by beta and of the reference.
  const auto roundings = static_cast<double>(sum.terms + 8);
  double bound = P::unit_roundoff * roundings * (row.alpha * sum.magnitude + row.added);
  const double steps = row.alpha * row.alpha * sum.square + row.added * row.added;
  // Smaller squares may have come to nothing.
  if (row.repeats > 0 && steps > 0x1p-900) {
    const double walk =
        walk_factor * P::unit_roundoff * static_cast<double>(row.repeats) * std::sqrt(roundings * steps);
    bound = walk < bound ? walk : bound;
  }
  // Products below the normal range lose absolute, not relative, precision: a tiny amount for every term.
  return bound + roundings * (1 + row.alpha) * P::smallest_normal;
}

/// A row of which no more is known than where it lies.
template <class Offset>
AUTOSPMV_HD LongRow any_row(const Offset* row_ptr, std::int64_t row) {
  return {row, row_ptr[row], row_ptr[row + 1] - row_ptr[row], 0};
}

/// Where a reference is written.
struct ReferenceArrays {
  double* product;
  double* bound;
  std::int64_t* rows;  ///< nullptr: of all rows

  explicit ReferenceArrays(Reference& reference)
      : product(reference.product.data()), bound(reference.bound.data()), rows(reference.rows.data()) {}
};

/// Writes element i of the reference: alpha (A x)_row + beta y0_row, and its bound. y0 is not read where beta is 0.
template <class T>
AUTOSPMV_HD void finish_row(const CompensatedSum& row_sum, T alpha, T beta, const T* y0, const LongRow& row,
                            std::int64_t i, const ReferenceArrays& reference) {
  if (reference.rows != nullptr) reference.rows[i] = row.row;
  const double added = beta == T{0} ? 0.0 : static_cast<double>(beta) * static_cast<double>(y0[row.row]);
  reference.bound[i] = bound_of<T>({row_sum, std::fabs(static_cast<double>(alpha)), std::fabs(added), row.repeats});
  if (row_sum.special != 0) {
    reference.product[i] = static_cast<double>(alpha) * row_sum.special + added;
    return;
  }
  if (alpha == T{1} && beta == T{0}) {
    reference.product[i] = row_sum.value();
    return;
  }
  CompensatedSum total;
  if (beta != T{0}) total.add_product(beta, y0[row.row]);
  total.add_product(alpha, row_sum.sum);
  total.add_product(alpha, row_sum.error);
  reference.product[i] = total.value();
}

/// What element i of a product must be, and how far from it a right one may be.
struct ExpectedRow {
  double product;
  double bound;

  /// Of a row of `length` nonzeros at most that is then multiplied by alpha and added to `added`, the product of beta
  /// and an element of y: where finish_row() would have come to, all the length taken for terms of the second.
  template <class T>
  [[nodiscard]] AUTOSPMV_HD ExpectedRow scaled(T alpha, double added, std::int64_t length) const {
    using P = Precision<T>;
    const auto factor = static_cast<double>(alpha);
    const auto roundings = static_cast<double>(length + 8);
    const double tiny = (1 + std::fabs(factor)) * P::smallest_normal;
    return {factor * product + added,
            std::fabs(factor) * bound + roundings * (P::unit_roundoff * std::fabs(added) + tiny)};
  }
};

/// |y - r| over its bound, or infinity where a special value is not what it should be.
template <class T>
AUTOSPMV_HD double row_error(T y, double r, double bound) {
  if (!(bound < HUGE_VAL)) return 0.0;
  if (std::isnan(r)) return std::isnan(y) ? 0.0 : HUGE_VAL;
  if (std::isinf(r)) return static_cast<double>(y) == r ? 0.0 : HUGE_VAL;
  const double error = std::fabs(static_cast<double>(y) - r) / bound;
  return std::isnan(error) ? HUGE_VAL : error;
}

inline Comparison judge(double error, std::int64_t row) {
  return error <= 1 ? Comparison{error, 0, -1} : Comparison{error, 1, row};
}

inline Comparison combine(const Comparison& a, const Comparison& b) {
  return {a.worst_error < b.worst_error ? b.worst_error : a.worst_error, a.wrong_rows + b.wrong_rows,
          a.first_wrong >= 0 ? a.first_wrong : b.first_wrong};
}

}  // namespace autospmv
