// What the kernels of all diagonals share. A thread has a few rows, which lie a warp's lanes apart: neighbouring lanes
// have neighbouring rows, however many a thread has, so that they read neighbouring slots and elements of x.
#pragma once

#include <cstdint>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/kernel.cuh"

namespace autospmv::formats {

/// Rows of a warp, of `Rows` a thread.
template <int Rows>
inline constexpr int rows_of_warp = Rows* cuda::warp_size;

/// The grid of warps that have all rows between them.
template <int Rows>
unsigned grid_of_rows(std::int64_t rows, int block) {
  const auto warps = (rows + rows_of_warp<Rows> - 1) / rows_of_warp<Rows>;
  return cuda::grid_for(warps * cuda::warp_size, block);
}

/// The first row of this thread's warp.
template <int Rows>
__device__ __forceinline__ std::int64_t first_row_of_warp() {
  return cuda::global_thread() / cuda::warp_size * rows_of_warp<Rows>;
}

/// Stores what a thread has summed up, from its first row on: those of them that there are.
template <int Rows, class Row, class Count, class T>
__device__ __forceinline__ void store_rows(T* y, Row first, Count rows, T alpha, const T (&sum)[Rows], T beta) {
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const Row row = first + r * cuda::warp_size;
    if (row < rows) store_row(y, row, alpha, sum[r], beta);
  }
}

}  // namespace autospmv::formats
