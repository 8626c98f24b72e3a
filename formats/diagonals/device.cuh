// What the kernels of all diagonals share. A thread has a few rows, which lie a warp's lanes apart: neighbouring lanes
// have neighbouring rows, however many a thread has, so that they read neighbouring slots and elements of x.
#pragma once

#include <climits>
#include <cstdint>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/kernel.cuh"

namespace autospmv::formats {

/// Rows of a warp, of `Rows` a thread.
template <int Rows>
inline constexpr int rows_of_warp = Rows* cuda::warp_size;

/// The grid of warps that have all rows between them.
template <int Rows>
unsigned grid_of_rows(std::int64_t rows, int block) {
  const auto warps = (rows + rows_of_warp<Rows> - 1) / rows_of_warp<Rows>;
  return cuda::grid_for(warps * cuda::warp_size, block);
}

/// The first row of this thread's warp.
template <int Rows>
__device__ __forceinline__ std::int64_t first_row_of_warp() {
  return cuda::global_thread() / cuda::warp_size * rows_of_warp<Rows>;
}

/// The nonzeros of a row in the order of their offsets, one of each offset.
template <class Offset>
class RowOffsetsInOrder {
 public:
  static constexpr std::int32_t none = INT_MAX;

  __device__ RowOffsetsInOrder(const std::int32_t* columns, const Offset* row_ptr, std::int64_t row, std::int64_t rows)
      : columns_(columns), row_(row) {
    if (row >= rows) return;
    first_ = row_ptr[row];
    last_ = row_ptr[row + 1];
    at_ = first_;
    for (auto k = first_ + 1; k < last_; ++k) sorted_ = sorted_ && columns[k - 1] < columns[k];
    sorted_ ? look_here() : look_beyond(INT_MIN);
  }

  /// The offset of the next one.
  [[nodiscard]] __device__ std::int32_t next() const { return next_; }
  /// Which of all nonzeros it is.
  [[nodiscard]] __device__ std::int64_t at() const { return at_; }
  /// How many there are, those of one offset each by itself.
  [[nodiscard]] __device__ std::int64_t size() const { return last_ - first_; }

  __device__ void pass() {
    if (sorted_) {
      ++at_;
      look_here();
    } else {
      look_beyond(next_);
    }
  }

 private:
  [[nodiscard]] __device__ std::int32_t offset_at(std::int64_t k) const {
    return static_cast<std::int32_t>(columns_[k] - row_);
  }
  __device__ void look_here() { next_ = at_ < last_ ? offset_at(at_) : none; }

  // Rows in disorder are read again and again: slow, but they need no memory.
  __device__ void look_beyond(std::int32_t offset) {
    next_ = none;
    for (auto k = first_; k < last_; ++k) {
      const auto candidate = offset_at(k);
      if (candidate <= offset || candidate >= next_) continue;
      next_ = candidate;
      at_ = k;
    }
  }

  const std::int32_t* columns_;
  std::int64_t row_;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::int64_t at_ = 0;
  std::int32_t next_ = none;
  bool sorted_ = true;
};

/// Stores what a thread has summed up, from its first row on: those of them that there are.
template <int Rows, class Row, class Count, class T>
__device__ __forceinline__ void store_rows(T* y, Row first, Count rows, T alpha, const T (&sum)[Rows], T beta) {
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const Row row = first + r * cuda::warp_size;
    if (row < rows) store_row(y, row, alpha, sum[r], beta);
  }
}

}  // namespace autospmv::formats
