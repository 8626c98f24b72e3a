// Device memory that was given back and is soon wanted again.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

namespace autospmv {

/// The blocks that were given back last, for whoever asks for as many bytes next: a conversion takes and gives back a
/// dozen, the next one takes most of them again, and a driver that is asked for each keeps others waiting. As in the
/// pool that they come from, each is used in the order of one stream. Safe from many threads; asks no driver.
class KeptBlocks {
 public:
  static constexpr std::size_t most = 256;                      ///< blocks
  static constexpr std::size_t longest = std::size_t{1} << 20;  ///< bytes of one

  /// Keeps none of more bytes than that.
  explicit KeptBlocks(std::size_t longest_kept = longest) : longest_(longest_kept) {}

  /// One of exactly so many bytes, so that what is read or written beyond it is found; nullptr where there is none.
  [[nodiscard]] void* take(std::size_t bytes) noexcept;

  /// Returns what is not kept, for its owner to let go: this one, or in its place the one that was kept longest;
  /// nullptr where all are.
  [[nodiscard]] void* keep(void* data, std::size_t bytes) noexcept;

  /// Any of them, for its owner to let go; nullptr where there is none.
  [[nodiscard]] void* take_any() noexcept;

  /// Of all that are kept.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Block {
    void* data;
    std::size_t bytes;
  };

  void* remove(std::size_t which) noexcept;

  std::size_t longest_;
  mutable std::mutex mutex_;
  std::array<Block, most> blocks_{};  // in the order in which they were given back
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace autospmv
