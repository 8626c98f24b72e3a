#include "formats/common/kernels/vectors.hpp"

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"

namespace autospmv::formats::device {

namespace {

template <class T>
__global__ void scale_kernel(T beta, T* y, std::int64_t size) {
  const auto i = cuda::global_thread();
  if (i < size) y[i] = beta == T{0} ? T{0} : beta * y[i];
}

}  // namespace

template <class T>
void scale(T beta, T* y, std::int64_t size, Stream stream) {
  if (beta == T{1} || size == 0) return;
  scale_kernel<<<cuda::grid_for(size), cuda::default_block, 0, cuda::InTurn(stream)>>>(beta, y, size);
  cuda::check_launch();
}

template void scale(float, float*, std::int64_t, Stream);
template void scale(double, double*, std::int64_t, Stream);

}  // namespace autospmv::formats::device
