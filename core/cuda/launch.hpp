// Grid sizes, and turns at launching.
#pragma once

#include <algorithm>
#include <cstdint>

#include "autospmv/stream.hpp"
#include "core/error.hpp"
#include "core/machine/turns.hpp"

namespace autospmv::cuda {

inline constexpr int warp_size = 32;

/// Threads of a block for kernels whose block size is no matter of tuning.
inline constexpr int default_block = 256;

/// Blocks that give `threads` threads, at least one.
inline unsigned grid_for(std::int64_t threads, int block = default_block) {
  const std::int64_t blocks = std::max<std::int64_t>(1, (threads + block - 1) / block);
  if (blocks > 0x7fffffff) throw DeviceError("a grid of " + std::to_string(blocks) + " blocks is more than CUDA takes");
  return static_cast<unsigned>(blocks);
}

/// The grid of a kernel that walks any number of elements in strides of the grid: enough to fill any device of today.
inline unsigned striding_grid(std::int64_t size) {
  constexpr std::int64_t max_blocks = 132 * 16;
  return grid_for(std::min(size, max_blocks * default_block));
}

/// The stream of a launch that is made when it is the thread's turn, which lasts until the statement ends:
/// kernel<<<grid, block, bytes, InTurn(stream)>>>(arguments).
class InTurn {
 public:
  explicit InTurn(Stream stream) : handle_(stream.handle) {}
  // NOLINTNEXTLINE(google-explicit-constructor): what a launch asks for
  operator decltype(Stream::handle)() const { return handle_; }

 private:
  DriverTurn turn_;
  decltype(Stream::handle) handle_;
};

}  // namespace autospmv::cuda
