#include "formats/staged/ipcsr/ipcsr.hpp"

#include "core/cuda/launch.hpp"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/staged/device.cuh"
#include "formats/staged/shared_memory.cuh"

namespace autospmv::formats::ipcsr::device {

namespace {

// The sums of `threads` neighbouring threads, each in the first of them; for whole blocks.
template <class T>
__device__ __forceinline__ void add_up(T* sums, int lane, int threads) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  for (int lanes = threads / 2; lanes > 0; lanes /= 2) {
    if (lane < lanes) sums[thread] += sums[thread + lanes];
    __syncthreads();
  }
}

// Algorithm 9. Shared are the staged products and, behind them, a sum a thread.
template <class T, class Offset>
__global__ void paper_kernel(CsrView<T> matrix, const Offset* row_ptr, CachePolicy policy, const BlockStart* starts,
                             int shared_size, T alpha, const T* x, T beta, T* y) {
  extern __shared__ __align__(16) unsigned char memory[];
  T* staged = reinterpret_cast<T*>(memory);
  T* sums = staged + shared_size;
  const int thread = static_cast<int>(threadIdx.x);
  const BlockStart from = starts[blockIdx.x];
  const BlockStart to = starts[blockIdx.x + 1];
  const std::int64_t rows = to.row - from.row;
  const std::int64_t size = to.entry - from.entry;
  const auto product = [&](std::int64_t i) {
    return load_stream(matrix.values + from.entry + i, policy) *
           load_x(x + load_stream(matrix.col_idx + from.entry + i, policy));
  };
  T sum = 0;
  if (rows == 1) {  // Algorithm 8
#pragma unroll 1
    for (std::int64_t i = thread; i < size; i += blockDim.x) sum += product(i);
    sums[thread] = sum;
    add_up(sums, thread, static_cast<int>(blockDim.x));
    if (thread == 0) store_row(y, from.row, alpha, sums[0], beta);
    return;
  }
#pragma unroll 1
  for (std::int64_t i = thread; i < size; i += blockDim.x) staged[i] = product(i);
  __syncthreads();
  // Algorithm 5, which for one thread a row is the scalar reduction of Algorithm 3.
  const int threads = threads_of_row(rows);
  const int lane = thread & (threads - 1);
  const std::int64_t row = from.row + thread / threads;
  if (row < to.row) {
    const auto last = static_cast<int>(row_ptr[row + 1] - from.entry);
    for (int i = static_cast<int>(row_ptr[row] - from.entry) + lane; i < last; i += threads) sum += staged[i];
  }
  sums[thread] = sum;
  add_up(sums, lane, threads);
  if (row < to.row && lane == 0) store_row(y, row, alpha, sums[thread], beta);
}

}  // namespace

template <class T>
void multiply(const CsrView<T>& matrix, const RowBlocks& blocks, int threads, T alpha, const T* x, T beta, T* y,
              Stream stream) {
  if (blocks.count() == 0) return;
  const auto bytes = static_cast<std::size_t>(blocks.limits.entries + threads) * sizeof(T);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    const auto kernel = paper_kernel<T, std::decay_t<decltype(*row_ptr)>>;
    allow_shared_memory(kernel, static_cast<int>(bytes));
    kernel<<<cuda::grid_for(blocks.count() * threads, threads), threads, bytes, cuda::InTurn(stream)>>>(
        matrix, row_ptr, policy_for<T>(matrix.bytes(), matrix.rows, matrix.cols), blocks.starts.data(),
        static_cast<int>(blocks.limits.entries), alpha, x, beta, y);
  });
  cuda::check_launch();
}

template void multiply(const CsrView<float>&, const RowBlocks&, int, float, const float*, float, float*, Stream);
template void multiply(const CsrView<double>&, const RowBlocks&, int, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::ipcsr::device
