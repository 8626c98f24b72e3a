// Host loops over nonzeros on their way to diagonals, and over stored diagonals.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/parallel.hpp"
#include "core/simd.hpp"
#include "formats/common/diagonals_steps.hpp"
#include "formats/common/row_partition.hpp"

namespace autospmv::formats::host {

/// Shows every nonzero to the visitor, row by row.
template <class T, class Visitor>
Faults visit_nonzeros(const CsrView<T>& matrix, const Visitor& visitor) {
  std::atomic<std::int64_t> wrong{0};
  std::atomic<std::uint64_t> mismatch{0};
  std::visit(
      [&](const auto* row_ptr) {
        for_each_share(row_ptr, matrix.rows, [&](Share rows) {
          Faults faults;
          for (auto row = rows.first; row < rows.last; ++row) {
            auto at = visitor.begin(row);
            for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
              visitor.visit(at, row, matrix.col_idx[k], matrix.values[k], faults);
            }
          }
          wrong += faults.wrong;
          mismatch += faults.mismatch;
        });
      },
      matrix.row_ptr);
  return {wrong, mismatch};
}

/// Sets all slots to absent.
template <class T>
void clear(Array<T>& values) {
  parallel_for(static_cast<std::int64_t>(values.size()), [&](std::int64_t i) { values.data()[i] = T{0}; });
}

/// Rows whose sums stay in the first-level cache while one diagonal after the other is added to them.
inline constexpr std::int64_t tile_rows = 512;

/// Values as they are.
template <class T>
struct PlainSlots {
  const T* values;

  AUTOSPMV_INLINE T operator[](std::int64_t slot) const { return values[slot]; }
};

/// Adds `count` slots times neighbouring elements of x, all of which exist.
template <class Slots, class T>
AUTOSPMV_INLINE void add_slots(const Slots& slots, std::int64_t slot, const T* x, std::int64_t count, T* sum) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = slots[slot + i];
    const T added = sum[i] + value * x[i];
    sum[i] = is_absent(value) ? sum[i] : added;
  }
}

template <class T>
AUTOSPMV_INLINE void store_sums(const T* sum, Share rows, T alpha, T beta, T* y) {
  for (auto row = rows.first; row < rows.last; ++row) {
    const T product = alpha * sum[row - rows.first];
    y[row] = beta == T{0} ? product : product + beta * y[row];
  }
}

/// Calls body(Share) for pieces of at most tile_rows rows.
template <class Body>
void for_each_tile(Share rows, const Body& body) {
  for (auto first = rows.first; first < rows.last; first += tile_rows) {
    body(Share{first, std::min(rows.last, first + tile_rows)});
  }
}

}  // namespace autospmv::formats::host
