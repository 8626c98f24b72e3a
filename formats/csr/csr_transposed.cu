#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/vectors.hpp"
#include "formats/csr/csr_transposed.hpp"

namespace autospmv::formats::device {

namespace {

// A warp walks a row: neighbouring threads read neighbouring nonzeros.
template <class T, class Offset>
__global__ void add_rows_kernel(const Offset* row_ptr, std::int64_t rows, const std::int32_t* col_idx, const T* values,
                                T alpha, const T* x, T* y) {
  const auto row = cuda::global_thread() / cuda::warp_size;
  if (row >= rows) return;
  const T element = x[row];
  for (auto k = row_ptr[row] + static_cast<Offset>(threadIdx.x % cuda::warp_size); k < row_ptr[row + 1];
       k += cuda::warp_size) {
    atomicAdd(y + col_idx[k], alpha * (values[k] * element));
  }
}

}  // namespace

template <class T>
void multiply_transposed(const CsrView<T>& matrix, T alpha, const T* x, T beta, T* y, Stream stream) {
  scale(beta, y, matrix.cols, stream);
  if (matrix.nnz == 0) return;
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    add_rows_kernel<<<cuda::grid_for(matrix.rows * cuda::warp_size), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        row_ptr, matrix.rows, matrix.col_idx, matrix.values, alpha, x, y);
  });
  cuda::check_launch();
}

template void multiply_transposed(const CsrView<float>&, float, const float*, float, float*, Stream);
template void multiply_transposed(const CsrView<double>&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::device
