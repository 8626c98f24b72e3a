#include <bit>

#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/batches.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/csr/csr_rows.hpp"

namespace autospmv::formats {

namespace {

// Loads in flight a thread: four hide the latency of a row's entries, more cost registers that occupancy needs.
constexpr int batch = 4;

__device__ __forceinline__ std::int64_t target_row(const std::int32_t* row_ids, std::int64_t row, CachePolicy policy) {
  return row_ids == nullptr ? row : load_stream(row_ids + row, policy);
}

// With `sharing`, rows of more than `share_above` entries a thread wait until the block has finished the others and
// then get all of its threads. Their order in the list changes from run to run, their sums do not.
template <bool sharing, class T, class Offset, class Columns, class Values>
__global__ void __launch_bounds__(most_block, 1)
    rows_kernel(std::int64_t rows, const Offset* row_ptr, const std::int32_t* row_ids, Columns columns, Values values,
                CachePolicy policy, int log_threads, int share_above, T alpha, const T* x, T beta, T* y) {
  constexpr int most_rows = 512 / 2;  // of a block, where rows are shared
  __shared__ T of_warp[most_warps];
  __shared__ std::int64_t long_row[sharing ? most_rows : 1];
  __shared__ int long_rows;
  cuda::await_before();
  if constexpr (sharing) {
    if (threadIdx.x == 0) long_rows = 0;
    __syncthreads();
  }
  const std::int64_t thread = cuda::global_thread();
  const int threads = 1 << log_threads;
  const std::int64_t row = thread >> log_threads;
  const int lane = static_cast<int>(thread) & (threads - 1);
  const bool inside = row < rows;
  const std::int64_t first = inside ? row_ptr[row] : 0;
  std::int64_t last = inside ? row_ptr[row + 1] : 0;
  const std::int64_t target = inside ? target_row(row_ids, row, policy) : 0;  // on its way while others are
  bool is_long = false;
  if constexpr (sharing) {
    is_long = last - first > static_cast<std::int64_t>(share_above) << log_threads;
    if (is_long) {
      last = first;
      if (lane == 0) long_row[atomicAdd(&long_rows, 1)] = row;
    }
  }
  values.open(policy);
  columns.open(inside ? row : 0, policy);
  T sum = sum_batches<batch, false>(columns, values, first + lane, last, threads, x);
  sum = sum_threads(sum, lane, threads, of_warp);
  if (inside && !is_long && lane == 0) store_row(y, target, alpha, sum, beta);
  if constexpr (sharing) {
    __syncthreads();
    const int all = static_cast<int>(blockDim.x);
    const int mine = static_cast<int>(threadIdx.x);
    for (int i = 0; i < long_rows; ++i) {
      const std::int64_t shared_row = long_row[i];
      columns.open(shared_row, policy);
      T part = sum_batches<batch, false>(columns, values, static_cast<std::int64_t>(row_ptr[shared_row]) + mine,
                                         static_cast<std::int64_t>(row_ptr[shared_row + 1]), all, x);
      part = sum_threads(part, mine, all, of_warp);
      if (mine == 0) store_row(y, target_row(row_ids, shared_row, policy), alpha, part, beta);
    }
  }
}

template <class T, class Offset, class Columns, class Values>
void launch(const CsrView<T>& matrix, const Offset* row_ptr, const Columns& columns, const Values& values,
            const CsrRows& shape, T alpha, const T* x, T beta, T* y, Stream stream) {
  const auto grid = cuda::grid_for(matrix.rows * shape.threads, shape.block);
  const auto policy = policy_for<T>(matrix.bytes(), matrix.rows, matrix.cols);
  const int log_threads = std::countr_zero(static_cast<unsigned>(shape.threads));
  const auto kernel = shape.share_above > 0 ? rows_kernel<true, T, Offset, Columns, Values>
                                            : rows_kernel<false, T, Offset, Columns, Values>;
  cuda::launch_early(kernel, grid, shape.block, 0, stream, matrix.rows, row_ptr, shape.row_ids, columns, values, policy,
                     log_threads, shape.share_above, alpha, x, beta, y);
}

template <class T, class Body>
void with_columns_of(const CsrView<T>& matrix, const EncodedColumns& encoded, const Body& body) {
  if (encoded.bits == 32) return body(FullColumns{matrix.col_idx});
  body(NearColumns<std::uint16_t>{encoded.words.data(), encoded.bases.data()});
}

}  // namespace

template <class T>
void multiply_csr_rows_cuda(const CsrView<T>& matrix, const EncodedColumns& columns, const EncodedValues<T>& values,
                            const CsrRows& shape, T alpha, const T* x, T beta, T* y, Stream stream) {
  if (matrix.rows == 0) return;
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    with_columns_of(matrix, columns, [&](const auto& column_reader) {
      with_values_of(matrix, values, [&](const auto& value_reader) {
        launch(matrix, row_ptr, column_reader, value_reader, shape, alpha, x, beta, y, stream);
      });
    });
  });
  cuda::check_launch();
}

template void multiply_csr_rows_cuda(const CsrView<float>&, const EncodedColumns&, const EncodedValues<float>&,
                                     const CsrRows&, float, const float*, float, float*, Stream);
template void multiply_csr_rows_cuda(const CsrView<double>&, const EncodedColumns&, const EncodedValues<double>&,
                                     const CsrRows&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats
