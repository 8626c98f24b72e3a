#include <cub/block/block_scan.cuh>
#include <cub/device/device_scan.cuh>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/cub_scratch.cuh"
#include "core/cuda/launch.hpp"

namespace autospmv::cuda {

namespace {

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

// The same in place, but for the last element, which stands for nothing, with the sum in more bits than offsets have.
__global__ void __launch_bounds__(block_scan_threads)
    block_offsets_kernel(std::int32_t* counts, std::int64_t size, std::int64_t* sum) {
  using BlockScan = cub::BlockScan<std::int64_t, block_scan_threads>;
  __shared__ BlockScan::TempStorage scratch;
  std::int64_t before = 0;
  for (std::int64_t first = 0; first < size; first += block_scan_threads * block_scan_items) {
    const auto mine = first + static_cast<std::int64_t>(threadIdx.x) * block_scan_items;
    std::int64_t items[block_scan_items];
#pragma unroll
    for (int i = 0; i < block_scan_items; ++i) items[i] = mine + i + 1 < size ? counts[mine + i] : 0;
    std::int64_t total = 0;
    BlockScan(scratch).ExclusiveSum(items, items, total);
#pragma unroll
    for (int i = 0; i < block_scan_items; ++i) {
      if (mine + i < size) counts[mine + i] = static_cast<std::int32_t>(before + items[i]);
    }
    before += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) *sum = before;
}

}  // namespace

template <class V>
void exclusive_scan(const V* in, V* out, std::int64_t size, Place place, Stream stream) {
  if (size <= most_of_block_scan) {
    block_scan_kernel<<<1, block_scan_threads, 0, InTurn(stream)>>>(in, out, size);
    return check_launch();
  }
  with_scratch(place, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, size, stream.handle);
  });
}

std::int64_t offsets_from_counts(std::int32_t* counts, std::int64_t size, Place place, Stream stream) {
  if (size > most_of_block_scan) {
    // Summed in 64 bits first: the offsets themselves could overflow without a sign of it.
    const auto sum = sum_wide(counts, size - 1, place, stream);
    exclusive_scan(counts, counts, size, place, stream);
    return sum;
  }
  Array<std::int64_t> sum(1, place);
  block_offsets_kernel<<<1, block_scan_threads, 0, InTurn(stream)>>>(counts, size, sum.data());
  check_launch();
  return read(sum.data(), stream);
}

template void exclusive_scan(const std::int32_t*, std::int32_t*, std::int64_t, Place, Stream);
template void exclusive_scan(const std::int64_t*, std::int64_t*, std::int64_t, Place, Stream);

}  // namespace autospmv::cuda
