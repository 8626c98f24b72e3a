// Distinct values on the device: open-addressing tables of bit patterns, one in the shared memory of each block and one
// for all. Most matrices have too many distinct values, and every block then learns that from its first few.
#pragma once

#include "core/cuda/launch.hpp"
#include "features/tally.hpp"

namespace autospmv::cuda {

/// Adds a bit pattern, not that of 0, to a table of which `found` counts the filled slots; false where there are too
/// many to go on.
template <class Found>
__device__ bool insert(Count* table, Count bits, Found* found) {
  for (auto slot = value_slot(bits);; slot = (slot + 1) % value_slots) {
    // Slots are filled once: what is read here is either final or free, and of that the atomic makes sure.
    Count there = *static_cast<volatile Count*>(table + slot);
    if (there == bits) return true;
    if (*static_cast<volatile Found*>(found) > distinct_values_cap) return false;
    if (there == 0) there = atomicCAS(table + slot, Count{0}, bits);
    if (there == 0) return atomicAdd(found, Found{1}) < distinct_values_cap;
    if (there == bits) return true;
  }
}

/// In shared memory, for blocks of default_block threads. Every thread calls clear and merge_into.
class BlockValueTable {
 public:
  __device__ void clear() {
    for (unsigned slot = threadIdx.x; slot < value_slots; slot += default_block) slots_[slot] = 0;
    if (threadIdx.x == 0) found_ = 0;
    __syncthreads();
  }

  __device__ bool insert(Count bits) { return cuda::insert(slots_, bits, &found_); }

  /// How many were inserted, above the cap where there are too many. After a barrier.
  [[nodiscard]] __device__ unsigned found() const { return found_; }

  /// Adds to the table of all blocks, whose count ends above the cap where there are too many.
  __device__ void merge_into(Count* table, Count* found) {
    __syncthreads();
    if (found_ > distinct_values_cap) {
      if (threadIdx.x == 0) atomicMax(found, Count{distinct_values_cap + 1});
      return;
    }
    for (unsigned slot = threadIdx.x; slot < value_slots; slot += default_block) {
      if (slots_[slot] != 0) cuda::insert(table, slots_[slot], found);
    }
  }

 private:
  // A thread may fill a slot past the cap before it looks at the count.
  static_assert(value_slots > distinct_values_cap + 2 * default_block);

  Count slots_[value_slots];
  unsigned found_;
};

}  // namespace autospmv::cuda
