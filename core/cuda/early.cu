#include "core/cuda/early.cuh"

namespace autospmv::cuda {

namespace {

__global__ void empty_kernel() {}

}  // namespace

bool kernels_await() {
  thread_local int known = -1;
  thread_local bool await = false;
  int ordinal = 0;
  check(cudaGetDevice(&ordinal));
  if (ordinal != known) {
    // Not the device decides but what was compiled for it: code of an older virtual architecture runs on a newer device
    // too, and does not wait.
    cudaFuncAttributes of_kernel{};
    check(cudaFuncGetAttributes(&of_kernel, empty_kernel));
    await = of_kernel.ptxVersion >= 90;
    known = ordinal;
  }
  return await;
}

}  // namespace autospmv::cuda
