#include "formats/common/diagonals_host.hpp"

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
        position = insert(static_cast<std::int32_t>(columns[k] - row), position + 1);
        if (count_ > most_hack_diagonals) return;
      }
    }
  }

 private:
  std::int32_t insert(std::int32_t offset, std::int32_t near) {
    auto position = position_of(offset, offsets_, count_, near);
    if (position < count_ && offsets_[position] == offset) return position;
    if (position < count_ && offsets_[position] < offset) ++position;
    std::copy_backward(offsets_ + position, offsets_ + count_, offsets_ + count_ + 1);
    offsets_[position] = offset;
    ++count_;
    return position;
  }

  std::int32_t offsets_[most_hack_diagonals + 1];
  std::int32_t count_ = 0;
};

// Calls body(hack, its diagonals) for the hacks of each thread until it says false.
template <class T, class Body>
void for_each_hack(const CsrView<T>& matrix, const Diagonals<T>& diagonals, const Body& body) {
  std::visit(
      [&](const auto* row_ptr) {
        parallel_region(matrix.nnz + matrix.rows, [&](int thread, int threads) {
          OffsetList list;
          const auto hacks = share_of(diagonals.hacks, thread, threads);
          for (auto h = hacks.first; h < hacks.last; ++h) {
            const auto first = h * diagonals.hack;
            list.gather(matrix.col_idx, row_ptr, {first, std::min(matrix.rows, first + diagonals.hack)});
            if (!body(static_cast<std::size_t>(h), list)) break;
          }
        });
      },
      matrix.row_ptr);
}

template <class Slots, class T>
AUTOSPMV_INLINE void multiply_tile(const DiagonalShape& shape, const Slots& slots, Share rows, T alpha, const T* x,
                                   T beta, T* y) {
  T sum[tile_rows];
  std::fill_n(sum, rows.last - rows.first, T{0});
  const auto at = shape.at(rows.first);
  for (std::int64_t j = 0; j < at.count; ++j) {
    const std::int64_t offset = at.offsets[j];
    const auto first = std::max(rows.first, -offset);
    const auto last = std::min(rows.last, shape.cols - offset);
    if (first >= last) continue;
    const auto skipped = first - rows.first;
    add_slots(slots, at.slot + j * shape.hack + skipped, x + first + offset, last - first, sum + skipped);
  }
  store_sums(sum, rows, alpha, beta, y);
}

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_TILE(T)                                                                                               \
  AUTOSPMV_MULTIVERSION void tile_version(const DiagonalShape& shape, const PlainSlots<T>& slots, Share rows, T alpha, \
                                          const T* x, T beta, T* y) {                                                  \
    multiply_tile(shape, slots, rows, alpha, x, beta, y);                                                              \
  }
AUTOSPMV_TILE(float)
AUTOSPMV_TILE(double)
#undef AUTOSPMV_TILE

}  // namespace

template <class T>
Array<std::int32_t> find_offsets(const CsrView<T>& matrix, std::int64_t least) {
  const auto range = static_cast<std::size_t>(matrix.rows + matrix.cols);
  std::vector<std::uint8_t> used(range, 0);
  std::visit(
      [&](const auto* row_ptr) {
        parallel_for(matrix.rows, [&](std::int64_t row) {
          for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
            // Threads may write the same byte, but only ever the same value.
            __atomic_store_n(&used[static_cast<std::size_t>(matrix.col_idx[k] - row + matrix.rows)], 1,
                             __ATOMIC_RELAXED);
          }
        });
      },
      matrix.row_ptr);
  std::vector<std::int32_t> offsets;
  for (auto offset = std::max(least, -matrix.rows); offset < matrix.cols; ++offset) {
    if (used[static_cast<std::size_t>(offset + matrix.rows)] != 0) {
      offsets.push_back(static_cast<std::int32_t>(offset));
    }
  }
  return Array<std::int32_t>::copy_of(offsets, Place{});
}

template <class T>
void count_diagonals(const CsrView<T>& matrix, std::int64_t most, Diagonals<T>& diagonals) {
  std::atomic<std::int64_t> total{0};
  auto& counts = diagonals.first;
  std::fill_n(counts.data(), diagonals.hacks, too_many_diagonals);
  counts[static_cast<std::size_t>(diagonals.hacks)] = 0;
  for_each_hack(matrix, diagonals, [&](std::size_t h, const OffsetList& list) {
    if (list.count() <= most_hack_diagonals) counts[h] = list.count();
    return (total += list.count()) <= most;
  });
}

template <class T>
void list_offsets(const CsrView<T>& matrix, Diagonals<T>& diagonals) {
  for_each_hack(matrix, diagonals, [&](std::size_t h, const OffsetList& list) {
    std::copy_n(list.data(), list.count(), diagonals.offsets.data() + diagonals.first[h]);
    return true;
  });
}

template <class T>
void multiply(const Diagonals<T>& diagonals, T alpha, const T* x, T beta, T* y) {
  const auto shape = diagonals.shape();
  const PlainSlots<T> slots{diagonals.values.data()};
  const auto multiply_rows = [&](Share rows) {
    for_each_tile(rows, [&](Share tile) { tile_version(shape, slots, tile, alpha, x, beta, y); });
  };
  if (shape.first == nullptr) {
    const auto tiles = (shape.rows + tile_rows - 1) / tile_rows;
    parallel_region(static_cast<std::int64_t>(diagonals.values.size()) + shape.rows, [&](int thread, int threads) {
      const auto share = share_of(tiles, thread, threads);
      multiply_rows({share.first * tile_rows, std::min(shape.rows, share.last * tile_rows)});
    });
    return;
  }
  for_each_share(shape.first, diagonals.hacks, [&](Share hacks) {
    for (auto h = hacks.first; h < hacks.last; ++h) {
      multiply_rows({h * shape.hack, std::min(shape.rows, (h + 1) * shape.hack)});
    }
  });
}

#define AUTOSPMV_DIAGONALS(T)                                                    \
  template Array<std::int32_t> find_offsets(const CsrView<T>&, std::int64_t);    \
  template void count_diagonals(const CsrView<T>&, std::int64_t, Diagonals<T>&); \
  template void list_offsets(const CsrView<T>&, Diagonals<T>&);                  \
  template void multiply(const Diagonals<T>&, T, const T*, T, T*);
AUTOSPMV_DIAGONALS(float)
AUTOSPMV_DIAGONALS(double)
#undef AUTOSPMV_DIAGONALS

}  // namespace autospmv::formats::host
