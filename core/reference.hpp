// The product every other product is judged by, and the bound it is judged with.
#pragma once

#include <cstdint>

#include "core/array.hpp"
#include "core/csr.hpp"
#include "core/device.hpp"

namespace autospmv {

/// r = alpha A x + beta y0, summed in twice the working precision (compensated dot product: Ogita, Rump, Oishi,
/// "Accurate sum and dot product", 2005, Algorithm 5.3), and s = |alpha| |A| |x| + |beta| |y0|, row by row.
struct Reference {
  Array<double> product;
  Array<double> scale;
};

/// All pointers lie in the memory of `place`; x has matrix.cols elements, y0 matrix.rows; y0 is not read where beta
/// is 0. Runs on the setup stream, complete when this returns.
template <class T>
Reference reference_product(const CsrView<T>& matrix, T alpha, const T* x, T beta, const T* y0, Place place);

/// How far a product is from its reference. A row passes where |y - r| <= 2 u (npr + 4) s, u the unit roundoff of T
/// and npr its nonzeros (Higham, "Accuracy and Stability of Numerical Algorithms", 3.1), or where y and r are the
/// same infinity or both not a number.
struct Comparison {
  double worst_error = 0;       ///< the largest |y - r| / (2 u (npr + 4) s); infinity where a special value is wrong
  std::int64_t wrong_rows = 0;  ///< rows that do not pass
  std::int64_t first_wrong = -1;

  [[nodiscard]] bool passed() const { return wrong_rows == 0; }
};

/// Same rules as reference_product: y has matrix.rows elements.
template <class T>
Comparison compare(const CsrView<T>& matrix, const Reference& reference, const T* y, Place place);

}  // namespace autospmv
