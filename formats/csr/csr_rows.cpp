#include "formats/csr/csr_rows.hpp"

#include <type_traits>

#include "formats/common/host/row_partition.hpp"
#include "formats/common/host/row_runs.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/host/versions.hpp"
#include "formats/common/kernels/dispatch.hpp"

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

// Where its length has to be guessed, the partial sums of a row are one more thing to guess. A single sum waits for its
// own additions, which takes longer only where a row is long: the longer the less is foreseen.
template <class InRuns>
constexpr std::int64_t longest_single_sum = InRuns::value ? 16 : 32;

template <int Lanes, class T, class Length, class InRuns, class Product>
AUTOSPMV_INLINE T sum_of_row(Length length, InRuns /*in_runs*/, const Product& product) {
  if constexpr (Lanes > 1 && std::is_same_v<Length, std::int64_t>) {
    if (length <= longest_single_sum<InRuns>) return row_sum<1, T>(length, product);
  }
  return row_sum<Lanes, T>(length, product);
}

template <int Lanes, class T, class Offset, class Store>
AUTOSPMV_INLINE void multiply_in_runs(const CsrView<T>& matrix, const Offset* row_ptr, Share rows, const T* x,
                                      const Store& store) {
  const T* values = matrix.values;
  const std::int32_t* columns = matrix.col_idx;
  RowRuns<Offset>(row_ptr, rows)
      .for_each([=](std::int64_t row, std::int64_t first, auto length, auto in_runs) AUTOSPMV_INLINE_LAMBDA {
        const auto product = [=](std::int64_t k)
                                 AUTOSPMV_INLINE_LAMBDA { return values[first + k] * x[columns[first + k]]; };
        store(row, sum_of_row<Lanes, T>(length, in_runs, product));
      });
}

// Without fused multiplication and addition, which takes longer than an addition: each sum waits for its last one.
template <int Lanes, class T, class Offset>
void scalar_version(const CsrView<T>& matrix, const Offset* row_ptr, const CsrRows& shape, Share rows, T alpha,
                    const T* x, T beta, T* y) {
  if (shape.row_ids != nullptr) {
    multiply_rows<Lanes>(matrix, row_ptr, shape.row_ids, rows, alpha, x, beta, y);
  } else if (beta == T{0}) {
    multiply_in_runs<Lanes>(matrix, row_ptr, rows, x,
                            [=](std::int64_t row, T sum) AUTOSPMV_INLINE_LAMBDA { y[row] = alpha * sum; });
  } else {
    multiply_in_runs<Lanes>(matrix, row_ptr, rows, x, [=](std::int64_t row, T sum) AUTOSPMV_INLINE_LAMBDA {
      y[row] = alpha * sum + beta * y[row];
    });
  }
}

#define AUTOSPMV_ROWS(T, Offset)                                                                                   \
  AUTOSPMV_MULTIVERSION void vector_version(const CsrView<T>& matrix, const Offset* row_ptr, const CsrRows& shape, \
                                            Share rows, T alpha, const T* x, T beta, T* y) {                       \
    if (shape.threads == 8) return multiply_rows<8>(matrix, row_ptr, shape.row_ids, rows, alpha, x, beta, y);      \
    multiply_rows<16>(matrix, row_ptr, shape.row_ids, rows, alpha, x, beta, y);                                    \
  }
AUTOSPMV_EACH_OFFSET(AUTOSPMV_ROWS)
#undef AUTOSPMV_ROWS

}  // namespace

template <class T>
void multiply_csr_rows_host(const CsrView<T>& matrix, const CsrRows& shape, T alpha, const T* x, T beta, T* y) {
  std::visit(
      [&](const auto* row_ptr) {
        for_each_share(row_ptr, matrix.rows, [&](Share rows) {
          if (shape.threads == 1) {
            scalar_version<1>(matrix, row_ptr, shape, rows, alpha, x, beta, y);
          } else if (shape.threads == 2) {
            scalar_version<2>(matrix, row_ptr, shape, rows, alpha, x, beta, y);
          } else if (shape.threads == 4) {
            scalar_version<4>(matrix, row_ptr, shape, rows, alpha, x, beta, y);
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
