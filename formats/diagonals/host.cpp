#include "formats/diagonals/host.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

namespace autospmv::formats::host {

namespace {

// The diagonals of some rows, increasing, as long as they are not too many.
class OffsetList {
 public:
  [[nodiscard]] std::int32_t count() const { return count_; }
  [[nodiscard]] const std::int32_t* data() const { return offsets_; }

  template <class Offset>
  void gather(const std::int32_t* columns, const Offset* row_ptr, Share rows) {
    count_ = 0;
    for (auto row = rows.first; row < rows.last; ++row) {
      std::int32_t position = -1;
      for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
        const auto offset = static_cast<std::int32_t>(columns[k] - row);
        // Most rows have the diagonals of the row before.
        if (++position < count_ && offsets_[position] == offset) continue;
        position = insert(offset, position);
        if (count_ > most_hack_diagonals) return;
      }
    }
  }

 private:
  std::int32_t insert(std::int32_t offset, std::int32_t near) {
    auto position = position_of(offset, offsets_, count_, near);
    if (position < count_ && offsets_[position] == offset) return position;
    if (position < count_ && offsets_[position] < offset) ++position;
    for (auto i = count_; i > position; --i) offsets_[i] = offsets_[i - 1];
    offsets_[position] = offset;
    ++count_;
    return position;
  }

  std::int32_t offsets_[most_hack_diagonals + 1];
  std::int32_t count_ = 0;
};

// Calls body(hack, its diagonals) for those hacks of each thread that are wanted, until it says false.
template <class T, class Wanted, class Body>
void for_each_hack(const CsrView<T>& matrix, const Diagonals<T>& diagonals, const Wanted& wanted, const Body& body) {
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_region(matrix.nnz + matrix.rows, [&](int thread, int threads) {
      OffsetList list;
      const auto hacks = share_of(diagonals.hacks, thread, threads);
      for (auto h = hacks.first; h < hacks.last; ++h) {
        if (!wanted(h)) continue;
        const auto first = h * diagonals.hack;
        list.gather(matrix.col_idx, row_ptr, {first, std::min(matrix.rows, first + diagonals.hack)});
        if (!body(h, list)) break;
      }
    });
  });
}

template <class T>
AUTOSPMV_INLINE void multiply_tile(const DiagonalShape& shape, const T* values, std::int64_t ahead, Share rows, T alpha,
                                   const T* x, T beta, T* y) {
  T sum[tile_rows];
  std::fill_n(sum, rows.last - rows.first, T{0});
  const auto at = shape.at(rows.first);
  // Offsets increase, so the diagonals that all rows meet within the matrix lie together.
  std::int64_t inner_first = 0;
  while (inner_first < at.count && at.offsets[inner_first] < -rows.first) ++inner_first;
  std::int64_t inner_last = at.count;
  while (inner_last > inner_first && at.offsets[inner_last - 1] > shape.cols - rows.last) --inner_last;
  const auto add_partly = [&](std::int64_t j) AUTOSPMV_INLINE_LAMBDA {
    const std::int64_t offset = at.offsets[j];
    const auto first = std::max(rows.first, -offset);
    const auto last = std::min(rows.last, shape.cols - offset);
    if (first >= last) return;
    const auto skipped = first - rows.first;
    add_slots(PlainSlots<T>{values}, at.slot + j * shape.hack + skipped, x + first + offset, last - first,
              sum + skipped);
  };
  for (std::int64_t j = 0; j < inner_first; ++j) add_partly(j);
  const auto inner = [&](std::int64_t i) AUTOSPMV_INLINE_LAMBDA {
    const auto j = inner_first + i;
    return DiagonalRun<T>{values + at.slot + j * shape.hack, x + rows.first + at.offsets[j]};
  };
  add_diagonals(inner_last - inner_first, inner, rows.last - rows.first, ahead, sum);
  for (auto j = inner_last; j < at.count; ++j) add_partly(j);
  store_sums(sum, rows, alpha, beta, y);
}

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_TILE(T)                                                                                               \
  AUTOSPMV_MULTIVERSION void tile_version(const DiagonalShape& shape, const T* values, std::int64_t ahead, Share rows, \
                                          T alpha, const T* x, T beta, T* y) {                                         \
    multiply_tile(shape, values, ahead, rows, alpha, x, beta, y);                                                      \
  }
AUTOSPMV_TILE(float)
AUTOSPMV_TILE(double)
#undef AUTOSPMV_TILE

}  // namespace

template <class T>
Array<std::int32_t> find_offsets(const CsrView<T>& matrix, std::int64_t least) {
  const auto range = static_cast<std::size_t>(matrix.rows + matrix.cols);
  std::vector<std::uint8_t> used(range, 0);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_for(matrix.rows, [&](std::int64_t row) {
      for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
        // Threads may write the same byte, but only ever the same value. Few diagonals are met by very many rows:
        // a line that nobody writes to any more stays in the caches of all.
        auto* flag = &used[static_cast<std::size_t>(matrix.col_idx[k] - row + matrix.rows)];
        if (__atomic_load_n(flag, __ATOMIC_RELAXED) == 0) __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
      }
    });
  });
  std::vector<std::int32_t> offsets;
  for (auto offset = std::max(least, -matrix.rows); offset < matrix.cols; ++offset) {
    if (used[static_cast<std::size_t>(offset + matrix.rows)] != 0) {
      offsets.push_back(static_cast<std::int32_t>(offset));
    }
  }
  return Array<std::int32_t>::copy_of(offsets, Place{});
}

template <class T>
Array<std::int32_t> count_diagonals(const CsrView<T>& matrix, std::int64_t most, Diagonals<T>& diagonals) {
  std::atomic<std::int64_t> total{0};
  auto& counts = diagonals.first;
  std::fill_n(counts.data(), diagonals.hacks, too_many_diagonals);
  counts[static_cast<std::size_t>(diagonals.hacks)] = 0;
  const auto room = kept_offsets(matrix);
  Array<std::int32_t> kept(static_cast<std::size_t>(diagonals.hacks * room), Place{});
  const auto all = [](std::int64_t) { return true; };
  for_each_hack(matrix, diagonals, all, [&](std::int64_t h, const OffsetList& list) {
    if (list.count() <= most_hack_diagonals) counts.data()[h] = list.count();
    if (list.count() <= room) std::copy_n(list.data(), list.count(), kept.data() + h * room);
    return (total += list.count()) <= most;
  });
  return kept;
}

template <class T>
void list_offsets(const CsrView<T>& matrix, Diagonals<T>& diagonals, const Array<std::int32_t>& kept) {
  const auto room = kept_offsets(matrix);
  const auto* first = diagonals.first.data();
  for (std::int64_t h = 0; h < diagonals.hacks; ++h) {
    const auto count = first[h + 1] - first[h];
    if (count <= room) std::copy_n(kept.data() + h * room, count, diagonals.offsets.data() + first[h]);
  }
  const auto many = [&](std::int64_t h) { return first[h + 1] - first[h] > room; };
  for_each_hack(matrix, diagonals, many, [&](std::int64_t h, const OffsetList& list) {
    std::copy_n(list.data(), list.count(), diagonals.offsets.data() + first[h]);
    return true;
  });
}

template <class T>
void multiply(const Diagonals<T>& diagonals, T alpha, const T* x, T beta, T* y) {
  const auto shape = diagonals.shape();
  const T* values = diagonals.values.data();
  const auto ahead = fetched_ahead<T>(shape.hack, static_cast<std::int64_t>(diagonals.values.size()));
  const auto multiply_rows = [&](Share rows) {
    for_each_tile(rows, [&](Share tile) { tile_version(shape, values, ahead, tile, alpha, x, beta, y); });
  };
  if (shape.first == nullptr) {
    const auto tiles = (shape.rows + tile_rows - 1) / tile_rows;
    parallel_region(static_cast<std::int64_t>(diagonals.values.size()) + shape.rows, [&](int thread, int threads) {
      const auto share = share_of(tiles, thread, threads);
      multiply_rows({share.first * tile_rows, std::min(shape.rows, share.last * tile_rows)});
    });
    return;
  }
  for_each_share(
      shape.first, diagonals.hacks,
      [&](Share hacks) {
        for (auto h = hacks.first; h < hacks.last; ++h) {
          multiply_rows({h * shape.hack, std::min(shape.rows, (h + 1) * shape.hack)});
        }
      },
      shape.hack);
}

#define AUTOSPMV_DIAGONALS(T)                                                                   \
  template Array<std::int32_t> find_offsets(const CsrView<T>&, std::int64_t);                   \
  template Array<std::int32_t> count_diagonals(const CsrView<T>&, std::int64_t, Diagonals<T>&); \
  template void list_offsets(const CsrView<T>&, Diagonals<T>&, const Array<std::int32_t>&);     \
  template void multiply(const Diagonals<T>&, T, const T*, T, T*);
AUTOSPMV_DIAGONALS(float)
AUTOSPMV_DIAGONALS(double)
#undef AUTOSPMV_DIAGONALS

}  // namespace autospmv::formats::host
