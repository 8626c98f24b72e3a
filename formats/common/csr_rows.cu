#include "core/cuda/check.hpp"
#include "formats/common/csr_rows.hpp"
#include "formats/common/dispatch.hpp"
#include "formats/common/kernel.cuh"

namespace autospmv::formats {

namespace {

// Loads in flight per thread: four hide the latency of a row's entries, more cost registers that occupancy needs.
constexpr int unroll = 4;

// Threads lane, lane + Threads, ... of a row: neighbouring threads read neighbouring entries.
template <int Threads, class T>
__device__ __forceinline__ T partial_sum(const T* values, const std::int32_t* columns, std::int64_t first,
                                         std::int64_t last, int lane, const T* x) {
  T sum = 0;
  std::int64_t k = first + lane;
  for (; k + (unroll - 1) * Threads < last; k += unroll * Threads) {
    std::int32_t column[unroll];
    T value[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      column[u] = load_stream(columns + k + u * Threads);
      value[u] = load_stream(values + k + u * Threads);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += value[u] * load_x(x + column[u]);
  }
  for (; k < last; k += Threads) sum += load_stream(values + k) * load_x(x + load_stream(columns + k));
  return sum;
}

template <int Threads, class T, class Offset>
__global__ void rows_kernel(const CsrView<T> matrix, const Offset* row_ptr, T alpha, const T* x, T beta, T* y) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t row = thread / Threads;
  const int lane = static_cast<int>(thread % Threads);
  const bool inside = row < matrix.rows;
  const std::int64_t first = inside ? row_ptr[row] : 0;
  const std::int64_t last = inside ? row_ptr[row + 1] : 0;
  T sum = partial_sum<Threads>(matrix.values, matrix.col_idx, first, last, lane, x);
  if constexpr (Threads <= cuda::warp_size) {
    sum = sum_lanes<Threads>(sum);
  } else {
    __shared__ T of_warp[1024 / cuda::warp_size];
    sum = sum_lanes<cuda::warp_size>(sum);
    const int warp = static_cast<int>(threadIdx.x) / cuda::warp_size;
    if (lane % cuda::warp_size == 0) of_warp[warp] = sum;
    __syncthreads();
    if (lane == 0) {
      for (int other = 1; other < Threads / cuda::warp_size; ++other) sum += of_warp[warp + other];
    }
  }
  if (inside && lane == 0) store_row(y, row, alpha, sum, beta);
}

}  // namespace

template <class T>
void multiply_csr_rows_cuda(const CsrView<T>& matrix, const CsrRows& shape, T alpha, const T* x, T beta, T* y,
                            Stream stream) {
  if (matrix.rows == 0) return;
  const auto grid = cuda::grid_for(matrix.rows * shape.threads, shape.block);
  std::visit(
      [&](const auto* row_ptr) {
        dispatch<AUTOSPMV_CSR_THREADS>(shape.threads, [&](auto threads) {
          rows_kernel<threads.value><<<grid, shape.block, 0, stream.handle>>>(matrix, row_ptr, alpha, x, beta, y);
        });
      },
      matrix.row_ptr);
  cuda::check_launch();
}

template void multiply_csr_rows_cuda(const CsrView<float>&, const CsrRows&, float, const float*, float, float*,
                                     Stream);
template void multiply_csr_rows_cuda(const CsrView<double>&, const CsrRows&, double, const double*, double, double*,
                                     Stream);

}  // namespace autospmv::formats
