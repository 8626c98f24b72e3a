#include "core/cuda/algorithms.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "core/cuda/check.hpp"

namespace autospmv::cuda {

namespace {

struct Total {
  __host__ __device__ std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a + b; }
};

// CUB tells how much scratch it wants when called with none, and works when called again with it.
template <class Call>
void with_scratch(Place place, const Call& call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes));
  Array<std::uint8_t> scratch(std::max<std::size_t>(bytes, 1), place);
  check(call(scratch.data(), bytes));
}

}  // namespace

template <class V>
void exclusive_scan(const V* in, V* out, std::int64_t size, Place place, Stream stream) {
  with_scratch(place, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, size, stream.handle);
  });
}

template <class V>
V read(const V* in, Stream stream) {
  V value{};
  check(cudaMemcpyAsync(&value, in, sizeof(V), cudaMemcpyDeviceToHost, stream.handle));
  check(cudaStreamSynchronize(stream.handle));
  return value;
}

std::int64_t sum_wide(const std::int32_t* in, std::int64_t size, Place place, Stream stream) {
  Array<std::int64_t> total(1, place);
  with_scratch(place, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::Reduce(scratch, bytes, in, total.data(), size, Total{}, std::int64_t{0}, stream.handle);
  });
  return read(total.data(), stream);
}

template <class K, class V>
void sort_pairs(Array<K>& keys, Array<V>& values, int key_bits, Stream stream) {
  const auto size = static_cast<std::int64_t>(keys.size());
  if (size == 0) return;
  Array<K> sorted_keys(keys.size(), keys.place());
  Array<V> sorted_values(values.size(), values.place());
  with_scratch(keys.place(), [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys.data(), sorted_keys.data(), values.data(),
                                           sorted_values.data(), size, 0, key_bits, stream.handle);
  });
  keys = std::move(sorted_keys);
  values = std::move(sorted_values);
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

template void exclusive_scan(const std::int32_t*, std::int32_t*, std::int64_t, Place, Stream);
template void exclusive_scan(const std::int64_t*, std::int64_t*, std::int64_t, Place, Stream);
template void sort_pairs(Array<std::uint64_t>&, Array<std::int32_t>&, int, Stream);
template void sort_pairs(Array<std::uint32_t>&, Array<std::int32_t>&, int, Stream);
template void sort_pairs(Array<std::uint32_t>&, Array<std::uint32_t>&, int, Stream);
template std::int32_t read(const std::int32_t*, Stream);
template std::int64_t read(const std::int64_t*, Stream);

}  // namespace autospmv::cuda
