// Kernels that look at all nonzeros of a CSR matrix, long rows shared like short ones.
#pragma once

#include <cstdint>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/cuda/warp_search.cuh"
#include "core/search.hpp"

namespace autospmv::formats::cuda_steps {

/// Nonzeros of a warp, 32 at a time: neighbouring lanes look at neighbouring nonzeros. The search for the first row is
/// the dearest step, so it is done once for all of them.
inline constexpr int nonzeros_of_warp = 256;

/// Calls body(row, k) for the nonzeros of the calling thread, of those of the grid_for_nonzeros(nnz).
template <class Offset, class Body>
__device__ void for_each_nonzero(const Offset* row_ptr, std::int64_t rows, std::int64_t nnz, const Body& body) {
  const auto thread = cuda::global_thread();
  const auto first = thread / cuda::warp_size * nonzeros_of_warp;
  if (first >= nnz) return;
  const auto last = min(static_cast<long long>(nnz), static_cast<long long>(first + nonzeros_of_warp));
  auto row = cuda::part_of_by_warp(row_ptr, rows, first);
  for (auto k = first + threadIdx.x % cuda::warp_size; k < last; k += cuda::warp_size) {
    row = part_near(row_ptr, row, rows, k);
    body(row, k);
  }
}

/// Blocks of default_block threads.
inline unsigned grid_for_nonzeros(std::int64_t nnz) {
  return cuda::grid_for((nnz + nonzeros_of_warp - 1) / nonzeros_of_warp * cuda::warp_size);
}

}  // namespace autospmv::formats::cuda_steps
