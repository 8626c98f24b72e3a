#include <type_traits>

#include "core/cuda/check.hpp"
#include "formats/bsr/bsr.hpp"
#include "formats/common/blocks.cuh"
#include "formats/common/dispatch.hpp"

namespace autospmv::formats::bsr::device {

namespace {

// T lanes walk the blocks of a block row, each lane at the same place of every block that it reads: lane = (block * J +
// column) * (r / N) + pack loads N rows of one column, N rows being up to 16 bytes, J columns side by side: all C of
// them, or half as many where a block is larger than a warp and a lane takes K = 2. A step is as many whole blocks as T
// lanes hold.
//
// Why so, for the 3 x 3 blocks of a mesh in double, 76 bytes each:
// - Bytes: a step of a warp reads three blocks, 216 neighbouring bytes; five lanes are idle. Block columns and elements
//   of x come from the caches for all but the first lane that asks.
// - Instructions: a lane's column within the block never changes, so that a step is a load of a block column, one of x,
//   one of the matrix, and a multiplication. Whole rounds are asked for no step whether it is inside.
// - Loads in flight: those of a round, up to eight values a lane.
template <int C, int N, int K, class T, class Values>
__global__ void multiply_kernel(BlockView blocks, Values matrix_values, int lanes_log2, T alpha,
                                const T* __restrict__ x, T beta, T* __restrict__ y) {
  constexpr int J = (C + K - 1) / K;
  constexpr int steps = 8 / (N * K);
  const auto thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto block_row = thread >> lanes_log2;
  const int lanes = 1 << lanes_log2;
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int packs = blocks.r / N;
  const int at_once = lanes / (packs * J);
  const int phase = lane / packs;
  const int which = phase / J;
  const int j = phase - which * J;
  const bool inside = block_row < blocks.block_rows && which < at_once;
  const std::int32_t first = inside ? blocks.slice_chunks[block_row] : 0;
  const std::int32_t* block_column = blocks.block_columns + first + which;
  int left = inside ? blocks.slice_chunks[block_row + 1] - first - which : 0;
  std::int64_t slot =
      (static_cast<std::int64_t>(first) + which) * C * blocks.r + j * blocks.r + (lane - phase * packs) * N;
  const int stride = at_once * C * blocks.r;
  const auto last_column = static_cast<std::uint32_t>(blocks.cols - 1);

  T sum[N] = {};
  const auto add_steps = [&](auto count) {
    std::uint32_t column[count];
    T value[count][K][N] = {};
#pragma unroll
    for (int s = 0; s < count; ++s) column[s] = static_cast<std::uint32_t>(load_stream(block_column + s * at_once)) * C;
#pragma unroll
    for (int s = 0; s < count; ++s) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        if (j + k * J < C) load_values(matrix_values, slot + s * stride + k * J * blocks.r, value[s][k]);
      }
    }
#pragma unroll
    for (int s = 0; s < count; ++s) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        // Past the last column there is no nonzero: any element will do.
        const T element = load_x(x + min(column[s] + j + k * J, last_column));
#pragma unroll
        for (int n = 0; n < N; ++n) {
          if (!is_absent(value[s][k][n])) sum[n] += value[s][k][n] * element;
        }
      }
    }
    block_column += count * at_once;
    slot += count * stride;
    left -= count * at_once;
  };
  while (left > (steps - 1) * at_once) add_steps(std::integral_constant<int, steps>{});
  while (left > 0) add_steps(std::integral_constant<int, 1>{});

  // Over the columns of all blocks of a step, whose number need not be a power of two.
  for (int live = at_once * J; live > 1;) {
    const int half = (live + 1) / 2;
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const T other = __shfl_down_sync(0xffffffffU, sum[n], static_cast<unsigned>(half * packs), lanes);
      if (phase + half < live) sum[n] += other;
    }
    live = half;
  }
  if (!inside || phase > 0) return;
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const auto row = block_row * blocks.r + lane * N + n;
    if (row < blocks.rows) store_row(y, row, alpha, sum[n], beta);
  }
}

template <int N, int K, class T>
void launch_lanes(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
                  Stream stream) {
  int lanes_log2 = 0;
  while (1 << lanes_log2 < launch.threads) ++lanes_log2;
  const auto grid = cuda::grid_for(blocks.block_rows << lanes_log2, launch.block);
  dispatch<AUTOSPMV_BLOCK_SIZES>(blocks.layout.c, [&](auto c) {
    // Of five or seven rows, for the others are loaded two at once.
    if constexpr (K == 1 || columns_of_lane<T>(7, c.value) == K) {
      with_block_values(blocks.values, [&](auto values) {
        multiply_kernel<c.value, N, K>
            <<<grid, launch.block, 0, stream.handle>>>(view_of(blocks), values, lanes_log2, alpha, x, beta, y);
      });
    }
  });
}

template <int N, class T>
void launch_packs(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
                  Stream stream) {
  if (columns_of_lane<T>(blocks.layout.r, blocks.layout.c) == 1) {
    launch_lanes<N, 1>(blocks, launch, alpha, x, beta, y, stream);
  } else if constexpr (N == 1) {
    launch_lanes<N, 2>(blocks, launch, alpha, x, beta, y, stream);
  }
}

}  // namespace

template <class T>
void multiply(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
              Stream stream) {
  const int rows = rows_of_lane<T>(blocks.layout.r);
  if (rows == 1) {
    launch_packs<1>(blocks, launch, alpha, x, beta, y, stream);
  } else if (rows == 2) {
    launch_packs<2>(blocks, launch, alpha, x, beta, y, stream);
  } else if constexpr (sizeof(T) == 4) {
    launch_packs<4>(blocks, launch, alpha, x, beta, y, stream);
  }
  cuda::check_launch();
}

template void multiply(const BlockMatrix<float>&, const BlockLaunch&, float, const float*, float, float*, Stream);
template void multiply(const BlockMatrix<double>&, const BlockLaunch&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::bsr::device
