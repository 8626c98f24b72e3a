// More shared memory for a block than CUDA gives without being asked.
#pragma once

#include "core/cuda/check.hpp"

namespace autospmv::formats {

/// What a kernel may declare itself, beside the memory that it is launched with.
inline constexpr int declared_shared_bytes = 1024;

/// Lets a kernel be launched with so much shared memory. Always asks for all that the device has: two threads that
/// launch the same kernel with different sizes must not take it from each other.
template <class... Arguments>
void allow_shared_memory(void (*kernel)(Arguments...), int bytes) {
  constexpr int given_unasked = 48 * 1024;
  if (bytes + declared_shared_bytes <= given_unasked) return;
  int device = 0;
  int most = 0;
  cuda::check(cudaGetDevice(&device));
  cuda::check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  cuda::check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   most - declared_shared_bytes));
}

}  // namespace autospmv::formats
