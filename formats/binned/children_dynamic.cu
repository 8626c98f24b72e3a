#include <mutex>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/binned/children_dynamic.hpp"
#include "formats/binned/device.cuh"

namespace autospmv::formats::cuda_steps {

namespace {

constexpr int most_child_threads = 1024;

template <class T, class Values>
__global__ void __launch_bounds__(most_child_threads)
    child_kernel(const std::int32_t* columns, Values values, CachePolicy policy, std::int64_t first, std::int64_t last,
                 std::int64_t row, T alpha, const T* __restrict__ x, T beta, T* __restrict__ y) {
  __shared__ T of_warp[most_warps];
  const int threads = static_cast<int>(blockDim.x);
  values.open(policy);
  T sum = batched_sum(FullColumns{columns, policy}, values, first, last, static_cast<int>(threadIdx.x), threads, x);
  sum = sum_threads(sum, static_cast<int>(threadIdx.x), threads, of_warp);
  if (threadIdx.x == 0) store_row(y, row, alpha, sum, beta);
}

// Half the nonzeros of a row, in whole warps.
__device__ int child_threads(std::int64_t length) {
  const std::int64_t threads = ((length >> 1) + 31) >> 5 << 5;
  return static_cast<int>(max(32LL, min(static_cast<long long>(most_child_threads), static_cast<long long>(threads))));
}

template <class T, class Offset, class Values>
__global__ void parent_kernel(BinnedView<Offset> rows, Values values, CachePolicy policy, std::int64_t count, T alpha,
                              const T* x, T beta, T* y) {
  const auto position = cuda::global_thread();
  if (position >= count) return;
  const auto row = rows.row_at(position);
  const auto first = rows.first_entry(position, row);
  const auto last = rows.last_entry(position, row);
  child_kernel<<<1, child_threads(last - first), 0, cudaStreamFireAndForget>>>(rows.columns, values, policy, first,
                                                                               last, row, alpha, x, beta, y);
  if (cudaGetLastError() == cudaSuccess) return;
  values.open(policy);
  store_row(y, row, alpha, batched_sum(FullColumns{rows.columns, policy}, values, first, last, 0, 1, x), beta);
}

}  // namespace

bool reserve_children(std::int64_t children, Place place) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  const DeviceScope scope(place);
  const auto wanted = static_cast<std::size_t>(children);
  std::size_t pool = 0;
  cuda::check(cudaDeviceGetLimit(&pool, cudaLimitDevRuntimePendingLaunchCount));
  if (pool >= wanted) return true;
  const auto status = cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, wanted);
  if (status != cudaSuccess) cuda::ignore(cudaGetLastError());
  return status == cudaSuccess;
}

template <class T, class Offset, class Values>
void multiply_dynamic(const BinnedView<Offset>& rows, const Values& values, CachePolicy policy, std::int64_t count,
                      T alpha, const T* x, T beta, T* y, Stream stream) {
  parent_kernel<<<cuda::grid_for(count), cuda::default_block, 0, cuda::InTurn(stream)>>>(rows, values, policy, count,
                                                                                         alpha, x, beta, y);
  cuda::check_launch();
}

#define AUTOSPMV_DYNAMIC(T, Offset, Values)                                                                           \
  template void multiply_dynamic(const BinnedView<Offset>&, const Values<T>&, CachePolicy, std::int64_t, T, const T*, \
                                 T, T*, Stream);
#define AUTOSPMV_DYNAMIC_OFFSETS(T, Values) \
  AUTOSPMV_DYNAMIC(T, std::int32_t, Values) \
  AUTOSPMV_DYNAMIC(T, std::int64_t, Values)
AUTOSPMV_DYNAMIC_OFFSETS(float, FullValues)
AUTOSPMV_DYNAMIC_OFFSETS(float, DictionaryValues)
AUTOSPMV_DYNAMIC_OFFSETS(float, OneValue)
AUTOSPMV_DYNAMIC_OFFSETS(double, FullValues)
AUTOSPMV_DYNAMIC_OFFSETS(double, NarrowValues)
AUTOSPMV_DYNAMIC_OFFSETS(double, DictionaryValues)
AUTOSPMV_DYNAMIC_OFFSETS(double, OneValue)
#undef AUTOSPMV_DYNAMIC_OFFSETS
#undef AUTOSPMV_DYNAMIC

}  // namespace autospmv::formats::cuda_steps
