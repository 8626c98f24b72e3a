// How blocks and warps share the parts of a matrix. One launch reads everything: on small matrices a launch costs as
// much as what it reads. Each block has one role.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/cuda/launch.hpp"
#include "features/tally.hpp"

namespace autospmv::cuda::reading {

// Warps of a kernel that walks nonzeros, rows or values in shares: enough to fill any device of today, few enough that
// what each block adds to the tally at its end does not count.
inline constexpr std::int64_t max_warps = 1 << 12;
// Nonzeros of a share below which a warp is not worth starting.
inline constexpr std::int64_t least_share = 4 * warp_size;
inline constexpr int block_warps = default_block / warp_size;

/// Blocks with the same role, and this one among them.
struct Part {
  unsigned block = 0;
  unsigned blocks = 1;

  [[nodiscard]] __device__ std::int64_t warp() const {
    return static_cast<std::int64_t>(block) * block_warps + threadIdx.x / warp_size;
  }
  [[nodiscard]] __device__ std::int64_t warps() const { return static_cast<std::int64_t>(blocks) * block_warps; }
};

inline unsigned blocks_for_warps(std::int64_t warps) {
  return grid_for(std::clamp<std::int64_t>(warps, 1, max_warps) * warp_size);
}

inline unsigned blocks_for_rows(std::int64_t rows) {
  return blocks_for_warps((rows + largest_slice - 1) / largest_slice);
}

inline unsigned blocks_for_shares(std::int64_t size) {
  return size == 0 ? 0 : blocks_for_warps((size + least_share - 1) / least_share);
}

inline __device__ int lane() { return static_cast<int>(threadIdx.x % warp_size); }

/// What this warp takes of `size` elements: whole steps of a warp, next to each other.
struct WarpShare {
  std::int64_t first;
  std::int64_t last;
};

inline __device__ WarpShare share_of_warp(std::int64_t size, Part part) {
  const std::int64_t steps = (size + warp_size - 1) / warp_size;
  const std::int64_t share = (steps + part.warps() - 1) / part.warps() * warp_size;
  const std::int64_t first = min(part.warp() * share, size);
  return {first, min(first + share, size)};
}

}  // namespace autospmv::cuda::reading
