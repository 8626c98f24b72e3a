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

template <class T, class Index>
__global__ void gather_kernel(const T* from, const Index* source, T* out, std::int64_t size) {
  const auto i = cuda::global_thread();
  if (i < size) out[i] = from[source[i]];
}

}  // namespace

template <class T>
void scale(T beta, T* y, std::int64_t size, Stream stream) {
  if (beta == T{1} || size == 0) return;
  scale_kernel<<<cuda::grid_for(size), cuda::default_block, 0, stream.handle>>>(beta, y, size);
  cuda::check_launch();
}

template <class T, class Index>
void gather(const T* from, const Index* source, T* out, std::int64_t size, Stream stream) {
  if (size == 0) return;
  gather_kernel<<<cuda::grid_for(size), cuda::default_block, 0, stream.handle>>>(from, source, out, size);
  cuda::check_launch();
}

#define AUTOSPMV_VECTORS(T)                                                       \
  template void scale(T, T*, std::int64_t, Stream);                               \
  template void gather(const T*, const std::int32_t*, T*, std::int64_t, Stream);  \
  template void gather(const T*, const std::uint32_t*, T*, std::int64_t, Stream); \
  template void gather(const T*, const std::int64_t*, T*, std::int64_t, Stream);
AUTOSPMV_VECTORS(float)
AUTOSPMV_VECTORS(double)
#undef AUTOSPMV_VECTORS
template void gather(const std::int32_t*, const std::uint32_t*, std::int32_t*, std::int64_t, Stream);
template void gather(const std::int32_t*, const std::int32_t*, std::int32_t*, std::int64_t, Stream);

}  // namespace autospmv::formats::device
