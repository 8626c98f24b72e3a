// What kernels need of a BlockMatrix, by value, and the loads they share.
#pragma once

#include <cstdint>
#include <type_traits>

#include "formats/common/absent.hpp"
#include "formats/common/blocks.hpp"
#include "formats/common/kernel.cuh"

namespace autospmv::formats {

/// V is T, or const T where nothing is written.
template <class V>
struct BlockView {
  int r;
  int c;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t block_rows;
  std::int64_t slice;
  std::int64_t slices;
  const std::int32_t* slice_chunks;
  const std::int32_t* block_columns;
  V* values;
};

template <class T>
BlockView<const T> view_of(const BlockMatrix<T>& blocks) {
  return {blocks.layout.r,
          blocks.layout.c,
          blocks.rows,
          blocks.cols,
          blocks.block_rows,
          blocks.slice,
          blocks.slices,
          blocks.slice_chunks.data(),
          blocks.block_columns.data(),
          blocks.values.data()};
}

template <class T>
BlockView<T> writable_view_of(BlockMatrix<T>& blocks) {
  const auto view = view_of(blocks);
  return {view.r,     view.c,      view.rows,         view.cols,          view.block_rows,
          view.slice, view.slices, view.slice_chunks, view.block_columns, blocks.values.data()};
}

/// N neighbouring matrix values in one load of up to 16 bytes, which `from` is aligned to. The only place where kernels
/// read them.
template <int N, class T>
__device__ __forceinline__ void load_values(const T* from, T (&to)[N]) {
  if constexpr (N == 1) {
    to[0] = load_stream(from);
  } else if constexpr (std::is_same_v<T, double>) {
    static_assert(N == 2);
    const double2 pair = load_stream(reinterpret_cast<const double2*>(from));
    to[0] = pair.x;
    to[1] = pair.y;
  } else if constexpr (N == 2) {
    const float2 pair = load_stream(reinterpret_cast<const float2*>(from));
    to[0] = pair.x;
    to[1] = pair.y;
  } else {
    static_assert(N == 4);
    const float4 four = load_stream(reinterpret_cast<const float4*>(from));
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
  }
}

/// The element of x at column j of a block. Blocks may reach past the last column, and padding blocks, of block column
/// -1, lie past it in unsigned arithmetic. Reads x for every column there is, wanted or not: waiting to see whether the
/// matrix has a nonzero would put one latency behind the other.
template <int C, class T>
__device__ __forceinline__ T load_element(const T* x, std::int32_t block_column, std::uint32_t j, std::int64_t cols) {
  const std::uint32_t column = static_cast<std::uint32_t>(block_column) * C + j;
  return column < static_cast<std::uint32_t>(cols) ? load_x(x + column) : T{0};
}

/// All C of them: one comparison will do for any block but the last of the matrix and padding.
template <int C, class T>
__device__ __forceinline__ void load_elements(const T* x, std::int32_t block_column, std::int64_t cols, T (&to)[C]) {
  const std::uint32_t first = static_cast<std::uint32_t>(block_column) * C;
  if (static_cast<std::uint32_t>(block_column) < static_cast<std::uint32_t>(cols) / C) {
#pragma unroll
    for (int j = 0; j < C; ++j) to[j] = load_x(x + first + j);
  } else {
#pragma unroll
    for (int j = 0; j < C; ++j) to[j] = load_element<C>(x, block_column, j, cols);
  }
}

}  // namespace autospmv::formats
