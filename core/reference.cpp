#include "core/reference.hpp"

#include <algorithm>
#include <limits>

#include "core/compensated.hpp"
#include "core/cuda/kernels.hpp"
#include "core/parallel.hpp"

namespace autospmv {

template <class T>
Reference reference_product(const CsrView<T>& matrix, T alpha, const T* x, T beta, const T* y0, Place place) {
  const auto rows = static_cast<std::size_t>(matrix.rows);
  Reference reference{Array<double>(rows, place), Array<double>(rows, place)};
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      cuda::reference_product(matrix, alpha, x, beta, y0, reference, place);
      return reference;
    }
  }
  std::visit(
      [&](const auto* row_ptr) {
        parallel_for(matrix.rows, [&](std::int64_t row) {
          CompensatedSum sum;
          for (std::int64_t k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
            sum.add_product(matrix.values[k], x[matrix.col_idx[k]]);
          }
          finish_row(sum, alpha, beta, y0, row, reference.product.data(), reference.scale.data());
        });
      },
      matrix.row_ptr);
  return reference;
}

template <class T>
Comparison compare(const CsrView<T>& matrix, const Reference& reference, const T* y, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::compare(matrix, reference, y, place);
  }
  return std::visit(
      [&](const auto* row_ptr) {
        return parallel_reduce(
            matrix.rows, Comparison{},
            [&](Share share) {
              Comparison part;
              for (std::int64_t row = share.first; row < share.last; ++row) {
                const auto index = static_cast<std::size_t>(row);
                const double error = row_error<T>(y[row], reference.product[index], reference.scale[index],
                                                  row_ptr[row + 1] - row_ptr[row]);
                part = combine(part, judge(error, row));
              }
              return part;
            },
            combine);
      },
      matrix.row_ptr);
}

template Reference reference_product(const CsrView<float>&, float, const float*, float, const float*, Place);
template Reference reference_product(const CsrView<double>&, double, const double*, double, const double*, Place);
template Comparison compare(const CsrView<float>&, const Reference&, const float*, Place);
template Comparison compare(const CsrView<double>&, const Reference&, const double*, Place);

}  // namespace autospmv
