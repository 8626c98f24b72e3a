#include <cstdint>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "tuner/cuda/meter.hpp"

namespace autospmv::cuda {

namespace {

constexpr std::int64_t line = 128;

__global__ void discard_kernel(char* data, std::int64_t lines) {
#if __CUDA_ARCH__ >= 800
  const auto i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < lines) asm volatile("discard.global.L2 [%0], 128;" ::"l"(data + i * line) : "memory");
#endif
}

}  // namespace

void discard(char* data, std::size_t size, Stream stream) {
  const auto lines = static_cast<std::int64_t>(size) / line;
  discard_kernel<<<grid_for(lines), default_block, 0, stream.handle>>>(data, lines);
  check_launch();
}

}  // namespace autospmv::cuda
