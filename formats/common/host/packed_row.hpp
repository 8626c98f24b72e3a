// Products of rows on the host, several entries of a row at once.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/machine/parallel.hpp"
#include "core/machine/simd.hpp"
#include "core/search.hpp"
#include "formats/common/host/pack.hpp"
#include "formats/common/host/row_runs.hpp"
#include "formats/common/host/row_sum.hpp"

namespace autospmv::formats {

struct AllEntries {};

/// Adds the products of the entries from a slot on with their elements of x: of all, or of the first `count`. Both
/// factors of the others are made zeros, for an infinity times 0 is not 0, and before they are multiplied: products
/// that are too small to be normal numbers take many times as long.
template <int Size, class T, class Count = AllEntries>
AUTOSPMV_INLINE void add_products(typename Pack<T, Size>::Vector& sums, const T* values, const std::int32_t* columns,
                                  const T* x, [[maybe_unused]] Count count = {}) {
  Pack<T, Size> value;
  Pack<T, Size> element;
  value.load(values);
  element.gather(x, columns);
  if constexpr (!std::is_same_v<Count, AllEntries>) {
    value.keep(count);
    element.keep(count);
  }
  sums += value.elements * element.elements;
}

/// The sum of a row. How many packs it takes is all that a processor has to guess of its length: the last one is read
/// whole, up to Size entries of the rows behind it.
template <int Size, int Packs, class T>
AUTOSPMV_INLINE T packed_row_sum(const T* values, const std::int32_t* columns, std::int64_t length, const T* x) {
  typename Pack<T, Size>::Vector sums[Packs] = {};
  std::int64_t k = 0;
  if constexpr (Packs > 1) {
    for (; k + Packs * Size < length; k += Packs * Size) {
      for (int p = 0; p < Packs; ++p) add_products<Size>(sums[p], values + k + p * Size, columns + k + p * Size, x);
    }
  }
  for (; k + Size < length; k += Size) add_products<Size>(sums[0], values + k, columns + k, x);
  add_products<Size>(sums[Packs - 1], values + k, columns + k, x, length - k);
  for (int p = 1; p < Packs; ++p) sums[0] += sums[p];
  return Pack<T, Size>{sums[0]}.sum();
}

/// The same of a row behind which nothing may be read.
template <int Size, class T>
AUTOSPMV_INLINE T last_row_sum(const T* values, const std::int32_t* columns, std::int64_t length, const T* x) {
  Pack<T, Size> packed{};
  std::int64_t k = 0;
  for (; k + Size <= length; k += Size) add_products<Size>(packed.elements, values + k, columns + k, x);
  return packed.sum() + row_sum<1, T>(length - k, [=](std::int64_t i) AUTOSPMV_INLINE_LAMBDA {
           return values[k + i] * x[columns[k + i]];
         });
}

/// The same of a row whose length is known; nothing is read behind it either.
template <std::int64_t Length, class T>
AUTOSPMV_INLINE T known_row_sum(const T* values, const std::int32_t* columns, const T* x) {
  constexpr int size = 4;
  T sum = 0;
  std::int64_t k = 0;
  if constexpr (Length >= size) {
    Pack<T, size> first{};
    add_products<size>(first.elements, values, columns, x);
    sum = first.sum();
    k = size;
  }
  for (; k < Length; ++k) sum += values[k] * x[columns[k]];
  return sum;
}

/// The first rows of a share, those behind which as many of all entries follow as packed_row_sum() may read.
template <int Size, class Offset>
Share rows_for_packs(const Offset* firsts, Share rows, std::int64_t entries) {
  const auto have_room = [&](std::int64_t row) { return static_cast<std::int64_t>(firsts[row + 1]) + Size <= entries; };
  if (rows.first == rows.last || have_room(rows.last - 1)) return rows;
  return {rows.first, partition_point(rows.first, rows.last, have_room)};
}

/// Rows whose lengths change are summed in packs where they fill three quarters of one on average.
template <class T>
inline constexpr std::int64_t few_for_packs = 3 * Pack<T>::size / 4;

/// Calls store(row, sum) for the rows of a share, row i of the entries from firsts[i] to firsts[i + 1], all of which
/// are so many.
template <class T, class Offset, class Store>
AUTOSPMV_INLINE void sum_rows_in_runs(const Offset* firsts, Share rows, std::int64_t entries, const T* values,
                                      const std::int32_t* columns, const T* x, const Store& store) {
  constexpr int size = Pack<T>::size;
  const auto with_room = rows_for_packs<size>(firsts, rows, entries);
  RowRuns<Offset>(firsts, with_room)
      .template for_each<few_for_packs<T>>(
          [=](std::int64_t row, std::int64_t first, auto length, auto kind) AUTOSPMV_INLINE_LAMBDA {
            if constexpr (kind == Lengths::known) {
              store(row, known_row_sum<length, T>(values + first, columns + first, x));
            } else if constexpr (kind == Lengths::few) {
              store(row, row_sum<1, T>(length, [=](std::int64_t k) AUTOSPMV_INLINE_LAMBDA {
                      return values[first + k] * x[columns[first + k]];
                    }));
            } else if constexpr (kind == Lengths::many) {
              store(row, packed_row_sum<size, 1>(values + first, columns + first, length, x));
            } else {
              store(row, packed_row_sum<4, 1>(values + first, columns + first, length, x));
            }
          });
  for (auto row = with_room.last; row < rows.last; ++row) {
    const auto first = static_cast<std::int64_t>(firsts[row]);
    const auto length = static_cast<std::int64_t>(firsts[row + 1]) - first;
    store(row, last_row_sum<size>(values + first, columns + first, length, x));
  }
}

}  // namespace autospmv::formats
