// Which values there are.
#pragma once

#include <cstdint>

#include "features/cuda/block_tally.cuh"
#include "features/cuda/shares.cuh"
#include "features/cuda/value_table.cuh"
#include "features/tally.hpp"

namespace autospmv::cuda::reading {

template <class T>
__device__ void read_values(const T* values, std::int64_t nnz, Count* table, Part part, const BlockTally& block,
                            Tally& tally) {
  __shared__ BlockValueTable block_table;
  block_table.clear();
  bool counting = true;
  bool exact = true;
  bool zero = false;
  double largest = 0;
  const WarpShare share = share_of_warp(nnz, part);
  constexpr int at_once = 4;  // values of a lane, whose loads do not wait for each other
  for (std::int64_t step = share.first + lane(); step < share.last; step += at_once * warp_size) {
    T loaded[at_once];
#pragma unroll
    for (int at = 0; at < at_once; ++at) loaded[at] = values[min(step + at * warp_size, share.last - 1)];
#pragma unroll
    for (int at = 0; at < at_once; ++at) {
      const Count bits = bits_of(loaded[at]);
      exact = exact && survives_float(loaded[at]);
      if (bits == 0) {
        zero = true;
      } else if (counting) {
        counting = block_table.insert(bits);
      }
      const double magnitude = fabs(static_cast<double>(loaded[at]));
      if (isfinite(magnitude)) largest = fmax(largest, magnitude);
    }
  }
  __syncwarp();
  add(block.sums().zero_values, zero ? 1 : 0);
  add(block.sums().inexact_values, exact ? 0 : 1);
  raise(block.maxima().magnitude, static_cast<Count>(__double_as_longlong(largest)));
  block_table.merge_into(table, &tally.sums.distinct_values);
}

}  // namespace autospmv::cuda::reading
