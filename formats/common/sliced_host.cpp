#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/parallel.hpp"
#include "formats/common/row_partition.hpp"
#include "formats/common/row_sum.hpp"
#include "formats/common/simd.hpp"
#include "formats/common/sliced_steps.hpp"

namespace autospmv::formats::host {

namespace {

template <class Offset>
std::int64_t row_length(const Offset* row_ptr, std::int64_t row) {
  return static_cast<std::int64_t>(row_ptr[row + 1]) - static_cast<std::int64_t>(row_ptr[row]);
}

template <class T>
std::int64_t row_at(const SlicedMatrix<T>& sliced, std::int64_t position) {
  return sliced.row_order.empty() ? position : sliced.row_order[static_cast<std::size_t>(position)];
}

// Rows side by side whose sums stay in registers: one cache line of doubles twice.
constexpr int lanes = 16;

// Neighbouring elements that are added and multiplied at once.
template <class T>
struct Pack {
  static constexpr int size = 32 / sizeof(T);
  typedef T Vector __attribute__((vector_size(32)));

  Vector elements;

  AUTOSPMV_INLINE void load(const T* from) { std::memcpy(&elements, from, sizeof elements); }
  // Spelled out, so that these stay scalar loads: the processor's gathers are slower.
  AUTOSPMV_INLINE void gather(const T* x, const std::int32_t* at) {
    if constexpr (size == 4) {
      elements = Vector{x[at[0]], x[at[1]], x[at[2]], x[at[3]]};
    } else {
      elements = Vector{x[at[0]], x[at[1]], x[at[2]], x[at[3]], x[at[4]], x[at[5]], x[at[6]], x[at[7]]};
    }
  }
};

// `lanes` neighbouring lanes of a slice.
template <class T>
struct Group {
  const T* values;
  const std::int32_t* columns;
  const std::int32_t* lengths;  // nullptr: padding is marked
  std::int64_t chunks;
  std::int64_t stride;  // slots from chunk to chunk

  [[nodiscard]] AUTOSPMV_INLINE bool holds(std::int64_t chunk, int lane) const {
    return lengths == nullptr ? columns[chunk * stride + lane] >= 0 : chunk < lengths[lane];
  }

  // Chunks without padding. They come first, and where rows were sorted few others follow.
  [[nodiscard]] AUTOSPMV_INLINE std::int64_t full_chunks() const {
    std::int64_t full = chunks;
    if (lengths != nullptr) {
      for (int lane = 0; lane < lanes; ++lane) full = std::min<std::int64_t>(full, lengths[lane]);
      return full;
    }
    const auto padded = [&](const std::int32_t* column) {
      std::int32_t signs = 0;
      for (int lane = 0; lane < lanes; ++lane) signs |= column[lane];
      return signs < 0;
    };
    while (full > 0 && padded(columns + (full - 1) * stride)) --full;
    return full;
  }

  AUTOSPMV_INLINE void add_full(std::int64_t full, const T* x, T* sum) const {
    constexpr int packs = lanes / Pack<T>::size;
    typename Pack<T>::Vector sums[packs] = {};
    for (std::int64_t chunk = 0; chunk < full; ++chunk) {
      for (int p = 0; p < packs; ++p) {
        const auto slot = chunk * stride + p * Pack<T>::size;
        Pack<T> value;
        Pack<T> element;
        value.load(values + slot);
        element.gather(x, columns + slot);
        sums[p] += value.elements * element.elements;
      }
    }
    std::memcpy(sum, sums, sizeof sums);
  }

  AUTOSPMV_INLINE void add_padded(std::int64_t full, const T* x, T* sum) const {
    int last = lanes;
    for (std::int64_t chunk = full; chunk < chunks; ++chunk) {
      // Rows sorted by length end from the last one on.
      while (last > 0 && !holds(chunk, last - 1)) --last;
      for (int lane = 0; lane < last; ++lane) {
        const auto slot = chunk * stride + lane;
        if (holds(chunk, lane)) sum[lane] += values[slot] * x[columns[slot]];
      }
    }
  }
};

template <class T>
AUTOSPMV_INLINE void store(const SlicedMatrix<T>& sliced, std::int64_t position, T sum, T alpha, T beta, T* y) {
  const auto row = row_at(sliced, position);
  y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
}

// Lanes [first, first + lanes) of a slice.
template <class T>
AUTOSPMV_INLINE void multiply_group(const SlicedMatrix<T>& sliced, std::int64_t slice, std::int64_t first, T alpha,
                                    const T* x, T beta, T* y) {
  const auto start = static_cast<std::int64_t>(sliced.slice_chunks[static_cast<std::size_t>(slice)]);
  const auto position = slice * sliced.slice_rows + first;
  const auto slot = start * sliced.slice_rows + first;
  const Group<T> group{sliced.values.data() + slot, sliced.columns.data() + slot,
                       sliced.lengths.empty() ? nullptr : sliced.lengths.data() + position,
                       sliced.slice_chunks[static_cast<std::size_t>(slice) + 1] - start, sliced.slice_rows};
  T sum[lanes];
  const auto full = group.full_chunks();
  group.add_full(full, x, sum);
  group.add_padded(full, x, sum);
  const auto last = std::min<std::int64_t>(lanes, sliced.rows - position);
  for (std::int64_t lane = 0; lane < last; ++lane) store(sliced, position + lane, sum[lane], alpha, beta, y);
}

// The groups of lanes, over all slices.
template <class T>
AUTOSPMV_INLINE void multiply_groups(const SlicedMatrix<T>& sliced, Share slices, Share groups, T alpha, const T* x,
                                     T beta, T* y) {
  for (auto slice = slices.first; slice < slices.last; ++slice) {
    for (auto group = groups.first; group < groups.last; ++group) {
      if (slice * sliced.slice_rows + group * lanes >= sliced.rows) break;
      multiply_group(sliced, slice, group * lanes, alpha, x, beta, y);
    }
  }
}

// Slices of one row: CSR in another order of rows, without padding.
template <class T>
AUTOSPMV_INLINE void multiply_rows(const SlicedMatrix<T>& sliced, Share rows, T alpha, const T* x, T beta, T* y) {
  auto first = static_cast<std::int64_t>(sliced.slice_chunks[static_cast<std::size_t>(rows.first)]);
  for (auto position = rows.first; position < rows.last; ++position) {
    const std::int64_t last = sliced.slice_chunks[static_cast<std::size_t>(position) + 1];
    const T sum = row_sum<4>(sliced.values.data() + first, sliced.columns.data() + first, last - first, x);
    store(sliced, position, sum, alpha, beta, y);
    first = last;
  }
}

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_VERSIONS(T)                                                                                           \
  AUTOSPMV_MULTIVERSION_SCALAR void groups_version(const SlicedMatrix<T>& sliced, Share slices, Share groups, T alpha, \
                                                   const T* x, T beta, T* y) {                                         \
    multiply_groups(sliced, slices, groups, alpha, x, beta, y);                                                        \
  }                                                                                                                    \
  AUTOSPMV_MULTIVERSION_SCALAR void rows_version(const SlicedMatrix<T>& sliced, Share rows, T alpha, const T* x,       \
                                                 T beta, T* y) {                                                       \
    multiply_rows(sliced, rows, alpha, x, beta, y);                                                                    \
  }
AUTOSPMV_VERSIONS(float)
AUTOSPMV_VERSIONS(double)
#undef AUTOSPMV_VERSIONS

}  // namespace

template <class T>
Array<std::int32_t> sort_rows(const CsrView<T>& matrix, std::int64_t window) {
  Array<std::int32_t> order(static_cast<std::size_t>(matrix.rows), Place{});
  std::iota(order.data(), order.data() + matrix.rows, 0);
  std::visit(
      [&](const auto* row_ptr) {
        const std::int64_t windows = (matrix.rows + window - 1) / window;
        parallel_region(matrix.rows, [&](int thread, int threads) {
          const auto share = share_of(windows, thread, threads);
          for (std::int64_t w = share.first; w < share.last; ++w) {
            auto* first = order.data() + w * window;
            auto* last = order.data() + std::min(matrix.rows, (w + 1) * window);
            std::stable_sort(first, last, [&](std::int32_t a, std::int32_t b) {
              return row_length(row_ptr, a) > row_length(row_ptr, b);
            });
          }
        });
      },
      matrix.row_ptr);
  return order;
}

template <class T>
void count_chunks(const CsrView<T>& matrix, SlicedMatrix<T>& sliced) {
  std::visit(
      [&](const auto* row_ptr) {
        parallel_for(sliced.slices, [&](std::int64_t slice) {
          const auto first = slice * sliced.slice_rows;
          const auto last = std::min(matrix.rows, first + sliced.slice_rows);
          std::int64_t longest = 0;
          for (auto position = first; position < last; ++position) {
            longest = std::max(longest, row_length(row_ptr, row_at(sliced, position)));
          }
          longest = std::min(longest, sliced.layout.width_cap);
          const auto chunks = (longest + sliced.layout.threads - 1) / sliced.layout.threads;
          sliced.slice_chunks[static_cast<std::size_t>(slice)] = static_cast<std::int32_t>(chunks);
        });
      },
      matrix.row_ptr);
}

std::int64_t scan_chunks(Array<std::int32_t>& chunks) {
  std::int64_t total = 0;
  for (auto& count : chunks.span().first(chunks.size() - 1)) {
    const std::int64_t here = count;
    count = static_cast<std::int32_t>(total);
    total += here;
  }
  chunks[chunks.size() - 1] = static_cast<std::int32_t>(total);
  return total;
}

template <class T>
void fill(const CsrView<T>& matrix, SlicedMatrix<T>& sliced) {
  const auto threads = sliced.layout.threads;
  std::visit(
      [&](const auto* row_ptr) {
        parallel_for(sliced.slices * sliced.slice_rows, [&](std::int64_t position) {
          const auto slice = position / sliced.slice_rows;
          const auto lane = (position % sliced.slice_rows) * threads;
          const auto row = position < matrix.rows ? row_at(sliced, position) : std::int64_t{-1};
          const auto first = row >= 0 ? static_cast<std::int64_t>(row_ptr[row]) : 0;
          const auto length = row >= 0 ? std::min(row_length(row_ptr, row), sliced.layout.width_cap) : 0;
          const auto start = sliced.slice_chunks[static_cast<std::size_t>(slice)];
          const auto chunks = sliced.slice_chunks[static_cast<std::size_t>(slice) + 1] - start;
          if (!sliced.lengths.empty()) {
            sliced.lengths[static_cast<std::size_t>(position)] = static_cast<std::int32_t>(length);
          }
          for (std::int64_t k = 0; k < chunks * threads; ++k) {
            const auto slot =
                static_cast<std::size_t>((start + k / threads) * sliced.slice_rows * threads + lane + k % threads);
            sliced.columns[slot] = k < length ? matrix.col_idx[first + k] : -1;
            sliced.values[slot] = k < length ? matrix.values[first + k] : T{0};
          }
        });
      },
      matrix.row_ptr);
}

template <class T>
void multiply(const SlicedMatrix<T>& sliced, T alpha, const T* x, T beta, T* y) {
  const std::int64_t groups = (sliced.slice_rows + lanes - 1) / lanes;
  if (sliced.slices == 1) {
    parallel_region(static_cast<std::int64_t>(sliced.values.size()) + sliced.rows, [&](int thread, int threads) {
      groups_version(sliced, {0, 1}, share_of(groups, thread, threads), alpha, x, beta, y);
    });
    return;
  }
  for_each_share(sliced.slice_chunks.data(), sliced.slices, [&](Share slices) {
    if (sliced.slice_rows == 1) {
      rows_version(sliced, slices, alpha, x, beta, y);
    } else {
      groups_version(sliced, slices, {0, groups}, alpha, x, beta, y);
    }
  });
}

#define AUTOSPMV_SLICED(T)                                                 \
  template Array<std::int32_t> sort_rows(const CsrView<T>&, std::int64_t); \
  template void count_chunks(const CsrView<T>&, SlicedMatrix<T>&);         \
  template void fill(const CsrView<T>&, SlicedMatrix<T>&);                 \
  template void multiply(const SlicedMatrix<T>&, T, const T*, T, T*);
AUTOSPMV_SLICED(float)
AUTOSPMV_SLICED(double)
#undef AUTOSPMV_SLICED

}  // namespace autospmv::formats::host
