// Kernels that may begin while the one before them in their stream still ends: programmatic dependent launch. What it
// saves is the time between two kernels, a third of a small product.
//
// Such a kernel reads what nobody writes while it can be read, say the columns of a matrix, then waits until everything
// before it in the stream is done and can be seen, and only then reads vectors and values, and writes. It lets the next
// one begin no earlier than that, so that whoever follows, whatever it is, finds the order of the stream unchanged: two
// kernels that are both under way are neighbours in it.
//
// Source: NVIDIA, "CUDA C++ Programming Guide", programmatic dependent launch and synchronization.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "autospmv/stream.hpp"
#include "core/cuda/check.hpp"
#include "core/machine/turns.hpp"

namespace autospmv::cuda {

/// Whether kernels of the current device wait where they are told to: those compiled for sm_90 and later. Quick enough
/// for every product.
bool kernels_await();

/// Launches a kernel all of whose threads call await_before(), whatever else they do.
template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, Stream stream,
                  Arguments&&... arguments) {
  const DriverTurn turn;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream.handle;
  config.attrs = &early;
  config.numAttrs = kernels_await() ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

/// Waits for all that comes before this kernel in its stream, and lets what comes after it begin likewise. Loads that
/// come later in the code stay behind it, but for those that the compiler takes for read-only: by __ldg(), or through
/// parameters that are const and __restrict__.
__device__ __forceinline__ void await_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace autospmv::cuda
