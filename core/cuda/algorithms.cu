#include "core/cuda/algorithms.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "core/cuda/check.hpp"
#include "core/cuda/runtime.hpp"

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

// The longest that a block of threads scans about as fast as a device does that has to be told of its scratch first.
constexpr std::int64_t most_of_block_scan = 1 << 14;
constexpr int block_scan_threads = 1024;
constexpr int block_scan_items = 4;

template <class V>
__global__ void __launch_bounds__(block_scan_threads) block_scan_kernel(const V* in, V* out, std::int64_t size) {
  using BlockScan = cub::BlockScan<V, block_scan_threads>;
  __shared__ typename BlockScan::TempStorage scratch;
  V before = 0;
  for (std::int64_t first = 0; first < size; first += block_scan_threads * block_scan_items) {
    const auto mine = first + static_cast<std::int64_t>(threadIdx.x) * block_scan_items;
    V items[block_scan_items];
#pragma unroll
    for (int i = 0; i < block_scan_items; ++i) items[i] = mine + i < size ? in[mine + i] : V{0};
    V total = 0;
    BlockScan(scratch).ExclusiveSum(items, items, total);
#pragma unroll
    for (int i = 0; i < block_scan_items; ++i) {
      if (mine + i < size) out[mine + i] = before + items[i];
    }
    before += total;
    __syncthreads();
  }
}

}  // namespace

template <class V>
void exclusive_scan(const V* in, V* out, std::int64_t size, Place place, Stream stream) {
  if (size <= most_of_block_scan) {
    block_scan_kernel<<<1, block_scan_threads, 0, stream.handle>>>(in, out, size);
    return check_launch();
  }
  with_scratch(place, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, size, stream.handle);
  });
}

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
