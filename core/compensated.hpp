// One row of the reference product, the same on host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.hpp"
#include "core/reference.hpp"

namespace autospmv {

/// A sum of products in twice double precision: Dot2 of Ogita, Rump, Oishi, "Accurate sum and dot product", 2005.
/// Beside it runs the plain sum, which keeps the infinities and NaNs that the error terms would destroy.
struct CompensatedSum {
  double sum = 0;
  double error = 0;
  double plain = 0;
  double scale = 0;  ///< sum of the magnitudes

  AUTOSPMV_HD void add_product(double a, double b) {
    const double product = a * b;
    const double product_error = std::fma(a, b, -product);
    add(product, product_error);
    plain += product;
    scale += std::fabs(product);
  }

  AUTOSPMV_HD void merge(const CompensatedSum& other) {
    add(other.sum, other.error);
    plain += other.plain;
    scale += other.scale;
  }

  [[nodiscard]] AUTOSPMV_HD double value() const { return std::isfinite(plain) ? sum + error : plain; }

 private:
  // Knuth's TwoSum: the rounding error of sum + term, exactly.
  AUTOSPMV_HD void add(double term, double term_error) {
    const double total = sum + term;
    const double shadow = total - sum;
    error += ((sum - (total - shadow)) + (term - shadow)) + term_error;
    sum = total;
  }
};

/// Writes a finished row: alpha (A x)_row + beta y0_row and its scale. y0 is not read where beta is 0.
template <class T>
AUTOSPMV_HD void finish_row(const CompensatedSum& row_sum, T alpha, T beta, const T* y0, std::int64_t row,
                            double* product, double* scale) {
  CompensatedSum total;
  if (beta != T{0}) total.add_product(beta, y0[row]);
  total.add_product(alpha, row_sum.value());
  product[row] = total.value();
  scale[row] = std::fabs(static_cast<double>(alpha)) * row_sum.scale +
               (beta != T{0} ? std::fabs(static_cast<double>(beta) * static_cast<double>(y0[row])) : 0.0);
}

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

/// |y - r| over its bound, or infinity where a special value is not what it should be.
template <class T>
AUTOSPMV_HD double row_error(T y, double r, double scale, std::int64_t npr) {
  using P = Precision<T>;
  if (std::isnan(r)) return std::isnan(y) ? 0.0 : HUGE_VAL;
  if (std::fabs(r) > P::largest) return static_cast<double>(y) == (r > 0 ? HUGE_VAL : -HUGE_VAL) ? 0.0 : HUGE_VAL;
  const double difference = std::fabs(static_cast<double>(y) - r);
  if (difference == 0) return 0.0;
  // Products below the normal range lose absolute, not relative, precision: a tiny amount for every term.
  const double terms = static_cast<double>(npr + 4);
  const double error = difference / (2 * terms * (P::unit_roundoff * scale + P::smallest_normal));
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
