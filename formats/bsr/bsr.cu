#include "core/cuda/check.hpp"
#include "formats/bsr/bsr.hpp"
#include "formats/common/blocks.cuh"
#include "formats/common/dispatch.hpp"

namespace autospmv::formats::bsr::device {

namespace {

// T lanes walk the values of a block row as they lie, column after column: lane = phase * (r / N) + pack loads N rows
// of one column in each step, N rows being up to 16 bytes, and the next step is T / (r / N) columns on.
//
// Why so, for the 3 x 3 blocks of a mesh in double, 76 bytes each:
// - Bytes: a step of a warp reads ten columns of three values, 240 neighbouring bytes, where a lane for each row of a
//   block row would read pieces of 24 bytes, and a lane for each element of a block would leave five lanes idle, as
//   here two are. Columns and elements of x come from the caches for all but the first lane that asks.
// - Loads in flight: four steps of values beside the columns of the next four, so that only the first step of a block
//   row waits for a column before it can ask for x. A row of 27 blocks is nine steps.
// - Instructions: about fifteen a step and lane, a quarter of what the multiprocessors can issue in the time that the
//   bytes take. Dividing by a constant is one multiplication, which is why the columns of a block are a template
//   argument and the rows are not.
// Short block rows take fewer lanes: 7 blocks are 21 columns, two steps and a bit for a warp but four for 16 lanes.
template <int C, int N, class T>
__global__ void multiply_kernel(BlockView<const T> blocks, int lanes_log2, T alpha, const T* __restrict__ x, T beta,
                                T* __restrict__ y) {
  constexpr int unroll = N * sizeof(T) >= 8 ? 4 : 8;
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
  const auto columns = static_cast<std::uint32_t>((last - first) * C);
  const std::int32_t* block_columns = blocks.block_columns + first;
  const T* values = blocks.values + first * C * blocks.r + lane * N;
  const int step = phases * blocks.r;

  std::int32_t block_column[unroll];
  const auto load_columns = [&](std::uint32_t from) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::uint32_t at = from + u * phases;
      block_column[u] = at < columns ? load_stream(block_columns + at / C) : -1;
    }
  };
  T sum[N] = {};
  load_columns(phase);
  for (std::uint32_t from = phase; from < columns; from += unroll * phases) {
    T value[unroll][N] = {};
    T element[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (from + u * phases < columns) load_values(values + u * step, value[u]);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      element[u] = load_element<C>(x, block_column[u], (from + u * phases) % C, blocks.cols);
    }
    load_columns(from + unroll * phases);
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
#pragma unroll
      for (int n = 0; n < N; ++n) {
        if (!is_absent(value[u][n])) sum[n] += value[u][n] * element[u];
      }
    }
    values += unroll * step;
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
    multiply_kernel<c.value, N>
        <<<grid, launch.block, 0, stream.handle>>>(view_of(blocks), lanes_log2, alpha, x, beta, y);
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
