#include "formats/csr/csr_transposed.hpp"

#include "formats/common/host/host_shares.hpp"

namespace autospmv::formats::host {

template <class T>
void multiply_transposed(const CsrView<T>& matrix, T alpha, const T* x, T beta, T* y) {
  scale_rows(0, matrix.cols, beta, y);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k)
        y[matrix.col_idx[k]] += alpha * (matrix.values[k] * x[row]);
    }
  });
}

template void multiply_transposed(const CsrView<float>&, float, const float*, float, float*);
template void multiply_transposed(const CsrView<double>&, double, const double*, double, double*);

}  // namespace autospmv::formats::host
