#include "core/machine/kept_blocks.hpp"

#include <algorithm>

namespace autospmv {

void* KeptBlocks::take(std::size_t bytes) noexcept {
  if (bytes > longest_) return nullptr;
  const std::scoped_lock lock(mutex_);
  // The last first: some of it may still be in a cache.
  for (auto which = count_; which-- > 0;) {
    if (blocks_[which].bytes == bytes) return remove(which);
  }
  return nullptr;
}

void* KeptBlocks::keep(void* data, std::size_t bytes) noexcept {
  if (bytes > longest_) return data;
  const std::scoped_lock lock(mutex_);
  void* const oldest = count_ == most ? remove(0) : nullptr;
  blocks_[count_++] = {data, bytes};
  bytes_ += bytes;
  return oldest;
}

void* KeptBlocks::take_any() noexcept {
  const std::scoped_lock lock(mutex_);
  return count_ > 0 ? remove(count_ - 1) : nullptr;
}

std::size_t KeptBlocks::bytes() const noexcept {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

void* KeptBlocks::remove(std::size_t which) noexcept {
  const auto block = blocks_[which];
  std::move(blocks_.begin() + static_cast<std::ptrdiff_t>(which) + 1,
            blocks_.begin() + static_cast<std::ptrdiff_t>(count_),
            blocks_.begin() + static_cast<std::ptrdiff_t>(which));
  --count_;
  bytes_ -= block.bytes;
  return block.data;
}

}  // namespace autospmv
