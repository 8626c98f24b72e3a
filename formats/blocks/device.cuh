// What kernels need of a BlockMatrix, by value, and the loads they share.
#pragma once

#include <cstdint>

#include "formats/blocks/storage.hpp"
#include "formats/common/encoding/absent.hpp"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/kernel.cuh"

namespace autospmv::formats {

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
  CachePolicy policy;
};

template <class T>
BlockView view_of(const BlockMatrix<T>& blocks) {
  return {blocks.layout.r,
          blocks.layout.c,
          blocks.rows,
          blocks.cols,
          blocks.block_rows,
          blocks.slice,
          blocks.slices,
          blocks.slice_chunks.data(),
          blocks.block_columns.data(),
          policy_for<T>(blocks.bytes(), blocks.rows, blocks.cols)};
}

namespace detail {
/// Up to four neighbours as one vector, for one load.
template <class V, int N>
struct VectorOf;
template <>
struct VectorOf<double, 2> {
  using type = double2;
};
template <>
struct VectorOf<float, 2> {
  using type = float2;
};
template <>
struct VectorOf<float, 4> {
  using type = float4;
};
template <>
struct VectorOf<std::uint8_t, 2> {
  using type = uchar2;
};
template <>
struct VectorOf<std::uint8_t, 4> {
  using type = uchar4;
};

/// N neighbours, aligned to N of them, in one load.
template <int N, class V>
__device__ __forceinline__ void load_neighbours(const V* from, CachePolicy policy, V (&to)[N]) {
  if constexpr (N == 1) {
    to[0] = load_stream(from, policy);
  } else {
    const auto loaded = load_stream(reinterpret_cast<const typename VectorOf<V, N>::type*>(from), policy);
    to[0] = loaded.x;
    to[1] = loaded.y;
    if constexpr (N == 4) {
      to[2] = loaded.z;
      to[3] = loaded.w;
    }
  }
}
}  // namespace detail

/// N neighbouring matrix values from a slot on that is a multiple of N, in one load of up to 16 bytes. The only place
/// where kernels read them.
template <int N, class T>
__device__ __forceinline__ void load_values(const FullValues<T>& values, std::int64_t slot, T (&to)[N]) {
  detail::load_neighbours<N>(values.values + slot, values.policy, to);
}
template <int N, class T>
__device__ __forceinline__ void load_values(const NarrowValues<T>& values, std::int64_t slot, T (&to)[N]) {
  float narrow[N];
  detail::load_neighbours<N>(values.values + slot, values.policy, narrow);
#pragma unroll
  for (int n = 0; n < N; ++n) to[n] = static_cast<T>(narrow[n]);
}
template <int N, class T>
__device__ __forceinline__ void load_values(const DictionaryValues<T>& values, std::int64_t slot, T (&to)[N]) {
  std::uint8_t index[N];
  detail::load_neighbours<N>(values.indices + slot, values.policy, index);
#pragma unroll
  for (int n = 0; n < N; ++n) to[n] = load_x(values.table + index[n]);
}

/// Calls body(reader): absent slots keep a matrix from being one constant.
template <class T, class Body>
void with_block_values(const EncodedValues<T>& values, const Body& body) {
  if (values.bits == 8) return body(DictionaryValues<T>{values.indices.data(), values.table.data()});
  if constexpr (full_value_bits < T >> 32) {
    if (values.bits == 32) return body(NarrowValues<T>{values.narrow.data()});
  }
  body(FullValues<T>{values.full.data()});
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
