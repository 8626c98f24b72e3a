// Device-side pieces of everything that stores diagonals.
#pragma once

#include <cstdint>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "formats/common/diagonals_steps.hpp"
#include "formats/common/kernel.cuh"

namespace autospmv::formats {

/// Values as they are, each read once a product.
template <class T>
struct PlainSlots {
  const T* values;

  /// The slots of the neighbouring rows of one thread.
  template <int Rows>
  __device__ __forceinline__ void load(std::int64_t slot, T (&value)[Rows]) const {
    load_neighbours(values + slot, value, [](const auto* word) { return load_stream(word); });
  }
};

namespace cuda_steps {

namespace detail {

/// Neighbouring rows that a warp reads together, and nonzeros of each of them at a time.
inline constexpr int tile_rows = cuda::warp_size;
inline constexpr int tile_entries = 16;

/// What a lane has read of one nonzero of each of several rows, before the first of them is used.
template <class T>
struct Entry {
  std::int32_t column = 0;
  T value = 0;
};

/// Nonzeros beside one another in memory belong to one row, slots beside one another to neighbouring rows. A warp reads
/// half a row of the tile after the other, and lets every lane visit the nonzeros of a row of its own.
template <class T>
class Tile {
 public:
  __device__ void load(const CsrView<T>& matrix, std::int64_t start, std::int64_t length) {
    constexpr int rows_at_once = cuda::warp_size / tile_entries;
    constexpr int in_flight = 8;
    const int lane = static_cast<int>(threadIdx.x);
    const int entry = lane % tile_entries;
    for (int first = 0; first < tile_rows; first += rows_at_once * in_flight) {
      Entry<T> read[in_flight];
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        const int row = first + i * rows_at_once + lane / tile_entries;
        const auto row_start = __shfl_sync(all_lanes, static_cast<long long>(start), row);
        const auto row_length = __shfl_sync(all_lanes, static_cast<long long>(length), row);
        if (entry < row_length) {
          read[i] = {load_stream(matrix.col_idx + row_start + entry), load_stream(matrix.values + row_start + entry)};
        }
      }
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        const int row = first + i * rows_at_once + lane / tile_entries;
        columns_[row][entry] = read[i].column;
        values_[row][entry] = read[i].value;
      }
    }
    __syncwarp();
  }

  __device__ std::int32_t column(int entry) const { return columns_[threadIdx.x][entry]; }
  __device__ T value(int entry) const { return values_[threadIdx.x][entry]; }

 private:
  static constexpr unsigned all_lanes = 0xffffffffU;

  // One more than is used, so that lanes that look at the same entry of their rows look into different banks.
  std::int32_t columns_[tile_rows][tile_entries + 1];
  T values_[tile_rows][tile_entries + 1];
};

/// One warp a block, for tile_rows rows.
template <class T, class Offset, class Visitor>
__global__ void __launch_bounds__(cuda::warp_size)
    visit_kernel(CsrView<T> matrix, const Offset* row_ptr, Visitor visitor, Faults* total) {
  __shared__ Tile<T> tile;
  const auto row = static_cast<std::int64_t>(blockIdx.x) * tile_rows + threadIdx.x;
  const bool inside = row < matrix.rows;
  std::int64_t start = inside ? row_ptr[row] : 0;
  std::int64_t left = inside ? row_ptr[row + 1] - start : 0;
  auto at = visitor.begin(inside ? row : matrix.rows - 1);
  Faults faults;
  while (__any_sync(0xffffffffU, left > 0)) {
    tile.load(matrix, start, left);
    for (int entry = 0; entry < tile_entries && entry < left; ++entry) {
      visitor.visit(at, row, tile.column(entry), tile.value(entry), faults);
    }
    __syncwarp();
    start += tile_entries;
    left -= tile_entries;
  }
  if (total == nullptr) return;
  const auto add = [](std::int64_t& sum, std::int64_t count) {
    const auto all = sum_lanes<cuda::warp_size>(static_cast<long long>(count));
    // Integers wrap, so that negative ones add up too.
    if (threadIdx.x == 0 && all != 0) {
      atomicAdd(reinterpret_cast<unsigned long long*>(&sum), static_cast<unsigned long long>(all));
    }
  };
  add(total->wrong, faults.wrong);
  add(total->unpaired, faults.unpaired);
}

}  // namespace detail

/// Shows every nonzero to the visitor and adds what it finds to the one element of `faults`; nullptr: nobody asks.
template <class T, class Visitor>
void visit_nonzeros(const CsrView<T>& matrix, const Visitor& visitor, Faults* faults, Stream stream) {
  if (matrix.rows == 0) return;
  std::visit(
      [&](const auto* row_ptr) {
        detail::visit_kernel<<<cuda::grid_for(matrix.rows, detail::tile_rows), cuda::warp_size, 0, stream.handle>>>(
            matrix, row_ptr, visitor, faults);
      },
      matrix.row_ptr);
  cuda::check_launch();
}

}  // namespace cuda_steps

}  // namespace autospmv::formats
