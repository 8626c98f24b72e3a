#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "core/machine/parallel.hpp"
#include "formats/common/host/pack.hpp"
#include "formats/common/host/packed_row.hpp"
#include "formats/common/host/row_partition.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/host/versions.hpp"
#include "formats/sliced/convert.hpp"

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

// Rows side by side whose sums stay in registers: one cache line of doubles twice, or once where a slice has no more.
constexpr int most_lanes = 16;
constexpr int least_lanes = 8;

std::int64_t lanes_of(std::int64_t slice_rows) { return slice_rows % most_lanes == 0 ? most_lanes : least_lanes; }

// `lanes` neighbouring lanes of a slice.
template <int lanes, class T, class Columns, class Values>
struct LaneGroup {
  Columns columns;
  Values values;
  std::int64_t slot;  // of the first lane in the first chunk
  std::int64_t chunks;
  std::int64_t stride;          // slots from chunk to chunk
  const std::int32_t* lengths;  // nullptr: padding is marked

  [[nodiscard]] AUTOSPMV_INLINE std::int32_t column(std::int64_t c, int lane) const {
    return columns.at(slot + c * stride + lane);
  }
  [[nodiscard]] AUTOSPMV_INLINE T value(std::int64_t c, int lane) const { return values.at(slot + c * stride + lane); }
  [[nodiscard]] AUTOSPMV_INLINE bool holds(std::int64_t c, int lane) const {
    return lengths == nullptr ? column(c, lane) >= 0 : c < lengths[lane];
  }

  // Chunks without padding. They come first, and where rows were sorted few others follow.
  [[nodiscard]] AUTOSPMV_INLINE std::int64_t full_chunks() const {
    std::int64_t full = chunks;
    if (lengths != nullptr) {
      for (int lane = 0; lane < lanes; ++lane) full = std::min<std::int64_t>(full, lengths[lane]);
      return full;
    }
    const auto padded = [&](std::int64_t c) {
      std::int32_t signs = 0;
      for (int lane = 0; lane < lanes; ++lane) signs |= column(c, lane);
      return signs < 0;
    };
    while (full > 0 && padded(full - 1)) --full;
    return full;
  }

  AUTOSPMV_INLINE void add_full(std::int64_t full, const T* x, T* sum) const {
    constexpr int width = Pack<T>::size;
    constexpr int packs = lanes / width;
    typename Pack<T>::Vector sums[packs] = {};
    for (std::int64_t c = 0; c < full; ++c) {
      for (int p = 0; p < packs; ++p) {
        Pack<T> value_pack;
        Pack<T> x_pack;
        value_pack.fill([&](int i) AUTOSPMV_INLINE_LAMBDA { return value(c, p * width + i); });
        x_pack.fill([&](int i) AUTOSPMV_INLINE_LAMBDA { return x[column(c, p * width + i)]; });
        sums[p] += value_pack.elements * x_pack.elements;
      }
    }
    std::memcpy(sum, sums, sizeof sums);
  }

  AUTOSPMV_INLINE void add_padded(std::int64_t full, const T* x, T* sum) const {
    int last = lanes;
    for (std::int64_t c = full; c < chunks; ++c) {
      // Rows sorted by length end from the last one on.
      while (last > 0 && !holds(c, last - 1)) --last;
      for (int lane = 0; lane < last; ++lane) {
        if (holds(c, lane)) sum[lane] += value(c, lane) * x[column(c, lane)];
      }
    }
  }
};

template <class T>
AUTOSPMV_INLINE void store(const SlicedMatrix<T>& sliced, std::int64_t position, T sum, T alpha, T beta, T* y) {
  const auto row = row_at(sliced, position);
  y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
}

// The groups of lanes, over all slices.
template <int lanes, class T, class Columns, class Values>
AUTOSPMV_INLINE void multiply_groups(const SlicedMatrix<T>& sliced, Columns columns, Values values, Share slices,
                                     Share groups, T alpha, const T* x, T beta, T* y) {
  values.open();
  for (auto slice = slices.first; slice < slices.last; ++slice) {
    columns.open(slice);
    const std::int64_t chunk = sliced.slice_chunks[static_cast<std::size_t>(slice)];
    const std::int64_t chunks = sliced.slice_chunks[static_cast<std::size_t>(slice) + 1] - chunk;
    for (auto first = groups.first * lanes; first < groups.last * lanes; first += lanes) {
      const auto position = slice * sliced.slice_rows + first;
      if (position >= sliced.rows) break;
      const std::int32_t* lengths = sliced.lengths.empty() ? nullptr : sliced.lengths.data() + position;
      const LaneGroup<lanes, T, Columns, Values> group{
          columns, values, chunk * sliced.slice_rows + first, chunks, sliced.slice_rows, lengths};
      T sum[lanes];
      const auto full = group.full_chunks();
      group.add_full(full, x, sum);
      group.add_padded(full, x, sum);
      const auto last = std::min<std::int64_t>(lanes, sliced.rows - position);
      for (std::int64_t lane = 0; lane < last; ++lane) store(sliced, position + lane, sum[lane], alpha, beta, y);
    }
  }
}

// Slices of one row: CSR in another order of rows, without padding.
template <class T, class Columns, class Values>
AUTOSPMV_INLINE void multiply_rows(const SlicedMatrix<T>& sliced, Columns columns, Values values, Share rows, T alpha,
                                   const T* x, T beta, T* y) {
  values.open();
  const auto* firsts = sliced.slice_chunks.data();
  const auto put = [&](std::int64_t position, T sum)
                       AUTOSPMV_INLINE_LAMBDA { store(sliced, position, sum, alpha, beta, y); };
  if constexpr (std::is_same_v<Columns, FullColumns> && std::is_same_v<Values, FullValues<T>>) {
    sum_rows_in_runs(firsts, rows, firsts[sliced.slices], values.values, columns.columns, x, put);
  } else {
    // What is decoded one by one gains nothing from packs.
    RowRuns(firsts, rows)
        .for_each([&](std::int64_t position, std::int64_t first, auto length, auto /*kind*/) AUTOSPMV_INLINE_LAMBDA {
          columns.open(position);
          put(position, row_sum<4, T>(length, [&](std::int64_t k) AUTOSPMV_INLINE_LAMBDA {
                return values.at(first + k) * x[columns.at(first + k)];
              }));
        });
  }
}

// Rows of a single slice that ends them by their lengths, T > 1 neighbouring slots a chunk: as many partial sums.
template <int threads, class T, class Columns, class Values>
AUTOSPMV_INLINE void multiply_shared_rows(const SlicedMatrix<T>& sliced, Columns columns, Values values, Share rows,
                                          T alpha, const T* x, T beta, T* y) {
  values.open();
  columns.open(0);
  const auto stride = sliced.slice_rows * threads;
  const auto product = [&](std::int64_t slot) AUTOSPMV_INLINE_LAMBDA { return values.at(slot) * x[columns.at(slot)]; };
  for (auto position = rows.first; position < std::min(rows.last, sliced.rows); ++position) {
    T sum[threads] = {};
    auto slot = position * threads;
    std::int64_t left = sliced.lengths[static_cast<std::size_t>(position)];
    for (; left >= threads; left -= threads, slot += stride) {
      for (int thread = 0; thread < threads; ++thread) sum[thread] += product(slot + thread);
    }
    for (int thread = 0; thread < left; ++thread) sum[thread] += product(slot + thread);
    for (int width = threads / 2; width > 0; width /= 2) {
      for (int thread = 0; thread < width; ++thread) sum[thread] += sum[thread + width];
    }
    store(sliced, position, sum[0], alpha, beta, y);
  }
}

// `groups` are groups of lanes, or rows where these have several threads.
template <class T, class Columns, class Values>
AUTOSPMV_INLINE void multiply_slices(const SlicedMatrix<T>& sliced, const Columns& columns, const Values& values,
                                     Share slices, Share groups, T alpha, const T* x, T beta, T* y) {
  if (sliced.slice_rows == 1) {
    multiply_rows(sliced, columns, values, slices, alpha, x, beta, y);
  } else if (sliced.layout.threads > 1) {
    if constexpr (std::is_same_v<Columns, FullColumns>) {
      switch (sliced.layout.threads) {
        case 2:
          return multiply_shared_rows<2>(sliced, columns, values, groups, alpha, x, beta, y);
        case 4:
          return multiply_shared_rows<4>(sliced, columns, values, groups, alpha, x, beta, y);
        case 8:
          return multiply_shared_rows<8>(sliced, columns, values, groups, alpha, x, beta, y);
        case 16:
          return multiply_shared_rows<16>(sliced, columns, values, groups, alpha, x, beta, y);
        default:
          return multiply_shared_rows<32>(sliced, columns, values, groups, alpha, x, beta, y);
      }
    }
  } else if (lanes_of(sliced.slice_rows) == most_lanes) {
    multiply_groups<most_lanes>(sliced, columns, values, slices, groups, alpha, x, beta, y);
  } else {
    multiply_groups<least_lanes>(sliced, columns, values, slices, groups, alpha, x, beta, y);
  }
}

#define AUTOSPMV_GROUPS(T, Values, Columns)                                                                         \
  AUTOSPMV_MULTIVERSION_SCALAR void slices_version(const SlicedMatrix<T>& sliced, Columns columns, Values values,   \
                                                   Share slices, Share groups, T alpha, const T* x, T beta, T* y) { \
    multiply_slices(sliced, columns, values, slices, groups, alpha, x, beta, y);                                    \
  }
AUTOSPMV_EACH_VALUES(AUTOSPMV_GROUPS, FullColumns)
AUTOSPMV_EACH_VALUES(AUTOSPMV_GROUPS, NearColumns<std::uint16_t>)
AUTOSPMV_EACH_VALUES(AUTOSPMV_GROUPS, NearColumns<std::uint8_t>)
#undef AUTOSPMV_GROUPS

}  // namespace

template <class T>
Array<std::int32_t> sort_rows(const CsrView<T>& matrix, std::int64_t window) {
  Array<std::int32_t> order(static_cast<std::size_t>(matrix.rows), Place{});
  std::iota(order.data(), order.data() + matrix.rows, 0);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
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
  });
  return order;
}

template <class T>
void count_chunks(const CsrView<T>& matrix, SlicedMatrix<T>& sliced) {
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_for(
        sliced.slices,
        [&](std::int64_t slice) {
          const auto first = slice * sliced.slice_rows;
          const auto last = std::min(matrix.rows, first + sliced.slice_rows);
          std::int64_t longest = 0;
          for (auto position = first; position < last; ++position) {
            longest = std::max(longest, row_length(row_ptr, row_at(sliced, position)));
          }
          longest = std::min(longest, sliced.layout.width_cap);
          const auto chunks = (longest + sliced.layout.threads - 1) / sliced.layout.threads;
          sliced.slice_chunks[static_cast<std::size_t>(slice)] = static_cast<std::int32_t>(chunks);
        },
        sliced.slice_rows);
  });
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
void fill(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Array<std::int32_t>& columns, Array<T>& values) {
  const std::int64_t threads = sliced.layout.threads;
  auto* const column_at = columns.data();
  auto* const value_at = values.data();
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_for(sliced.slices * sliced.slice_rows, [&, column_at, value_at](std::int64_t position) {
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
      // An array that nobody reads is not there.
      const auto put = [=, &matrix](std::int64_t slot, std::int64_t k) {
        if (column_at != nullptr) column_at[slot] = k < length ? matrix.col_idx[first + k] : -1;
        if (value_at != nullptr) value_at[slot] = k < length ? matrix.values[first + k] : T{0};
      };
      const auto step = sliced.slice_rows * threads;
      const auto slot = start * step + lane;
      if (threads == 1) {
        for (std::int64_t k = 0; k < chunks; ++k) put(slot + k * step, k);
      } else {
        for (std::int64_t k = 0; k < chunks * threads; ++k) put(slot + k / threads * step + k % threads, k);
      }
    });
  });
}

template <class T>
void multiply(const SlicedMatrix<T>& sliced, T alpha, const T* x, T beta, T* y) {
  const std::int64_t groups =
      sliced.layout.threads > 1 ? sliced.slice_rows : sliced.slice_rows / lanes_of(sliced.slice_rows);
  with_columns(sliced.columns, [&](auto columns) {
    with_values(sliced.values, [&](auto values) {
      if (sliced.layout.slice_rows == 0) {
        parallel_region(sliced.slots + sliced.rows, [&](int thread, int threads) {
          slices_version(sliced, columns, values, {0, 1}, share_of(groups, thread, threads), alpha, x, beta, y);
        });
        return;
      }
      // Sorted rows are scattered over their window: two threads that write into one would share all of its cache
      // lines.
      const auto window = sliced.layout.sort_window / std::max<std::int64_t>(1, sliced.slice_rows);
      const bool many = window > 1 && sliced.slices / window >= 2 * omp_get_max_threads();
      for_each_share(
          sliced.slice_chunks.data(), sliced.slices,
          [&](Share slices) {
            slices_version(sliced, columns, values, slices, {0, groups}, alpha, x, beta, y);
          },
          sliced.slice_rows * sliced.layout.threads, many ? window : 1);
    });
  });
}

#define AUTOSPMV_SLICED(T)                                                                  \
  template Array<std::int32_t> sort_rows(const CsrView<T>&, std::int64_t);                  \
  template void count_chunks(const CsrView<T>&, SlicedMatrix<T>&);                          \
  template void fill(const CsrView<T>&, SlicedMatrix<T>&, Array<std::int32_t>&, Array<T>&); \
  template void multiply(const SlicedMatrix<T>&, T, const T*, T, T*);
AUTOSPMV_SLICED(float)
AUTOSPMV_SLICED(double)
#undef AUTOSPMV_SLICED

}  // namespace autospmv::formats::host
