#include "core/cuda/check.hpp"
#include "formats/bsr/bsr.hpp"
#include "formats/common/blocks.cuh"
#include "formats/common/dispatch.hpp"

namespace autospmv::formats::bsr::device {

namespace {

constexpr int most_threads = 512;

// Narrow loads need many warps to have enough bytes under way; wide ones need the registers more.
template <int C, int N, class T>
constexpr int resident_blocks = N * sizeof(T) < 16 && C <= 4 ? 3 : 1;

// T lanes walk the values of a block row as they lie, column after column: lane = phase * (r / N) + pack loads N rows
// of one column in each step, N rows being up to 16 bytes, and the next step is `phases` = T / (r / N) columns on. A
// round is as many steps as make whole blocks, whatever T is: in every round a lane finds its steps at the same places
// of the blocks, so nothing is divided within the loop.
//
// Why so, for the 3 x 3 blocks of a mesh in double, 76 bytes each:
// - Bytes: a step of a warp reads ten columns of three values, 240 neighbouring bytes, where a lane for each row of a
//   block row would read pieces of 24 bytes, and a lane for each element of a block would leave five lanes idle, as
//   here two are. Block columns and elements of x come from the caches for all but the first lane that asks.
// - Loads in flight: a round of three values, and beside them the block columns of the next, so that only the first
//   round waits for a block column before it can ask for x. What a short block row waits for, its offsets and then its
//   first round, the block rows of a warp wait for together: fewer lanes a block row hide it better, until a lane has
//   to walk too far.
// - Instructions: about sixteen a step and lane, a third of what the multiprocessors can issue in the time that the
//   bytes take.
template <int C, int N, class T, class Values>
__global__ void __launch_bounds__(most_threads, resident_blocks<C, N, T>)
    multiply_kernel(BlockView blocks, Values matrix_values, int lanes_log2, T alpha, const T* __restrict__ x, T beta,
                    T* __restrict__ y) {
  constexpr int blocks_of_round = C < 3 ? 2 : 1;  // for each phase
  constexpr int steps = blocks_of_round * C;
  const auto thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto block_row = thread >> lanes_log2;
  const int lanes = 1 << lanes_log2;
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int packs = blocks.r / N;
  const int phase = lane / packs;
  const int phases = lanes / packs;
  const bool inside = block_row < blocks.block_rows && phase < phases;
  const std::int64_t first = inside ? blocks.slice_chunks[block_row] : 0;
  const std::int64_t last = inside ? blocks.slice_chunks[block_row + 1] : 0;
  const std::int32_t* block_columns = blocks.block_columns + first;
  std::int64_t slot = first * C * blocks.r + lane * N;
  const int stride = phases * blocks.r;
  const auto column_of = [&](int step) { return static_cast<std::uint32_t>(phase + step * phases); };

  std::int32_t block_column[steps];
  const auto load_columns = [&](std::uint32_t columns) {
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      block_column[s] = column_of(s) < columns ? load_stream(block_columns + column_of(s) / C) : -1;
    }
  };
  T sum[N] = {};
  auto columns = static_cast<std::uint32_t>((last - first) * C);
  load_columns(columns);
  while (columns > 0) {
    T value[steps][N] = {};
    T element[steps];
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      if (column_of(s) < columns) load_values(matrix_values, slot + s * stride, value[s]);
    }
#pragma unroll
    for (int s = 0; s < steps; ++s) element[s] = load_element<C>(x, block_column[s], column_of(s) % C, blocks.cols);
    columns -= min(columns, static_cast<std::uint32_t>(steps * phases));
    block_columns += blocks_of_round * phases;
    slot += steps * stride;
    load_columns(columns);
#pragma unroll
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int n = 0; n < N; ++n) {
        if (!is_absent(value[s][n])) sum[n] += value[s][n] * element[s];
      }
    }
  }

  // Over the phases, whose number need not be a power of two.
  for (int live = phases; live > 1;) {
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

template <int N, class T>
void launch_packs(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
                  Stream stream) {
  int lanes_log2 = 0;
  while (1 << lanes_log2 < launch.threads) ++lanes_log2;
  const auto grid = cuda::grid_for(blocks.block_rows << lanes_log2, launch.block);
  dispatch<AUTOSPMV_BLOCK_SIZES>(blocks.layout.c, [&](auto c) {
    with_block_values(blocks.values, [&](auto values) {
      multiply_kernel<c.value, N>
          <<<grid, launch.block, 0, stream.handle>>>(view_of(blocks), values, lanes_log2, alpha, x, beta, y);
    });
  });
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
