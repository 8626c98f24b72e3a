// From threads to the tally: lanes to their warp by shuffles, warps to their block in shared memory, blocks to the
// tally by atomics. Integers add up to the same in any order.
#pragma once

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "features/cuda/shares.cuh"
#include "features/tally.hpp"

namespace autospmv::cuda::reading {

/// The counts of a block. Every thread of the block constructs one over the same shared memory.
class BlockTally {
 public:
  struct Counts {
    Sums sums;
    Maxima maxima;
  };

  __device__ explicit BlockTally(void* shared) : counts_(static_cast<Counts*>(shared)) {
    Count* const words = reinterpret_cast<Count*>(shared);
    for (int i = static_cast<int>(threadIdx.x); i < count_words<Counts>(); i += default_block) words[i] = 0;
    __syncthreads();
  }

  [[nodiscard]] __device__ Sums& sums() const { return counts_->sums; }
  [[nodiscard]] __device__ Maxima& maxima() const { return counts_->maxima; }

  /// Called by all threads of the block.
  __device__ void add_to(Tally& tally) const {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < count_words<Sums>(); i += default_block) {
      if (words_of(counts_->sums)[i] != 0) atomicAdd(words_of(tally.sums) + i, words_of(counts_->sums)[i]);
    }
    for (int i = static_cast<int>(threadIdx.x); i < count_words<Maxima>(); i += default_block) {
      if (words_of(counts_->maxima)[i] != 0) atomicMax(words_of(tally.maxima) + i, words_of(counts_->maxima)[i]);
    }
  }

 private:
  Counts* counts_;
};

/// Called by all lanes of a warp.
inline __device__ void add(Count& block_sum, Count value) {
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) value += __shfl_down_sync(cuda::all_lanes, value, lanes);
  if (lane() == 0 && value != 0) atomicAdd(&block_sum, value);
}

template <class V>
__device__ V largest_of(V value, int lanes) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value = max(value, __shfl_xor_sync(cuda::all_lanes, value, distance));
  }
  return value;
}

inline __device__ void raise(Count& block_maximum, Count value) {
  value = largest_of(value, warp_size);
  if (lane() == 0) atomicMax(&block_maximum, value);
}

/// Counts that other blocks change while this one looks.
inline __device__ Count fresh(const Count& count) { return __ldcg(&count); }

}  // namespace autospmv::cuda::reading
