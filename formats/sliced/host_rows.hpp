// Rows in the order in which slices have them, and how many of them the host multiplies at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "formats/common/row_length.hpp"
#include "formats/sliced/storage.hpp"

namespace autospmv::formats::host {

template <class T>
std::int64_t row_at(const SlicedMatrix<T>& sliced, std::int64_t position) {
  return sliced.row_order.empty() ? position : sliced.row_order[static_cast<std::size_t>(position)];
}

/// Entries at a position; none behind the last row.
template <class T, class Offset>
std::int64_t length_at(const SlicedMatrix<T>& sliced, const Offset* row_ptr, std::int64_t position) {
  if (position >= sliced.rows) return 0;
  return std::min(row_length(row_ptr, row_at(sliced, position)), sliced.layout.width_cap);
}

/// Rows side by side whose sums stay in registers: one cache line of doubles twice, or once where a slice has no more.
inline constexpr int most_lanes = 16;
inline constexpr int least_lanes = 8;

inline std::int64_t lanes_of(std::int64_t slice_rows) {
  return slice_rows % most_lanes == 0 ? most_lanes : least_lanes;
}

}  // namespace autospmv::formats::host
