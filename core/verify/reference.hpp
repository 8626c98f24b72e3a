// The product every other product is judged by, and the bound it is judged with.
#pragma once

#include <cstdint>
#include <limits>

#include "core/machine/array.hpp"
#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "core/verify/long_rows.hpp"
#include "core/verify/random.hpp"

namespace autospmv {

/// r = alpha A x + beta y0, summed in twice the working precision (compensated dot product: Ogita, Rump, Oishi,
/// "Accurate sum and dot product", 2005, Algorithm 5.3), and how far a right product in T may be from it, row by row.
///
/// Whatever x is, whatever the order: |y - r| <= u (m + 8) s, u the unit roundoff of T, m the products of a row that
/// are not 0 and s = |alpha| |A| |x| + |beta| |y0| (Jeannerod, Rump, "Improved error bounds for inner products in
/// floating-point arithmetic", 2013). Among m terms of like magnitude that shows one that is missing while m^2 u is
/// well below 1: see strict_terms.
///
/// Of long rows it takes more, and an x whose signs are coin flips: |y - r| <= walk_factor u q sqrt(m + 8) t as well, t
/// the root of the sum of the squares of what s sums, q how many nonzeros of the row share a column at most.
struct Reference {
  Array<double> product;
  Array<double> bound;       ///< infinite where sums overflow in one order and not in another: anything passes
  Array<std::int64_t> rows;  ///< which these are; empty: all
};

/// What sums of random signs ask for. A sum S of m terms +-t passes z sqrt(m) t with the probability that a normal
/// variable passes z. At worst all terms are equal, so that while |S| stays between two powers of two each addition is
/// off by the same share of its step: by u S^2 / (3 t) = (z^2 / 3) u sqrt(m) ||t|| in all. 16 is z = 6.9: 5 in 10^12.
/// Others stay 50 times below (Higham, Mary, "Sharper probabilistic backward error analysis for basic linear algebra
/// kernels with random data", 2020). Where q terms share a column, and so a sign, sums and the number of steps that are
/// off together are each sqrt(q) times as large.
inline constexpr double walk_factor = 16;

/// Terms of like magnitude, up to which the bound for any x stays below a sixteenth of one of them.
template <class T>
inline constexpr std::int64_t strict_terms = sizeof(T) == sizeof(float) ? 1 << 10 : 23'726'566;

/// The same for the bound of random walks, where no column is repeated.
template <class T>
inline constexpr std::int64_t walk_terms = sizeof(T) == sizeof(float) ? 1 << 16 : std::int64_t{1} << 45;

/// More nonzeros than a row can have.
inline constexpr std::int64_t unknown_length = std::numeric_limits<std::int64_t>::max();

/// All pointers lie in the memory of `place`; x has matrix.cols elements, y0 matrix.rows; y0 is not read where beta
/// is 0. Runs on the setup stream, and on a device need not be complete when this returns. Where rows are given, in the
/// memory of `place`, it is of these alone, and the signs of x are random. No row has more than `longest` nonzeros:
/// where those are few, nothing is waited for.
template <class T>
Reference reference_product(const CsrView<T>& matrix, T alpha, const T* x, T beta, const T* y0, Place place,
                            const Array<LongRow>& rows = {}, std::int64_t longest = unknown_length);

/// How far a product is from its reference. A row passes where |y - r| is within its bound, or where y and r are the
/// same infinity or both not a number.
struct Comparison {
  double worst_error = 0;       ///< the largest |y - r| over its bound; infinity where a special value is wrong
  std::int64_t wrong_rows = 0;  ///< rows that do not pass
  std::int64_t first_wrong = -1;

  [[nodiscard]] bool passed() const { return wrong_rows == 0; }
};

/// Same rules as reference_product: y has matrix.rows elements.
template <class T>
Comparison compare(const Reference& reference, const T* y, Place place);

/// What a reference of all rows, made with alpha = 1 and beta = 0, is taken for: alpha r + beta y0.
template <class T>
struct Scaled {
  T alpha;
  T beta;
  RandomVector y0;
  RowOffsets row_ptr;  ///< of the matrix

  /// Of an element of y0.
  [[nodiscard]] AUTOSPMV_HD double added(T element) const {
    return static_cast<double>(beta) * static_cast<double>(element);
  }
};

/// Likewise, of a matrix on the host.
template <class T>
Comparison compare(const Reference& reference, const Scaled<T>& scaled, const T* y);

}  // namespace autospmv
