#include "formats/common/csr_rows.hpp"

#include <atomic>

#include "core/parallel.hpp"
#include "formats/common/dispatch.hpp"
#include "formats/common/row_partition.hpp"
#include "formats/common/simd.hpp"

namespace autospmv::formats {

namespace {

constexpr int shares_of_thread = 4;

// One row in `Lanes` partial sums: a single one would wait for its own last addition at every nonzero. From an array
// of them the compiler makes vectors and gathers, which pay for long rows only; two and four are spelled out, so that
// they stay scalar loads.
template <int Lanes, class T>
AUTOSPMV_INLINE T row_sum(const T* values, const std::int32_t* columns, std::int64_t length, const T* x) {
  T sum = 0;
  std::int64_t k = 0;
  if constexpr (Lanes == 2) {
    T other = 0;
    for (; k + 2 <= length; k += 2) {
      sum += values[k] * x[columns[k]];
      other += values[k + 1] * x[columns[k + 1]];
    }
    sum += other;
  } else if constexpr (Lanes == 4) {
    T second = 0;
    T third = 0;
    T fourth = 0;
    for (; k + 4 <= length; k += 4) {
      sum += values[k] * x[columns[k]];
      second += values[k + 1] * x[columns[k + 1]];
      third += values[k + 2] * x[columns[k + 2]];
      fourth += values[k + 3] * x[columns[k + 3]];
    }
    sum = (sum + second) + (third + fourth);
  } else if constexpr (Lanes > 4) {
    T partial[Lanes] = {};
    for (; k + Lanes <= length; k += Lanes) {
      for (int lane = 0; lane < Lanes; ++lane) partial[lane] += values[k + lane] * x[columns[k + lane]];
    }
    for (int width = Lanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) partial[lane] += partial[lane + width];
    }
    sum = partial[0];
  }
  for (; k < length; ++k) sum += values[k] * x[columns[k]];
  return sum;
}

template <int Lanes, class T, class Offset>
AUTOSPMV_INLINE void multiply_rows(const CsrView<T>& matrix, const Offset* row_ptr, Share rows, T alpha, const T* x,
                                   T beta, T* y) {
  const T* values = matrix.values;
  const std::int32_t* columns = matrix.col_idx;
  auto first = static_cast<std::int64_t>(row_ptr[rows.first]);
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    const auto last = static_cast<std::int64_t>(row_ptr[row + 1]);
    const T sum = row_sum<Lanes>(values + first, columns + first, last - first, x);
    y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
    first = last;
  }
}

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_ROWS(T, Offset)                                                                                    \
  AUTOSPMV_MULTIVERSION_SCALAR void scalar_version(const CsrView<T>& matrix, const Offset* row_ptr, int lanes,      \
                                                   Share rows, T alpha, const T* x, T beta, T* y) {                 \
    if (lanes == 1) return multiply_rows<1>(matrix, row_ptr, rows, alpha, x, beta, y);                              \
    if (lanes == 2) return multiply_rows<2>(matrix, row_ptr, rows, alpha, x, beta, y);                              \
    multiply_rows<4>(matrix, row_ptr, rows, alpha, x, beta, y);                                                     \
  }                                                                                                                 \
  AUTOSPMV_MULTIVERSION void vector_version(const CsrView<T>& matrix, const Offset* row_ptr, int lanes, Share rows, \
                                            T alpha, const T* x, T beta, T* y) {                                    \
    if (lanes == 8) return multiply_rows<8>(matrix, row_ptr, rows, alpha, x, beta, y);                              \
    multiply_rows<16>(matrix, row_ptr, rows, alpha, x, beta, y);                                                    \
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
        // Equal nonzeros are not equal times where x is scattered or a core is busy with something else: several
        // shares a thread, taken as they come. Which thread takes a row changes nothing in its sum.
        std::atomic<int> taken{0};
        parallel_region(matrix.nnz + matrix.rows, [&](int /*thread*/, int threads) {
          const int shares = threads * shares_of_thread;
          for (int share = taken++; share < shares; share = taken++) {
            const auto rows = rows_of_thread(row_ptr, matrix.rows, share, shares);
            if (shape.threads <= 4) {
              scalar_version(matrix, row_ptr, shape.threads, rows, alpha, x, beta, y);
            } else {
              vector_version(matrix, row_ptr, shape.threads, rows, alpha, x, beta, y);
            }
          }
        });
      },
      matrix.row_ptr);
}

template void multiply_csr_rows_host(const CsrView<float>&, const CsrRows&, float, const float*, float, float*);
template void multiply_csr_rows_host(const CsrView<double>&, const CsrRows&, double, const double*, double, double*);

}  // namespace autospmv::formats
