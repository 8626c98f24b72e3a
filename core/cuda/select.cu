#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_select.cuh>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/cub_scratch.cuh"
#include "core/cuda/runtime.hpp"

namespace autospmv::cuda {

namespace {

struct Total {
  __host__ __device__ std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a + b; }
};

}  // namespace

template <class V>
V read(const V* in, Stream stream) {
  V value{};
  copy(&value, in, sizeof(V), stream);
  synchronize_stream(stream);
  return value;
}

std::int64_t sum_wide(const std::int32_t* in, std::int64_t size, Place place, Stream stream) {
  Array<std::int64_t> total(1, place);
  with_scratch(place, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::Reduce(scratch, bytes, in, total.data(), size, Total{}, std::int64_t{0}, stream.handle);
  });
  return read(total.data(), stream);
}

std::int64_t flagged_positions(const std::uint8_t* flags, std::int64_t size, std::int32_t* out, Place place,
                               Stream stream) {
  Array<std::int64_t> count(1, place);
  const thrust::counting_iterator<std::int32_t> positions(0);
  with_scratch(place, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceSelect::Flagged(scratch, bytes, positions, flags, out, count.data(), size, stream.handle);
  });
  return read(count.data(), stream);
}

template std::int32_t read(const std::int32_t*, Stream);
template std::int64_t read(const std::int64_t*, Stream);

}  // namespace autospmv::cuda
