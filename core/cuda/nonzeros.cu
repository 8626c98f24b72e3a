#include "core/cuda/nonzeros.hpp"

#include <algorithm>
#include <bit>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/cuda/warp_search.cuh"
#include "core/search.hpp"

namespace autospmv::cuda {

namespace {

constexpr int items = 8;  // nonzeros a thread

// A block searches all rows for those of its first and last nonzero, and its threads only what lies between: in shared
// memory, unless so many empty rows lie there too that they do not fit.
template <class Offset>
__global__ void expand_rows_kernel(const Offset* row_ptr, std::int64_t rows, std::int64_t nnz, std::int32_t* row_of) {
  constexpr int most_starts = 2048;
  __shared__ std::int32_t starts[most_starts];
  __shared__ std::int64_t ends[2];
  const auto first = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x * items);
  const auto last = min(nnz, first + static_cast<std::int64_t>(blockDim.x * items));
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  if (warp < 2) {
    const auto end = part_of_by_warp(row_ptr, rows, warp == 0 ? first : last - 1);
    if (threadIdx.x % warp_size == 0) ends[warp] = end;
  }
  __syncthreads();
  const auto first_row = ends[0];
  const auto block_rows = ends[1] + 1 - first_row;
  const bool fits = block_rows <= most_starts;
  for (auto row = static_cast<int>(threadIdx.x); fits && row < block_rows; row += static_cast<int>(blockDim.x)) {
    // The first row may have begun long before.
    starts[row] = static_cast<std::int32_t>(max(static_cast<long long>(row_ptr[first_row + row] - first), 0LL));
  }
  __syncthreads();
  for (auto k = first + threadIdx.x; k < last; k += blockDim.x) {
    const std::int64_t row = fits ? part_of(starts, static_cast<int>(block_rows), static_cast<int>(k - first))
                                  : part_of(row_ptr + first_row, block_rows, k);
    row_of[k] = static_cast<std::int32_t>(first_row + row);
  }
}

__global__ void sort_keys_kernel(const std::int32_t* col_idx, std::int64_t nnz, std::uint32_t* keys,
                                 std::uint32_t* nonzeros) {
  const auto k = global_thread();
  if (k >= nnz) return;
  keys[k] = static_cast<std::uint32_t>(col_idx[k]);
  nonzeros[k] = static_cast<std::uint32_t>(k);
}

// first_of[c] = how many sorted keys are less than c.
__global__ void column_offsets_kernel(const std::uint32_t* keys, std::int64_t nnz, std::int64_t cols,
                                      std::int64_t* first_of) {
  const auto column = global_thread();
  if (column > cols) return;
  std::int64_t low = 0;
  std::int64_t high = nnz;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (static_cast<std::int64_t>(keys[middle]) < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  first_of[column] = low;
}

template <class T, class Index>
__global__ void gather_kernel(const T* from, const Index* source, T* out, std::int64_t size) {
  const auto i = global_thread();
  if (i < size) out[i] = from[source[i]];
}

}  // namespace

void expand_rows(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, std::int32_t* row_of, Stream stream) {
  if (nnz == 0) return;
  with_offsets(row_ptr, [&](const auto* offsets) {
    expand_rows_kernel<<<grid_for((nnz + items - 1) / items), default_block, 0, InTurn(stream)>>>(offsets, rows, nnz,
                                                                                                  row_of);
  });
  check_launch();
}

ByColumn sort_by_column(const std::int32_t* col_idx, std::int64_t nnz, std::int64_t cols, Place place, Stream stream) {
  Array<std::uint32_t> keys(static_cast<std::size_t>(nnz), place);
  ByColumn sorted{Array<std::uint32_t>(static_cast<std::size_t>(nnz), place),
                  Array<std::int64_t>(static_cast<std::size_t>(cols) + 1, place)};
  sort_keys_kernel<<<grid_for(nnz), default_block, 0, InTurn(stream)>>>(col_idx, nnz, keys.data(),
                                                                        sorted.nonzeros.data());
  check_launch();
  const int key_bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(cols - 1))));
  sort_pairs(keys, sorted.nonzeros, key_bits, stream);
  column_offsets_kernel<<<grid_for(cols + 1), default_block, 0, InTurn(stream)>>>(keys.data(), nnz, cols,
                                                                                  sorted.first_of.data());
  check_launch();
  return sorted;
}

template <class T, class Index>
void gather(const T* from, const Index* source, T* out, std::int64_t size, Stream stream) {
  if (size == 0) return;
  gather_kernel<<<grid_for(size), default_block, 0, InTurn(stream)>>>(from, source, out, size);
  check_launch();
}

#define AUTOSPMV_GATHER(T)                                                        \
  template void gather(const T*, const std::int32_t*, T*, std::int64_t, Stream);  \
  template void gather(const T*, const std::uint32_t*, T*, std::int64_t, Stream); \
  template void gather(const T*, const std::int64_t*, T*, std::int64_t, Stream);
AUTOSPMV_GATHER(float)
AUTOSPMV_GATHER(double)
#undef AUTOSPMV_GATHER
template void gather(const std::int32_t*, const std::uint32_t*, std::int32_t*, std::int64_t, Stream);
template void gather(const std::int32_t*, const std::int32_t*, std::int32_t*, std::int64_t, Stream);

}  // namespace autospmv::cuda
