#include "features/cuda/features.hpp"

#include <algorithm>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/machine/array.hpp"

namespace autospmv::cuda {

namespace {

using Count = unsigned long long;  // the one integer type of 64 bits that CUDA has atomics for

// Enough to fill any device of today.
constexpr std::int64_t most_threads = std::int64_t{1} << 18;

template <class Offset>
__global__ void __launch_bounds__(default_block)
    longest_row_kernel(const Offset* row_ptr, std::int64_t rows, Count* longest) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  Count mine = 0;
  for (auto i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows; i += stride) {
    mine = max(mine, static_cast<Count>(row_ptr[i + 1] - row_ptr[i]));
  }
  mine = choose_of_block(mine, [](Count a, Count b) { return max(a, b); });
  if (threadIdx.x == 0) atomicMax(longest, mine);
}

}  // namespace

std::int64_t longest_row(RowOffsets row_ptr, std::int64_t rows, Place place) {
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  Array<std::int64_t> longest(1, place);
  fill_bytes(longest.data(), 0, sizeof(std::int64_t), place, stream);
  with_offsets(row_ptr, [&](const auto* offsets) {
    longest_row_kernel<<<grid_for(std::min(rows, most_threads)), default_block, 0, InTurn(stream)>>>(
        offsets, rows, reinterpret_cast<Count*>(longest.data()));
  });
  check_launch();
  return read(static_cast<const std::int64_t*>(longest.data()), stream);
}

}  // namespace autospmv::cuda
