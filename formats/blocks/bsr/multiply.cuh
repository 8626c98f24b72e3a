// The product, for each number of columns of a block.
#pragma once

#include <algorithm>

#include "core/cuda/early.cuh"
#include "core/cuda/threads.cuh"
#include "formats/blocks/bsr/bsr.hpp"
#include "formats/blocks/device.cuh"
#include "formats/common/kernels/dispatch.hpp"

namespace autospmv::formats::bsr::device {

namespace {

// So many lanes as hold whole blocks, up to T of them, walk the blocks of a block row; a warp takes as many block rows
// as it has room for: 27 lanes and one, or 9 lanes and three, for blocks of 3 x 3 in double. Each lane stays at the
// same place of every block that it reads: lane = (block * J + column) * (r / N) + pack loads N rows of one column, N
// rows being up to 16 bytes, J columns side by side: all C of them, or half as many where a lane takes K = 2. A step is
// as many whole blocks as the lanes hold, a round the steps whose loads are in flight together.
//
// Why so, for the 3 x 3 blocks of a mesh in double, 76 bytes each:
// - Bytes: a step of 27 lanes reads three blocks, 216 neighbouring bytes; five lanes are idle. Block columns and
//   elements of x come from the caches for all but the first lane that asks.
// - Instructions: a lane's column within the block never changes, so that a step is a load of a block column, one of x,
//   one of the matrix, and a multiplication. Of square blocks the compiler knows r, c and the lanes, and every load of
//   a round is at a constant distance from the first: that alone is worth up to a quarter of the time.
// - Loads in flight: nine a lane, each compared with the end, so that the 27 blocks of a node of a hexahedral mesh are
//   one round of 27 lanes, or three of nine, and a round costs one latency for the matrix and one for x. Where a lane
//   takes more than one value a step, four steps are about as many bytes.
// - Order: x is read by plain loads, which stay behind those of the matrix; the compiler moves read-only ones ahead.
// - Few lanes, that go through many rounds, read the block columns of a round side by side, one round ahead, and hand
//   them to each other: one load for nine. A whole warp has a round or two, and each lane had better load its own.

// Without a bound on the blocks that run at once, the compiler saves registers: it waits for a load before it asks for
// the next ones.
constexpr int largest_block = 512;

/// Any r and any lanes, known when the kernel runs only.
constexpr int any = 0;

template <int R, int C, int N, int K, int Lanes, class T, class Values>
__global__ void __launch_bounds__(largest_block, 1)
    multiply_kernel(BlockView blocks, Values matrix_values, int lanes_of_launch, T alpha, const T* x, T beta, T* y) {
  constexpr int J = (C + K - 1) / K;
  constexpr bool handed = Lanes != any && Lanes < cuda::warp_size / 2;
  constexpr int in_flight = N * K == 1 ? 9 : 4;
  // Lanes that hand block columns to each other hold one each.
  constexpr int steps = handed ? std::min(in_flight, R / N * J) : in_flight;
  const int r = R == any ? blocks.r : R;
  const int lanes = Lanes == any ? lanes_of_launch : Lanes;
  const int block_rows_of_warp = cuda::warp_size / lanes;
  const auto warp = cuda::global_thread() / cuda::warp_size;
  const int lane_of_warp = static_cast<int>(threadIdx.x) % cuda::warp_size;
  const int group = lane_of_warp / lanes;
  const int lane = lane_of_warp - group * lanes;
  const auto block_row = warp * block_rows_of_warp + group;
  const int packs = r / N;
  const int at_once = lanes / (packs * J);
  const int phase = lane / packs;
  const int which = phase / J;
  const int j = phase - which * J;
  const bool inside = group < block_rows_of_warp && block_row < blocks.block_rows;
  const std::int32_t first = inside ? blocks.slice_chunks[block_row] : 0;
  const int stride = at_once * C * r;
  const auto last_column = static_cast<std::uint32_t>(blocks.cols - 1);
  int left = inside ? blocks.slice_chunks[block_row + 1] - first - which : 0;
  const std::int32_t* block_column = blocks.block_columns + first + which;
  std::int64_t slot = (static_cast<std::int64_t>(first) + which) * C * r + j * r + (lane - phase * packs) * N;

  T sum[N] = {};
  // Steps past the end read nothing of the matrix, and any element of x.
  const auto column_at = [&](int step) {
    return step < left ? static_cast<std::uint32_t>(load_stream(block_column + step, blocks.policy)) : 0;
  };
  // The lane's own of the block columns of a round, `from` blocks ahead, that the lanes of a block row hold.
  const auto handed_column = [&](int from) { return lane < steps * at_once ? column_at(from + lane - which) : 0; };
  std::uint32_t next = handed ? handed_column(0) : 0;
  cuda::await_before();
  matrix_values.open(blocks.policy);
  // All lanes of a warp go through their rounds together.
  while (__any_sync(cuda::all_lanes, static_cast<int>(left > 0)) != 0) {
    std::uint32_t column[steps];
    T value[steps][K][N] = {};
    T element[steps][K];
    if constexpr (!handed) {
#pragma unroll
      for (int s = 0; s < steps; ++s) column[s] = column_at(s * at_once);
    }
#pragma unroll
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        if (s * at_once < left && (C % K == 0 || j + k * J < C)) {
          load_values(matrix_values, slot + s * stride + k * J * r, value[s][k]);
        }
      }
    }
    if constexpr (handed) {
      const auto mine = next;
      next = handed_column(steps * at_once);
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        column[s] = __shfl_sync(cuda::all_lanes, mine, lane_of_warp - lane + s * at_once + which);
      }
    }
    // Loads do not move past these: all of a round are asked for before any is waited for.
    __syncwarp();
#pragma unroll
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        // Past the last column there is no nonzero: any element will do.
        element[s][k] = x[min(column[s] * C + j + k * J, last_column)];
      }
    }
    __syncwarp();
#pragma unroll
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
#pragma unroll
        for (int n = 0; n < N; ++n) {
          if (!is_absent(value[s][k][n])) sum[n] += value[s][k][n] * element[s][k];
        }
      }
    }
    block_column += steps * at_once;
    slot += steps * stride;
    left -= steps * at_once;
  }

  // Over the columns of all blocks of a step, whose number need not be a power of two.
  for (int live = at_once * J; live > 1;) {
    const int half = (live + 1) / 2;
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const T other = __shfl_down_sync(cuda::all_lanes, sum[n], static_cast<unsigned>(half * packs));
      if (phase + half < live) sum[n] += other;
    }
    live = half;
  }
  if (!inside || phase > 0) return;
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const auto row = block_row * r + lane * N + n;
    if (row < blocks.rows) store_row(y, row, alpha, sum[n], beta);
  }
}

template <int R, int C, int N, int K, int Lanes, class T>
void launch_kernel(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
                   Stream stream) {
  const int lanes = lanes_of_row<T>(blocks.layout.r, blocks.layout.c, launch.threads);
  const int block_rows_of_warp = cuda::warp_size / lanes;
  const auto warps = (blocks.block_rows + block_rows_of_warp - 1) / block_rows_of_warp;
  const auto grid = cuda::grid_for(warps * cuda::warp_size, launch.block);
  with_block_values(blocks.values, [&](auto values) {
    cuda::launch_early(multiply_kernel<R, C, N, K, Lanes, T, decltype(values)>, grid, launch.block, 0, stream,
                       view_of(blocks), values, lanes, alpha, x, beta, y);
  });
}

/// Whether blocks of c columns and some other number of rows take N rows and K columns a lane.
template <class T>
constexpr bool is_shape(int c, int rows, int columns) {
  for (const int r : {AUTOSPMV_BLOCK_SIZES}) {
    if (r != c && rows_of_lane<T>(r) == rows && columns_of_lane<T>(r, c) == columns) return true;
  }
  return false;
}

}  // namespace

template <int c, class T>
void multiply_columns(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
                      Stream stream) {
  const int r = blocks.layout.r;
  if (r == c) {
    dispatch<AUTOSPMV_BSR_LANES>(launch.threads, [&](auto threads) {
      constexpr int lanes = lanes_of_row<T>(c, c, threads.value);
      launch_kernel<c, c, rows_of_lane<T>(c), columns_of_lane<T>(c, c), lanes>(blocks, launch, alpha, x, beta, y,
                                                                               stream);
    });
  } else {
    dispatch<1, 2, 4>(rows_of_lane<T>(r), [&](auto rows) {
      dispatch<1, 2>(columns_of_lane<T>(r, c), [&](auto columns) {
        if constexpr (is_shape<T>(c, rows.value, columns.value)) {
          launch_kernel<any, c, rows.value, columns.value, any>(blocks, launch, alpha, x, beta, y, stream);
        }
      });
    });
  }
}

}  // namespace autospmv::formats::bsr::device
