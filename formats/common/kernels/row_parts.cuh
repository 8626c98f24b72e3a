// The kernels' side of formats/common/kernels/row_parts.hpp.
#pragma once

#include <cstdint>

#include "formats/common/kernels/kernel.cuh"
#include "formats/common/kernels/row_parts.hpp"

namespace autospmv::formats {

/// By value in kernels.
template <class T>
struct PartSumsView {
  T* sums;
  std::uint32_t* finished;
};

/// This block's part of a row that the blocks first_block, ... have, `parts` of them: its sum, right in thread 0. The
/// block that comes last calls store(sum of all), in thread 0. For whole blocks; `of_warp` as in sum_threads().
template <class T, class Store>
__device__ __forceinline__ void finish_part(const PartSumsView<T>& of, std::int64_t first_block, std::int64_t parts,
                                            T sum, T* of_warp, const Store& store) {
  __shared__ bool is_last;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) {
    of.sums[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(of.finished + first_block, 1U) + 1 == static_cast<std::uint32_t>(parts);
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  T total = 0;
  for (std::int64_t part = thread; part < parts; part += blockDim.x) {
    total += __ldcg(of.sums + first_block + part);  // past the L1 cache, for other blocks wrote them
  }
  total = sum_threads(total, thread, static_cast<int>(blockDim.x), of_warp);
  if (thread == 0) {
    store(total);
    of.finished[first_block] = 0;
  }
}

}  // namespace autospmv::formats
