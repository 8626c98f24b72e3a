// Device-side pieces of products by row blocks.
#pragma once

#include <cstdint>
#include <cstring>

#include "formats/common/encoding/encoding.hpp"
#include "formats/common/kernels/kernel.cuh"

namespace autospmv::formats {

/// Neighbouring nonzeros that a thread reads at once.
template <class T, int width>
struct Entries {
  std::int32_t column[width];
  T value[width];
};

/// Nonzeros one by one, their values through a reader of formats/common/encoding/encoding.hpp.
template <class T, class Values>
struct SingleEntries {
  static constexpr int width = 1;

  FullColumns columns;
  Values values;

  __device__ __forceinline__ void open(CachePolicy policy) {
    columns.open(0, policy);
    values.open(policy);
  }
  [[nodiscard]] __device__ __forceinline__ Entries<T, 1> at(std::int64_t entry) const {
    return {{columns.at(entry)}, {values.at(entry)}};
  }
};

template <class T>
struct SixteenBytes;
template <>
struct SixteenBytes<float> {
  using Columns = int4;
  using Values = float4;
};
template <>
struct SixteenBytes<double> {
  using Columns = int2;
  using Values = double2;
};

/// Values 16 bytes at a time, and their columns. An entry past the end of the matrix stands for the last one.
template <class T>
struct WideEntries {
  static constexpr int width = 16 / static_cast<int>(sizeof(T));

  const std::int32_t* columns;
  const T* values;
  std::int64_t nnz;
  CachePolicy policy{};

  __device__ __forceinline__ void open(CachePolicy chosen) { policy = chosen; }
  /// `entry` is a multiple of width.
  [[nodiscard]] __device__ __forceinline__ Entries<T, width> at(std::int64_t entry) const {
    Entries<T, width> entries;
    if (entry + width <= nnz) {
      const auto some_columns =
          load_stream(reinterpret_cast<const typename SixteenBytes<T>::Columns*>(columns + entry), policy);
      const auto some_values =
          load_stream(reinterpret_cast<const typename SixteenBytes<T>::Values*>(values + entry), policy);
      std::memcpy(entries.column, &some_columns, sizeof some_columns);
      std::memcpy(entries.value, &some_values, sizeof some_values);
    } else {
#pragma unroll
      for (int i = 0; i < width; ++i) {
        const std::int64_t at = entry + i < nnz ? entry + i : nnz - 1;
        entries.column[i] = load_stream(columns + at, policy);
        entries.value[i] = load_stream(values + at, policy);
      }
    }
    return entries;
  }
};

/// Calls visit(entry, product) for every nonzero of [first, last), by all threads of the block. A thread has eight
/// nonzeros in flight: all their loads, then all elements of x, before the first is waited for. So that no branch comes
/// between the loads, a thread that has come to the end reads the last nonzero again.
template <class T, class Reader, class Visit>
__device__ __forceinline__ void visit_products(const Reader& reader, std::int64_t first, std::int64_t last, const T* x,
                                               const Visit& visit) {
  constexpr int width = Reader::width;
  constexpr int unroll = 8 / width;
  const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * width;
  const std::int64_t last_read = (last - 1) / width * width;
  std::int64_t base = first / width * width + static_cast<std::int64_t>(threadIdx.x) * width;
  for (; base < last; base += unroll * step) {
    Entries<T, width> entries[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) entries[u] = reader.at(min(base + u * step, last_read));
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
#pragma unroll
      for (int i = 0; i < width; ++i) entries[u].value[i] *= load_x(x + entries[u].column[i]);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
#pragma unroll
      for (int i = 0; i < width; ++i) {
        const std::int64_t entry = base + u * step + i;
        if ((width == 1 || entry >= first) && entry < last) visit(entry, entries[u].value[i]);
      }
    }
  }
}

/// Threads for each of so many rows of a block: the largest power of two that the block has for each, at least 1.
__device__ __forceinline__ int threads_of_row(std::int64_t rows) {
  const auto threads = static_cast<unsigned>(blockDim.x / static_cast<unsigned>(rows));
  return threads < 2 ? 1 : 1 << (31 - __clz(static_cast<int>(threads)));
}

}  // namespace autospmv::formats
