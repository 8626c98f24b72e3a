#include "formats/common/csr_rows.hpp"

#include "core/simd.hpp"
#include "formats/common/dispatch.hpp"
#include "formats/common/row_partition.hpp"
#include "formats/common/row_sum.hpp"

namespace autospmv::formats {

namespace {

template <int Lanes, class T, class Offset>
AUTOSPMV_INLINE void multiply_rows(const CsrView<T>& matrix, const Offset* row_ptr, const std::int32_t* row_ids,
                                   Share rows, T alpha, const T* x, T beta, T* y) {
  const T* values = matrix.values;
  const std::int32_t* columns = matrix.col_idx;
  auto first = static_cast<std::int64_t>(row_ptr[rows.first]);
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    const auto last = static_cast<std::int64_t>(row_ptr[row + 1]);
    const T sum = row_sum<Lanes, T>(
        last - first, [&](std::int64_t k) AUTOSPMV_INLINE_LAMBDA { return values[first + k] * x[columns[first + k]]; });
    T& to = y[row_ids == nullptr ? row : row_ids[row]];
    to = beta == T{0} ? alpha * sum : alpha * sum + beta * to;
    first = last;
  }
}

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_ROWS(T, Offset)                                                                                   \
  AUTOSPMV_MULTIVERSION_SCALAR void scalar_version(const CsrView<T>& matrix, const Offset* row_ptr,                \
                                                   const CsrRows& shape, Share rows, T alpha, const T* x, T beta,  \
                                                   T* y) {                                                         \
    if (shape.threads == 1) return multiply_rows<1>(matrix, row_ptr, shape.row_ids, rows, alpha, x, beta, y);      \
    if (shape.threads == 2) return multiply_rows<2>(matrix, row_ptr, shape.row_ids, rows, alpha, x, beta, y);      \
    multiply_rows<4>(matrix, row_ptr, shape.row_ids, rows, alpha, x, beta, y);                                     \
  }                                                                                                                \
  AUTOSPMV_MULTIVERSION void vector_version(const CsrView<T>& matrix, const Offset* row_ptr, const CsrRows& shape, \
                                            Share rows, T alpha, const T* x, T beta, T* y) {                       \
    if (shape.threads == 8) return multiply_rows<8>(matrix, row_ptr, shape.row_ids, rows, alpha, x, beta, y);      \
    multiply_rows<16>(matrix, row_ptr, shape.row_ids, rows, alpha, x, beta, y);                                    \
  }
AUTOSPMV_ROWS(float, std::int32_t)
AUTOSPMV_ROWS(float, std::int64_t)
AUTOSPMV_ROWS(double, std::int32_t)
AUTOSPMV_ROWS(double, std::int64_t)
#undef AUTOSPMV_ROWS

}  // namespace

template <class T>
void multiply_csr_rows_host(const CsrView<T>& matrix, const CsrRows& shape, T alpha, const T* x, T beta, T* y) {
  std::visit(
      [&](const auto* row_ptr) {
        for_each_share(row_ptr, matrix.rows, [&](Share rows) {
          if (shape.threads <= 4) {
            scalar_version(matrix, row_ptr, shape, rows, alpha, x, beta, y);
          } else {
            vector_version(matrix, row_ptr, shape, rows, alpha, x, beta, y);
          }
        });
      },
      matrix.row_ptr);
}

template void multiply_csr_rows_host(const CsrView<float>&, const CsrRows&, float, const float*, float, float*);
template void multiply_csr_rows_host(const CsrView<double>&, const CsrRows&, double, const double*, double, double*);

}  // namespace autospmv::formats
