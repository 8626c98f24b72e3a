#include "formats/staged/pcsr/pcsr.hpp"

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/staged/shared_memory.cuh"

namespace autospmv::formats::pcsr::device {

namespace {

// Algorithm 1, with four products of a thread under way.
template <class T>
__global__ void products_kernel(CsrView<T> matrix, CachePolicy policy, const T* x, T* products) {
  constexpr int unroll = 4;
  const auto threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  auto k = cuda::global_thread();
  for (; k + (unroll - 1) * threads < matrix.nnz; k += unroll * threads) {
    std::int32_t column[unroll];
    T value[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      column[u] = load_stream(matrix.col_idx + k + u * threads, policy);
      value[u] = load_stream(matrix.values + k + u * threads, policy);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) value[u] *= load_x(x + column[u]);
#pragma unroll
    for (int u = 0; u < unroll; ++u) products[k + u * threads] = value[u];
  }
  for (; k < matrix.nnz; k += threads) {
    products[k] = load_stream(matrix.values + k, policy) * load_x(x + load_stream(matrix.col_idx + k, policy));
  }
}

// Algorithm 2. Shared are the ends of the block's rows and, behind them, the staged products.
template <class T, class Offset>
__global__ void sums_kernel(std::int64_t rows, const Offset* row_ptr, const T* products, int shared_size, T alpha,
                            T beta, T* y) {
  extern __shared__ __align__(16) unsigned char memory[];
  T* staged = reinterpret_cast<T*>(memory);
  auto* ends = reinterpret_cast<Offset*>(staged + shared_size);
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const auto first_row = static_cast<std::int64_t>(blockIdx.x) * threads;
  const auto row = first_row + thread;
  ends[thread] = row_ptr[min(row, rows)];
  if (thread == 0) ends[threads] = row_ptr[min(first_row + threads, rows)];
  __syncthreads();
  const std::int64_t first = ends[thread];
  const std::int64_t last = ends[thread + 1];
  const std::int64_t end_of_block = ends[threads];
  T sum = 0;
  for (std::int64_t portion = ends[0]; portion < end_of_block; portion += shared_size) {
    const int size = static_cast<int>(min(static_cast<std::int64_t>(shared_size), end_of_block - portion));
    __syncthreads();  // the portion before has been summed
#pragma unroll 4
    for (int i = thread; i < size; i += threads) staged[i] = load_stream(products + portion + i);
    __syncthreads();
    const std::int64_t last_staged = min(last - portion, static_cast<std::int64_t>(size));
    for (std::int64_t i = max(first - portion, std::int64_t{0}); i < last_staged; ++i) sum += staged[i];
  }
  if (row < rows) store_row(y, row, alpha, sum, beta);
}

}  // namespace

template <class T>
void multiply(const CsrView<T>& matrix, const Shape& shape, T* products, T alpha, const T* x, T beta, T* y,
              Stream stream) {
  if (matrix.rows == 0) return;
  if (matrix.nnz > 0) {
    constexpr int blocks_of_multiprocessor = 2048 / cuda::default_block;
    const auto most = static_cast<unsigned>(shape.multiprocessors) * blocks_of_multiprocessor;
    const auto grid = std::min(cuda::grid_for(matrix.nnz), most);
    // The products between the two kernels want room as vectors do.
    const auto policy = policy_for<T>(matrix.bytes(), matrix.rows, matrix.cols + matrix.nnz);
    products_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(matrix, policy, x, products);
    cuda::check_launch();
  }
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    using Offset = std::decay_t<decltype(*row_ptr)>;
    const auto bytes = static_cast<std::size_t>(shape.shared_size) * sizeof(T) +
                       static_cast<std::size_t>(shape.block + 1) * sizeof(Offset);
    const auto kernel = sums_kernel<T, Offset>;
    allow_shared_memory(kernel, static_cast<int>(bytes));
    kernel<<<cuda::grid_for(matrix.rows, shape.block), shape.block, bytes, cuda::InTurn(stream)>>>(
        matrix.rows, row_ptr, products, static_cast<int>(shape.shared_size), alpha, beta, y);
  });
  cuda::check_launch();
}

template void multiply(const CsrView<float>&, const Shape&, float*, float, const float*, float, float*, Stream);
template void multiply(const CsrView<double>&, const Shape&, double*, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::pcsr::device
