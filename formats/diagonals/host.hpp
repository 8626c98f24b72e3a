// Host loops over nonzeros on their way to diagonals, and over stored diagonals.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/machine/parallel.hpp"
#include "core/machine/simd.hpp"
#include "formats/common/host/pack.hpp"
#include "formats/common/host/row_partition.hpp"
#include "formats/diagonals/convert.hpp"

namespace autospmv::formats::host {

/// Shows every nonzero to the visitor, row by row.
template <class T, class Visitor>
Faults visit_nonzeros(const CsrView<T>& matrix, const Visitor& visitor) {
  std::atomic<std::int64_t> wrong{0};
  std::atomic<std::uint64_t> mismatch{0};
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
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
  });
  return {wrong, mismatch};
}

/// Shows the slots of each diagonal of each hack, filled as they would lie in Diagonals::values: body(its number,
/// slots). For what is stored in far less, a thread takes no more memory than one hack wants.
template <class T, class Body>
Faults visit_diagonals(const CsrView<T>& matrix, const Diagonals<T>& diagonals, const Body& body) {
  std::atomic<std::int64_t> wrong{0};
  const auto shape = diagonals.shape();
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    const auto fill_and_show = [&](Share hacks) {
      std::vector<T> slots;
      Faults faults;
      for (auto h = hacks.first; h < hacks.last; ++h) {
        const auto first = h * shape.hack;
        const auto last = std::min(matrix.rows, first + shape.hack);
        auto of_row = shape.at(first);
        slots.assign(static_cast<std::size_t>(of_row.count * shape.hack), T{0});
        const StoreSlots<T> store{shape, slots.data(), every_offset, Check::duplicates};
        for (auto row = first; row < last; ++row) {
          of_row.slot = row - first;
          typename StoreSlots<T>::Row at{of_row};
          for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
            store.visit(at, row, matrix.col_idx[k], matrix.values[k], faults);
          }
        }
        for (std::int64_t j = 0; j < of_row.count; ++j) body(shape.first[h] + j, slots.data() + j * shape.hack);
      }
      wrong += faults.wrong;
    };
    for_each_share(shape.first, diagonals.hacks, fill_and_show, shape.hack);
  });
  return {wrong, 0};
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

/// A diagonal where a run of rows meets it: the slots and the elements of x that are multiplied together.
template <class T>
struct DiagonalRun {
  const T* values;
  const T* x;
};

/// Diagonals that are read side by side.
inline constexpr std::int64_t diagonals_at_once = 8;

/// How many elements ahead diagonals of `length` rows, one behind the other, are fetched: `slots` of them in all. Short
/// ones side by side look like no stream to the processor: what it reads next are as many more. Long ones it follows,
/// but none from one page into the next. What the second-level caches hold is there already.
template <class T>
constexpr std::int64_t fetched_ahead(std::int64_t length, std::int64_t slots) {
  constexpr std::int64_t least_bytes = 1 << 20;
  if (slots * static_cast<std::int64_t>(sizeof(T)) < least_bytes) return 0;
  return length <= tile_rows ? diagonals_at_once * length : static_cast<std::int64_t>(1024 / sizeof(T));
}

/// Adds one diagonal to the sums of its rows, `packs` packs of them. Where there is no nonzero, x, which may be
/// infinite, is taken to be zero.
template <int packs, class T>
AUTOSPMV_INLINE void add_packs(const DiagonalRun<T>& at, Pack<T>* sums) {
  using Vector = typename Pack<T>::Vector;
  typedef BitsOf<T> Bits __attribute__((vector_size(sizeof(Vector))));
  for (int p = 0; p < packs; ++p) {
    Pack<T> value;
    Pack<T> element;
    value.load(at.values + p * Pack<T>::size);
    element.load(at.x + p * Pack<T>::size);
    const Bits present = reinterpret_cast<Bits>(value.elements) != 0;
    sums[p].elements += value.elements * reinterpret_cast<Vector>(reinterpret_cast<Bits>(element.elements) & present);
  }
}

/// Adds the diagonals run(0), run(1), ... to the sums of `count` rows, for all of which x has elements. The sums of a
/// few rows stay in registers while several diagonals are added to them. Fetches values `ahead` elements before they
/// are needed; none where that is 0.
template <class T, class Run>
AUTOSPMV_INLINE void add_diagonals(std::int64_t diagonals, const Run& run, std::int64_t count, std::int64_t ahead,
                                   T* sum) {
  constexpr int packs = 4;
  constexpr std::int64_t group = packs * Pack<T>::size;
  constexpr std::int64_t line = 64 / sizeof(T);
  const auto whole = count / group * group;
  const auto add = [&](const auto& fetch) AUTOSPMV_INLINE_LAMBDA {
    for (std::int64_t first = 0; first < diagonals; first += diagonals_at_once) {
      const auto last = std::min(diagonals, first + diagonals_at_once);
      for (std::int64_t row = 0; row < whole; row += group) {
        Pack<T> sums[packs];
        for (int p = 0; p < packs; ++p) sums[p].load(sum + row + p * Pack<T>::size);
        for (auto j = first; j < last; ++j) {
          const DiagonalRun<T> at = run(j);
          fetch(at.values + row);
          add_packs<packs>(DiagonalRun<T>{at.values + row, at.x + row}, sums);
        }
        for (int p = 0; p < packs; ++p) sums[p].store(sum + row + p * Pack<T>::size);
      }
    }
  };
  if (ahead == 0) {
    add([](const T*) AUTOSPMV_INLINE_LAMBDA {});
  } else {
    add([ahead](const T* values) AUTOSPMV_INLINE_LAMBDA {
      for (std::int64_t i = 0; i < group; i += line) __builtin_prefetch(values + ahead + i);
    });
  }
  for (std::int64_t j = 0; j < diagonals; ++j) {
    const DiagonalRun<T> at = run(j);
    add_slots(PlainSlots<T>{at.values}, whole, at.x + whole, count - whole, sum + whole);
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
