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

// The sum over all threads of a block, right in thread 0. `of_warp` has room for one element a warp.
template <class T>
__device__ __forceinline__ T sum_block(T value, T* of_warp) {
  value = sum_lanes<cuda::warp_size>(value);
  const unsigned warp = threadIdx.x / cuda::warp_size;
  if (threadIdx.x % cuda::warp_size == 0) of_warp[warp] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned other = 1; other < blockDim.x / cuda::warp_size; ++other) value += of_warp[other];
  }
  __syncthreads();
  return value;
}

// The sum over the threads of a row, right in the first of them.
template <int Threads, class T>
__device__ __forceinline__ T sum_row(T sum, int lane, T* of_warp) {
  if constexpr (Threads <= cuda::warp_size) return sum_lanes<Threads>(sum);
  sum = sum_lanes<cuda::warp_size>(sum);
  const int warp = static_cast<int>(threadIdx.x) / cuda::warp_size;
  if (lane % cuda::warp_size == 0) of_warp[warp] = sum;
  __syncthreads();
  if (lane == 0) {
    for (int other = 1; other < Threads / cuda::warp_size; ++other) sum += of_warp[warp + other];
  }
  return sum;
}

__device__ __forceinline__ std::int64_t target_row(const std::int32_t* row_ids, std::int64_t row) {
  return row_ids == nullptr ? row : row_ids[row];
}

constexpr int most_warps = 1024 / cuda::warp_size;

template <int Threads, class T, class Offset>
__global__ void rows_kernel(const CsrView<T> matrix, const Offset* row_ptr, const std::int32_t* row_ids, T alpha,
                            const T* x, T beta, T* y) {
  __shared__ T of_warp[most_warps];
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t row = thread / Threads;
  const int lane = static_cast<int>(thread % Threads);
  const bool inside = row < matrix.rows;
  const std::int64_t first = inside ? row_ptr[row] : 0;
  const std::int64_t last = inside ? row_ptr[row + 1] : 0;
  T sum = partial_sum<Threads>(matrix.values, matrix.col_idx, first, last, lane, x);
  sum = sum_row<Threads>(sum, lane, of_warp);
  if (inside && lane == 0) store_row(y, target_row(row_ids, row), alpha, sum, beta);
}

// The same, but long rows wait until the block has finished the others and then get all of its threads. Their order
// in the list changes from run to run, their sums do not.
template <int Threads, int Block, class T, class Offset>
__global__ void sharing_rows_kernel(const CsrView<T> matrix, const Offset* row_ptr, const std::int32_t* row_ids,
                                    std::int64_t share_above, T alpha, const T* x, T beta, T* y) {
  __shared__ T of_warp[most_warps];
  __shared__ std::int64_t long_row[Block / Threads];
  __shared__ int long_rows;
  if (threadIdx.x == 0) long_rows = 0;
  __syncthreads();
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * Block + threadIdx.x;
  const std::int64_t row = thread / Threads;
  const int lane = static_cast<int>(thread % Threads);
  const bool inside = row < matrix.rows;
  const std::int64_t first = inside ? row_ptr[row] : 0;
  std::int64_t last = inside ? row_ptr[row + 1] : 0;
  const bool is_long = last - first > share_above * Threads;
  if (is_long) {
    last = first;
    if (lane == 0) long_row[atomicAdd(&long_rows, 1)] = row;
  }
  T sum = partial_sum<Threads>(matrix.values, matrix.col_idx, first, last, lane, x);
  sum = sum_row<Threads>(sum, lane, of_warp);
  if (inside && !is_long && lane == 0) store_row(y, target_row(row_ids, row), alpha, sum, beta);
  __syncthreads();
  for (int i = 0; i < long_rows; ++i) {
    const std::int64_t shared_row = long_row[i];
    T part = partial_sum<Block>(matrix.values, matrix.col_idx, row_ptr[shared_row], row_ptr[shared_row + 1],
                                static_cast<int>(threadIdx.x), x);
    part = sum_block(part, of_warp);
    if (threadIdx.x == 0) store_row(y, target_row(row_ids, shared_row), alpha, part, beta);
  }
}

template <int Threads, class T, class Offset>
void launch(const CsrView<T>& matrix, const Offset* row_ptr, const CsrRows& shape, T alpha, const T* x, T beta, T* y,
            Stream stream) {
  const auto grid = cuda::grid_for(matrix.rows * shape.threads, shape.block);
  if constexpr (Threads >= AUTOSPMV_CSR_SHARE_LEAST && Threads <= AUTOSPMV_CSR_SHARE_MOST) {
    if (shape.share_above > 0) {
      dispatch<AUTOSPMV_CSR_SHARE_BLOCKS>(shape.block, [&](auto block) {
        sharing_rows_kernel<Threads, block.value><<<grid, block.value, 0, stream.handle>>>(
            matrix, row_ptr, shape.row_ids, shape.share_above, alpha, x, beta, y);
      });
      return;
    }
  }
  rows_kernel<Threads><<<grid, shape.block, 0, stream.handle>>>(matrix, row_ptr, shape.row_ids, alpha, x, beta, y);
}

}  // namespace

template <class T>
void multiply_csr_rows_cuda(const CsrView<T>& matrix, const CsrRows& shape, T alpha, const T* x, T beta, T* y,
                            Stream stream) {
  if (matrix.rows == 0) return;
  std::visit(
      [&](const auto* row_ptr) {
        dispatch<AUTOSPMV_CSR_THREADS>(shape.threads, [&](auto threads) {
          launch<threads.value>(matrix, row_ptr, shape, alpha, x, beta, y, stream);
        });
      },
      matrix.row_ptr);
  cuda::check_launch();
}

template void multiply_csr_rows_cuda(const CsrView<float>&, const CsrRows&, float, const float*, float, float*, Stream);
template void multiply_csr_rows_cuda(const CsrView<double>&, const CsrRows&, double, const double*, double, double*,
                                     Stream);

}  // namespace autospmv::formats
