// Device-side pieces of everything that stores diagonals.
#pragma once

#include <cstdint>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "formats/common/diagonals_steps.hpp"
#include "formats/common/kernel.cuh"
#include "formats/common/tile.cuh"

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
        detail::visit_kernel<<<cuda::grid_for(matrix.rows, tile_rows), cuda::warp_size, 0, stream.handle>>>(
            matrix, row_ptr, visitor, faults);
      },
      matrix.row_ptr);
  cuda::check_launch();
}

}  // namespace cuda_steps

}  // namespace autospmv::formats
