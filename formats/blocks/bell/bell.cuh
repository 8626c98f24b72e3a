// The product, compiled for each type by itself: a process loads the kernels of a file together.
#pragma once

#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/threads.cuh"
#include "formats/blocks/bell/bell.hpp"
#include "formats/blocks/device.cuh"
#include "formats/common/kernels/dispatch.hpp"

namespace autospmv::formats::bell::device {

namespace {

// A warp takes 32 / T neighbouring rows, T threads each: thread = phase * (32 / T) + row, so that a load of a warp
// reads T runs of neighbouring values. With T = 1 it reads 256 neighbouring bytes in double. As many columns as eight
// loads of values a thread, and the block columns of the next ones, are under way at once.
template <int C, class T, class Values>
__global__ void multiply_kernel(BlockView blocks, Values matrix_values, int threads_log2, T alpha, const T* x, T beta,
                                T* __restrict__ y) {
  constexpr int unroll = C <= 8 / 2 ? 8 / C : 1;
  const int rows_log2 = 5 - threads_log2;
  const int threads = 1 << threads_log2;
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  const int phase = lane >> rows_log2;
  const auto warp = cuda::global_thread() / cuda::warp_size;
  const auto row = (warp << rows_log2) + (lane & ((1 << rows_log2) - 1));
  const bool inside = row < blocks.rows;
  // Divisions of 64 bits would take as long as a block.
  const auto block_row = static_cast<std::uint32_t>(inside ? row : 0) / static_cast<std::uint32_t>(blocks.r);
  const auto slice = block_row / static_cast<std::uint32_t>(blocks.slice);
  const auto first_block_row = slice * blocks.slice;
  const auto plane = blocks.slice * blocks.r;  // values from column to column
  const std::int64_t start = blocks.slice_chunks[slice];
  const int chunks = inside ? static_cast<int>(blocks.slice_chunks[slice + 1] - start) : 0;
  const std::int32_t* block_columns = blocks.block_columns + start * blocks.slice + (block_row - first_block_row);
  std::int64_t slot = (start + phase) * C * plane + (row - first_block_row * blocks.r);

  std::int32_t block_column[unroll];
  const auto load_columns = [&](int from) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const int chunk = from + u * threads;
      block_column[u] = chunk < chunks ? load_stream(block_columns + chunk * blocks.slice, blocks.policy) : -1;
    }
  };
  T sum = 0;
  load_columns(phase);
  cuda::await_before();
  matrix_values.open(blocks.policy);
  for (int from = phase; from < chunks; from += unroll * threads) {
    T value[unroll][C][1] = {};
    T element[unroll][C];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
#pragma unroll
      for (int j = 0; j < C; ++j) {
        if (from + u * threads < chunks) load_values(matrix_values, slot + (u * threads * C + j) * plane, value[u][j]);
      }
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) load_elements(x, block_column[u], blocks.cols, element[u]);
    load_columns(from + unroll * threads);
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
#pragma unroll
      for (int j = 0; j < C; ++j) {
        if (!is_absent(value[u][j][0])) sum += value[u][j][0] * element[u][j];
      }
    }
    slot += unroll * threads * C * plane;
  }
  for (int half = threads / 2; half > 0; half /= 2) {
    sum += __shfl_down_sync(cuda::all_lanes, sum, static_cast<unsigned>(half << rows_log2));
  }
  if (inside && phase == 0) store_row(y, row, alpha, sum, beta);
}

}  // namespace

template <class T>
void multiply(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
              Stream stream) {
  int threads_log2 = 0;
  while (1 << threads_log2 < launch.threads) ++threads_log2;
  const auto grid = cuda::grid_for(blocks.rows << threads_log2, launch.block);
  dispatch<AUTOSPMV_BLOCK_SIZES>(blocks.layout.c, [&](auto c) {
    with_block_values(blocks.values, [&](auto values) {
      cuda::launch_early(multiply_kernel<c.value, T, decltype(values)>, grid, launch.block, 0, stream, view_of(blocks),
                         values, threads_log2, alpha, x, beta, y);
    });
  });
}

}  // namespace autospmv::formats::bell::device
