#include "formats/common/csr_rows.hpp"

#include "core/parallel.hpp"
#include "formats/common/dispatch.hpp"
#include "formats/common/row_partition.hpp"
#include "formats/common/simd.hpp"

namespace autospmv::formats {

namespace {

// One row in `Lanes` partial sums: a single one would wait for its own last addition at every nonzero.
template <int Lanes, class T>
AUTOSPMV_INLINE T row_sum(const T* values, const std::int32_t* columns, std::int64_t length, const T* x) {
  T partial[Lanes] = {};
  std::int64_t k = 0;
  for (; k + Lanes <= length; k += Lanes) {
    for (int lane = 0; lane < Lanes; ++lane) partial[lane] += values[k + lane] * x[columns[k + lane]];
  }
  T sum = 0;
  for (; k < length; ++k) sum += values[k] * x[columns[k]];
  for (int width = Lanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) partial[lane] += partial[lane + width];
  }
  return sum + partial[0];
}

template <int Lanes, class T, class Offset>
AUTOSPMV_INLINE void multiply_rows(const CsrView<T>& matrix, const Offset* row_ptr, Share rows, T alpha, const T* x,
                                   T beta, T* y) {
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    const auto first = static_cast<std::int64_t>(row_ptr[row]);
    const auto length = static_cast<std::int64_t>(row_ptr[row + 1]) - first;
    const T sum = row_sum<Lanes>(matrix.values + first, matrix.col_idx + first, length, x);
    y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
  }
}

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_ROWS(T, Offset)                                                                                  \
  AUTOSPMV_MULTIVERSION void rows_version(const CsrView<T>& matrix, const Offset* row_ptr, int lanes, Share rows, \
                                          T alpha, const T* x, T beta, T* y) {                                    \
    switch (lanes) {                                                                                              \
      case 1:                                                                                                     \
        return multiply_rows<1>(matrix, row_ptr, rows, alpha, x, beta, y);                                        \
      case 4:                                                                                                     \
        return multiply_rows<4>(matrix, row_ptr, rows, alpha, x, beta, y);                                        \
      case 8:                                                                                                     \
        return multiply_rows<8>(matrix, row_ptr, rows, alpha, x, beta, y);                                        \
      default:                                                                                                    \
        return multiply_rows<16>(matrix, row_ptr, rows, alpha, x, beta, y);                                       \
    }                                                                                                             \
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
        parallel_region(matrix.nnz + matrix.rows, [&](int thread, int threads) {
          const auto rows = rows_of_thread(row_ptr, matrix.rows, thread, threads);
          rows_version(matrix, row_ptr, shape.threads, rows, alpha, x, beta, y);
        });
      },
      matrix.row_ptr);
}

template void multiply_csr_rows_host(const CsrView<float>&, const CsrRows&, float, const float*, float, float*);
template void multiply_csr_rows_host(const CsrView<double>&, const CsrRows&, double, const double*, double, double*);

}  // namespace autospmv::formats
