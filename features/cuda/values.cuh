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
  const WarpShare share = share_of_warp(nnz, part);
  for (std::int64_t k = share.first + lane(); k < share.last; k += warp_size) {
    const Count bits = bits_of(values[k]);
    exact = exact && survives_float(values[k]);
    if (bits == 0) {
      zero = true;
    } else if (counting) {
      counting = block_table.insert(bits);
    }
    const bool nothing_left = !counting && (!exact || sizeof(T) == sizeof(float));
    if (nothing_left) break;
  }
  __syncwarp();
  add(block.sums().zero_values, zero ? 1 : 0);
  add(block.sums().inexact_values, exact ? 0 : 1);
  block_table.merge_into(table, &tally.sums.distinct_values);
}

}  // namespace autospmv::cuda::reading
