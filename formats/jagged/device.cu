#include <algorithm>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/search.hpp"
#include "formats/common/kernels/batches.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/jagged/convert.hpp"
#include "formats/jagged/tile.cuh"
#include "formats/sliced/convert.hpp"

namespace autospmv::formats::cuda_steps {

namespace {

constexpr int batch = 8;

template <class Offset>
__global__ void lengths_kernel(const Offset* row_ptr, const std::int32_t* row_order, std::int64_t rows,
                               std::int32_t* lengths) {
  const auto p = cuda::global_thread();
  if (p >= rows) return;
  const auto row = row_order[p];
  lengths[p] = static_cast<std::int32_t>(row_ptr[row + 1] - row_ptr[row]);
}

// Diagonal j reaches as far as the decreasing lengths are above j.
__global__ void reaches_kernel(const std::int32_t* lengths, std::int64_t rows, std::int64_t diagonals, std::int64_t pad,
                               std::int64_t* reaches) {
  const auto diagonal = cuda::global_thread();
  if (diagonal > diagonals) return;
  const auto reach = partition_point(std::int64_t{0}, rows, [&](std::int64_t p) { return lengths[p] > diagonal; });
  reaches[diagonal] = (reach + pad - 1) / pad * pad;
}

// A warp turns rows that are neighbours in the order into pieces of diagonals; long rows are shared by the warps of one
// blockIdx.x.
template <class T, class Offset>
__global__ void __launch_bounds__(cuda::warp_size)
    fill_kernel(CsrView<T> matrix, const Offset* row_ptr, const std::int32_t* row_order, const std::int32_t* lengths,
                const std::int64_t* starts, std::int32_t* columns, T* values) {
  __shared__ Tile<T> tile;
  const auto p = static_cast<std::int64_t>(blockIdx.x) * tile_rows + threadIdx.x;
  const bool inside = p < matrix.rows;
  const std::int64_t first = inside ? row_ptr[row_order[p]] : 0;
  const std::int64_t length = inside ? lengths[p] : 0;
  // Lengths decrease: the first is the largest.
  const auto longest = __shfl_sync(cuda::all_lanes, static_cast<long long>(length), 0);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * tile_entries;
  for (std::int64_t k = static_cast<std::int64_t>(blockIdx.y) * tile_entries; k < longest; k += step) {
    tile.load(matrix, first + k, length - k);
    for (int entry = 0; entry < tile_entries && k + entry < length; ++entry) {
      const auto slot = __ldg(starts + k + entry) + p;
      columns[slot] = tile.column(entry);
      values[slot] = tile.value(entry);
    }
    __syncwarp();
  }
}

template <class T, class Values>
__global__ void __launch_bounds__(most_block, 1)
    multiply_kernel(const std::int32_t* row_order, const std::int32_t* lengths, const std::int64_t* starts,
                    FullColumns columns, Values values, CachePolicy policy, std::int64_t rows, T alpha,
                    const T* __restrict__ x, T beta, T* __restrict__ y) {
  const auto p = cuda::global_thread();
  if (p >= rows) return;
  const int length = load_stream(lengths + p, policy);
  const std::int64_t row = load_stream(row_order + p, policy);  // on its way while others are
  columns.open(0, policy);
  values.open(policy);
  const T sum = sum_whole_batches<batch>(
      columns, values, length, [&](int k) { return __ldg(starts + k) + p; }, x);
  store_row(y, row, alpha, sum, beta);
}

}  // namespace

template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, JaggedMatrix<T>& jagged, Place place, Stream stream) {
  if (matrix.rows == 0) return 0;
  jagged.row_order = sort_rows(matrix, matrix.rows, place, stream);
  jagged.lengths = Array<std::int32_t>(static_cast<std::size_t>(matrix.rows), place);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    lengths_kernel<<<cuda::grid_for(matrix.rows), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        row_ptr, jagged.row_order.data(), matrix.rows, jagged.lengths.data());
  });
  cuda::check_launch();
  const std::int64_t diagonals = cuda::read(jagged.lengths.data(), stream);
  // One more than there are diagonals: the offset past the last is the number of slots.
  jagged.starts = Array<std::int64_t>(static_cast<std::size_t>(diagonals) + 1, place);
  reaches_kernel<<<cuda::grid_for(diagonals + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      jagged.lengths.data(), matrix.rows, diagonals, jagged.layout.pad, jagged.starts.data());
  cuda::check_launch();
  cuda::exclusive_scan(jagged.starts.data(), jagged.starts.data(), diagonals + 1, place, stream);
  return cuda::read(jagged.starts.data() + diagonals, stream);
}

template <class T>
void fill(const CsrView<T>& matrix, const JaggedMatrix<T>& jagged, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream) {
  if (matrix.rows == 0) return;
  if (jagged.layout.pad > 1) {
    fill_bytes(columns.data(), 0xff, static_cast<std::size_t>(columns.bytes()), columns.place(), stream);
    fill_bytes(values.data(), 0, static_cast<std::size_t>(values.bytes()), values.place(), stream);
  }
  // So many entries of a row are enough for one warp.
  constexpr std::int64_t share = 512;
  constexpr std::int64_t most_shares = 64;
  const auto longest = static_cast<std::int64_t>(jagged.starts.size()) - 1;
  const auto shares = std::clamp<std::int64_t>((longest + share - 1) / share, 1, most_shares);
  const dim3 grid(cuda::grid_for(matrix.rows, tile_rows), static_cast<unsigned>(shares));
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    fill_kernel<<<grid, cuda::warp_size, 0, cuda::InTurn(stream)>>>(matrix, row_ptr, jagged.row_order.data(),
                                                                    jagged.lengths.data(), jagged.starts.data(),
                                                                    columns.data(), values.data());
  });
  cuda::check_launch();
}

template <class T>
void multiply(const JaggedMatrix<T>& jagged, T alpha, const T* x, T beta, T* y, Stream stream) {
  const int block = jagged.layout.block;
  with_values(jagged.values, [&](auto values) {
    multiply_kernel<<<cuda::grid_for(jagged.rows, block), block, 0, cuda::InTurn(stream)>>>(
        jagged.row_order.data(), jagged.lengths.data(), jagged.starts.data(), FullColumns{jagged.columns.full.data()},
        values, policy_for<T>(jagged.bytes(), jagged.rows, jagged.cols), jagged.rows, alpha, x, beta, y);
  });
  cuda::check_launch();
}

#define AUTOSPMV_JAGGED(T)                                                                                \
  template std::int64_t lay_out(const CsrView<T>&, JaggedMatrix<T>&, Place, Stream);                      \
  template void fill(const CsrView<T>&, const JaggedMatrix<T>&, Array<std::int32_t>&, Array<T>&, Stream); \
  template void multiply(const JaggedMatrix<T>&, T, const T*, T, T*, Stream);
AUTOSPMV_JAGGED(float)
AUTOSPMV_JAGGED(double)
#undef AUTOSPMV_JAGGED

}  // namespace autospmv::formats::cuda_steps
