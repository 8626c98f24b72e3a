#include <thrust/iterator/tabulate_output_iterator.h>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

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

// One block, in place or not, summing in Sum, which may have more bits than what is stored; `last`, unless it is null,
// becomes the last of the sums.
template <class V, class Sum>
__global__ void __launch_bounds__(block_scan_threads)
    block_scan_kernel(const V* in, V* out, std::int64_t size, Sum* last) {
  using BlockScan = cub::BlockScan<Sum, block_scan_threads>;
  __shared__ typename BlockScan::TempStorage scratch;
  Sum before = 0;
  for (std::int64_t first = 0; first < size; first += block_scan_threads * block_scan_items) {
    const auto mine = first + static_cast<std::int64_t>(threadIdx.x) * block_scan_items;
    Sum items[block_scan_items];
#pragma unroll
    for (int i = 0; i < block_scan_items; ++i) items[i] = mine + i < size ? in[mine + i] : V{0};
    Sum total = 0;
    BlockScan(scratch).ExclusiveSum(items, items, total);
#pragma unroll
    for (int i = 0; i < block_scan_items; ++i) {
      const auto sum = before + items[i];
      if (mine + i < size) out[mine + i] = static_cast<V>(sum);
      if (last != nullptr && mine + i == size - 1) *last = sum;
    }
    before += total;
    __syncthreads();
  }
}

// Where the sums go that are made in 64 bits.
struct ToOffsets {
  std::int32_t* offsets;
  std::int64_t* last_sum;
  std::int64_t last;

  __device__ void operator()(std::int64_t i, std::int64_t sum) const {
    offsets[i] = static_cast<std::int32_t>(sum);
    if (i == last) *last_sum = sum;
  }
};

}  // namespace

template <class V>
void exclusive_scan(const V* in, V* out, std::int64_t size, Place place, Stream stream) {
  if (size <= most_of_block_scan) {
    block_scan_kernel<V, V><<<1, block_scan_threads, 0, InTurn(stream)>>>(in, out, size, nullptr);
    return check_launch();
  }
  with_scratch(place, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, size, stream.handle);
  });
}

std::int64_t offsets_from_counts(std::int32_t* counts, std::int64_t size, Place place, Stream stream) {
  // In 64 bits: the offsets themselves could overflow without a sign of it.
  Array<std::int64_t> sum(1, place);
  if (size <= most_of_block_scan) {
    block_scan_kernel<<<1, block_scan_threads, 0, InTurn(stream)>>>(counts, counts, size, sum.data());
    check_launch();
  } else {
    const auto to = thrust::make_tabulate_output_iterator(ToOffsets{counts, sum.data(), size - 1});
    with_scratch(place, [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveScan(scratch, bytes, counts, to, ::cuda::std::plus<>{}, std::int64_t{0}, size,
                                            stream.handle);
    });
  }
  return read(sum.data(), stream);
}

template void exclusive_scan(const std::int32_t*, std::int32_t*, std::int64_t, Place, Stream);
template void exclusive_scan(const std::int64_t*, std::int64_t*, std::int64_t, Place, Stream);

}  // namespace autospmv::cuda
