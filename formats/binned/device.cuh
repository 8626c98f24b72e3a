// The sum of one row by however many threads, for the kernels of rows in bins.
#pragma once

#include "formats/binned/operator.hpp"
#include "formats/common/kernels/kernel.cuh"

namespace autospmv::formats {

// Entries lane, lane + threads, ... of a row, a batch of loads before the first is used. Most rows are a single batch
// that is not full, so there is no second loop for what is left of one. Past the end, the last entry is loaded again:
// its sectors are on their way, and loads under conditions the compiler would put one behind the other.
template <class T, class Values>
__device__ __forceinline__ T batched_sum(const FullColumns& columns, const Values& values, std::int64_t first,
                                         std::int64_t last, int lane, int threads, const T* x) {
  constexpr int unroll = 4;
  T sum = 0;
  for (std::int64_t k = first + lane; k < last; k += unroll * threads) {
    const std::int64_t left = last - k - 1;
    const int last_step = left < unroll * threads ? static_cast<int>(left) : unroll * threads;
    std::int32_t column[unroll];
    T value[unroll];
    T element[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) column[u] = columns.at(k + min(u * threads, last_step));
#pragma unroll
    for (int u = 0; u < unroll; ++u) value[u] = values.at(k + min(u * threads, last_step));
#pragma unroll
    for (int u = 0; u < unroll; ++u) element[u] = load_x(x + column[u]);
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += u * threads <= last_step ? value[u] * element[u] : T{0};
  }
  return sum;
}

}  // namespace autospmv::formats
