// Every CUDA call is checked, in one of three ways: throw, return, or (in destructors) swallow.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace autospmv::cuda {

/// Throws DeviceError naming the error and the place of the call.
void check(cudaError_t status, std::source_location where = std::source_location::current());

/// Throws for a kernel launch that could not be made.
inline void check_launch(std::source_location where = std::source_location::current()) {
  check(cudaGetLastError(), where);
}

/// For destructors: an error there is either a repetition of one that was thrown or of no consequence. Cleared, so that
/// no later check of a launch finds it.
inline void ignore(cudaError_t status) noexcept {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
}

}  // namespace autospmv::cuda
