// Sums of entries whose loads are on their way together.
#pragma once

#include <cstdint>
#include <type_traits>

#include "formats/common/kernels/loads.hpp"

namespace autospmv::formats {

/// The largest block of kernels that say so to the compiler, `__launch_bounds__(most_block, 1)`: not knowing that one
/// block a multiprocessor is enough, it spares registers by waiting for one load before the next.
inline constexpr int most_block = 512;

/// The products of the entries first, first + step, ... before last, added up; entry k is in the slot slot_of(k). All
/// loads of a batch are under way before the first is waited for: slots, columns and values, elements of x. What is
/// left at the end is one more batch, with loads left out. Where `marked`, a slot of a negative column holds nothing.
template <int batch, bool marked, class T, class Columns, class Values, class SlotOf>
__device__ __forceinline__ T sum_batches(const Columns& columns, const Values& values, std::int64_t first,
                                         std::int64_t last, std::int64_t step, const SlotOf& slot_of, const T* x) {
  T sum = 0;
  const auto add_batch = [&]<bool whole>(std::int64_t k, std::bool_constant<whole> /*is_whole*/) {
    constexpr int count = whole ? batch : batch - 1;
    constexpr bool sure = whole && !marked;
    std::int64_t slot[count];
    std::int32_t column[count];
    T value[count];
    T element[count];
    const auto inside = [&](int u) { return whole || k + u * step < last; };
#pragma unroll
    for (int u = 0; u < count; ++u) slot[u] = inside(u) ? slot_of(k + u * step) : 0;
#pragma unroll
    for (int u = 0; u < count; ++u) column[u] = inside(u) ? columns.at(slot[u]) : -1;
#pragma unroll
    for (int u = 0; u < count; ++u) value[u] = inside(u) ? values.at(slot[u]) : T{0};
#pragma unroll
    for (int u = 0; u < count; ++u) element[u] = sure || column[u] >= 0 ? load_x(x + column[u]) : T{0};
#pragma unroll
    for (int u = 0; u < count; ++u) sum = sure || column[u] >= 0 ? sum + value[u] * element[u] : sum;
  };
  // Unrolled any further, the loop loads one entry after another.
#pragma unroll 1
  for (; first + (batch - 1) * step < last; first += batch * step) add_batch(first, std::true_type{});
  if (first < last) add_batch(first, std::false_type{});
  return sum;
}

/// The same of `count` entries from the first on, all of which hold something, in whole batches: past the end, the last
/// entry is loaded again. Its sectors are on their way, and loads under conditions the compiler would put one behind
/// the other. That pays for a thread with a row of its own; where lanes share rows, most of a batch would be repeated.
template <int batch, class T, class Columns, class Values, class SlotOf>
__device__ __forceinline__ T sum_whole_batches(const Columns& columns, const Values& values, int count,
                                               const SlotOf& slot_of, const T* x) {
  T sum = 0;
#pragma unroll 1
  for (int k = 0; k < count; k += batch) {
    const int last = min(count - k, batch) - 1;
    std::int64_t slot[batch];
    std::int32_t column[batch];
    T value[batch];
    T element[batch];
#pragma unroll
    for (int u = 0; u < batch; ++u) slot[u] = slot_of(k + min(u, last));
#pragma unroll
    for (int u = 0; u < batch; ++u) column[u] = columns.at(slot[u]);
#pragma unroll
    for (int u = 0; u < batch; ++u) value[u] = values.at(slot[u]);
#pragma unroll
    for (int u = 0; u < batch; ++u) element[u] = load_x(x + column[u]);
#pragma unroll
    for (int u = 0; u < batch; ++u) sum = u <= last ? sum + value[u] * element[u] : sum;
  }
  return sum;
}

/// The same as sum_batches for entries that lie in slots of their own number.
template <int batch, bool marked, class T, class Columns, class Values>
__device__ __forceinline__ T sum_batches(const Columns& columns, const Values& values, std::int64_t first,
                                         std::int64_t last, std::int64_t step, const T* x) {
  return sum_batches<batch, marked>(
      columns, values, first, last, step, [](std::int64_t k) { return k; }, x);
}

}  // namespace autospmv::formats
