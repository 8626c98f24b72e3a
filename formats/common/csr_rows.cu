#include <bit>

#include "core/cuda/check.hpp"
#include "formats/common/csr_rows.hpp"
#include "formats/common/kernel.cuh"

namespace autospmv::formats {

namespace {

// Loads in flight per thread: four hide the latency of a row's entries, more cost registers that occupancy needs.
constexpr int unroll = 4;

// Threads lane, lane + threads, ... of a row: neighbouring threads read neighbouring entries. How many threads is no
// template argument, as it costs a few additions among loads.
template <class T, class Columns, class Values>
__device__ __forceinline__ T partial_sum(const Columns& columns, const Values& values, std::int64_t first,
                                         std::int64_t last, int lane, int threads, const T* x) {
  T sum = 0;
  std::int64_t k = first + lane;
  for (; k + (unroll - 1) * threads < last; k += unroll * threads) {
    std::int32_t column[unroll];
    T value[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      column[u] = columns.at(k + u * threads);
      value[u] = values.at(k + u * threads);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += value[u] * load_x(x + column[u]);
  }
  for (; k < last; k += threads) sum += values.at(k) * load_x(x + columns.at(k));
  return sum;
}

constexpr int most_warps = 1024 / cuda::warp_size;

// The sum over `threads` neighbouring threads, right in the first of them. `of_warp` has room for one element a warp.
// More threads than a warp are those of a row in every row of the block: all threads come here together.
template <class T>
__device__ __forceinline__ T sum_threads(T sum, int lane, int threads, T* of_warp) {
  for (int lanes = min(threads, cuda::warp_size) / 2; lanes > 0; lanes /= 2) {
    sum += __shfl_down_sync(0xffffffffU, sum, static_cast<unsigned>(lanes));
  }
  if (threads <= cuda::warp_size) return sum;
  const int warp = static_cast<int>(threadIdx.x) / cuda::warp_size;
  if (lane % cuda::warp_size == 0) of_warp[warp] = sum;
  __syncthreads();
  if (lane == 0) {
    for (int other = 1; other < threads / cuda::warp_size; ++other) sum += of_warp[warp + other];
  }
  __syncthreads();
  return sum;
}

__device__ __forceinline__ std::int64_t target_row(const std::int32_t* row_ids, std::int64_t row) {
  return row_ids == nullptr ? row : row_ids[row];
}

// With `sharing`, rows of more than `share_above` entries a thread wait until the block has finished the others and
// then get all of its threads. Their order in the list changes from run to run, their sums do not.
template <bool sharing, class T, class Offset, class Columns, class Values>
__global__ void rows_kernel(std::int64_t rows, const Offset* row_ptr, const std::int32_t* row_ids, Columns columns,
                            Values values, int log_threads, int share_above, T alpha, const T* x, T beta, T* y) {
  constexpr int most_rows = 512 / 2;  // of a block, where rows are shared
  __shared__ T of_warp[most_warps];
  __shared__ std::int64_t long_row[sharing ? most_rows : 1];
  __shared__ int long_rows;
  if constexpr (sharing) {
    if (threadIdx.x == 0) long_rows = 0;
    __syncthreads();
  }
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int threads = 1 << log_threads;
  const std::int64_t row = thread >> log_threads;
  const int lane = static_cast<int>(thread) & (threads - 1);
  const bool inside = row < rows;
  const std::int64_t first = inside ? row_ptr[row] : 0;
  std::int64_t last = inside ? row_ptr[row + 1] : 0;
  bool is_long = false;
  if constexpr (sharing) {
    is_long = last - first > static_cast<std::int64_t>(share_above) << log_threads;
    if (is_long) {
      last = first;
      if (lane == 0) long_row[atomicAdd(&long_rows, 1)] = row;
    }
  }
  values.open();
  if (inside) columns.open(row);
  T sum = partial_sum(columns, values, first, last, lane, threads, x);
  sum = sum_threads(sum, lane, threads, of_warp);
  if (inside && !is_long && lane == 0) store_row(y, target_row(row_ids, row), alpha, sum, beta);
  if constexpr (sharing) {
    __syncthreads();
    const int all = static_cast<int>(blockDim.x);
    const int mine = static_cast<int>(threadIdx.x);
    for (int i = 0; i < long_rows; ++i) {
      const std::int64_t shared_row = long_row[i];
      columns.open(shared_row);
      T part = partial_sum(columns, values, static_cast<std::int64_t>(row_ptr[shared_row]),
                           static_cast<std::int64_t>(row_ptr[shared_row + 1]), mine, all, x);
      part = sum_threads(part, mine, all, of_warp);
      if (mine == 0) store_row(y, target_row(row_ids, shared_row), alpha, part, beta);
    }
  }
}

template <class T, class Offset, class Columns, class Values>
void launch(const CsrView<T>& matrix, const Offset* row_ptr, const Columns& columns, const Values& values,
            const CsrRows& shape, T alpha, const T* x, T beta, T* y, Stream stream) {
  const auto grid = cuda::grid_for(matrix.rows * shape.threads, shape.block);
  const int log_threads = std::countr_zero(static_cast<unsigned>(shape.threads));
  const auto kernel = shape.share_above > 0 ? rows_kernel<true, T, Offset, Columns, Values>
                                            : rows_kernel<false, T, Offset, Columns, Values>;
  kernel<<<grid, shape.block, 0, stream.handle>>>(matrix.rows, row_ptr, shape.row_ids, columns, values, log_threads,
                                                  shape.share_above, alpha, x, beta, y);
}

template <class T, class Body>
void with_columns_of(const CsrView<T>& matrix, const EncodedColumns& encoded, const Body& body) {
  if (encoded.bits == 32) return body(FullColumns{matrix.col_idx});
  body(NearColumns<std::uint16_t>{encoded.words.data(), encoded.bases.data()});
}

}  // namespace

template <class T>
void multiply_csr_rows_cuda(const CsrView<T>& matrix, const CsrEncoding<T>& encoding, const CsrRows& shape, T alpha,
                            const T* x, T beta, T* y, Stream stream) {
  if (matrix.rows == 0) return;
  std::visit(
      [&](const auto* row_ptr) {
        with_columns_of(matrix, encoding.columns, [&](const auto& columns) {
          with_values_of(matrix, encoding.values, [&](const auto& values) {
            launch(matrix, row_ptr, columns, values, shape, alpha, x, beta, y, stream);
          });
        });
      },
      matrix.row_ptr);
  cuda::check_launch();
}

template void multiply_csr_rows_cuda(const CsrView<float>&, const CsrEncoding<float>&, const CsrRows&, float,
                                     const float*, float, float*, Stream);
template void multiply_csr_rows_cuda(const CsrView<double>&, const CsrEncoding<double>&, const CsrRows&, double,
                                     const double*, double, double*, Stream);

}  // namespace autospmv::formats
