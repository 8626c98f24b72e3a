#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "core/machine/parallel.hpp"
#include "formats/common/host/pack.hpp"
#include "formats/common/host/packed_row.hpp"
#include "formats/common/host/read_ahead.hpp"
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

// Others are multiplied row by row.
template <class T>
bool is_in_groups(const SlicedMatrix<T>& sliced) {
  return sliced.slice_rows > 1 && sliced.layout.threads == 1;
}

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

  // Sums of the lanes, in registers as long as most of them have entries left.
  using Vector = typename Pack<T>::Vector;
  using Sums = Vector[lanes / Pack<T>::size];

  template <bool ahead>
  AUTOSPMV_INLINE void add_full(std::int64_t full, const T* x, Sums& sums) const {
    for (std::int64_t c = 0; c < full; ++c) {
      if constexpr (ahead) {
        read_ahead(values, slot + c * stride, lanes);
        read_ahead(columns, slot + c * stride, lanes);
      }
      for (int p = 0; p < lanes / width; ++p) {
        Pack<T> element;
        element.fill([&](int i) AUTOSPMV_INLINE_LAMBDA { return x[column(c, p * width + i)]; });
        sums[p] += values_at(c, p).elements * element.elements;
      }
    }
  }

  // The first chunks with padding, whatever each lane has of them: what a processor does not have to guess takes least.
  // Says where the others begin.
  AUTOSPMV_INLINE std::int64_t add_padded(std::int64_t first, const T* x, Sums& sums) const {
    const auto last = std::min(chunks, first + most_in_packs);
    for (auto c = first; c < last; ++c) {
#pragma GCC unroll 4
      for (int p = 0; p < lanes / width; ++p) {
        Pack<T> element;  // any where there is none
        element.fill([&](int i) AUTOSPMV_INLINE_LAMBDA { return x[zero_for_padding(column(c, p * width + i))]; });
        Pack<T> product{values_at(c, p).elements * element.elements};
        product.drop(marks_at(c, p));
        sums[p] += product.elements;
      }
    }
    return last;
  }

  // What is left to the few longest lanes. Not inlined, and of a copy, so that it takes no registers from the others.
  __attribute__((noinline)) static void add_rest(LaneGroup group, std::int64_t first, const T* x, T* sum) {
    int last = lanes;
    for (auto c = first; c < group.chunks; ++c) {
      // Rows sorted by length end from the last one on.
      while (last > 0 && !group.holds(c, last - 1)) --last;
      for (int lane = 0; lane < last; ++lane) {
        if (group.holds(c, lane)) sum[lane] += group.value(c, lane) * x[group.column(c, lane)];
      }
    }
  }

 private:
  static constexpr int width = Pack<T>::size;
  static constexpr std::int64_t most_in_packs = 8;
  using Marks = Pack<std::int32_t, width>;

  // One by one: of a vector of them it would take longer to take them out.
  [[nodiscard]] static AUTOSPMV_INLINE std::int32_t zero_for_padding(std::int32_t column) {
#if defined(__GNUC__)
    asm("" : "+r"(column));
#endif
    return std::max(0, column);
  }

  // Negative where a lane has no entry left. Read apart from the columns, for the same reason.
  [[nodiscard]] AUTOSPMV_INLINE Marks marks_at(std::int64_t c, int pack) const {
    Marks marks;
    if (lengths != nullptr) {
      marks.load(lengths + pack * width);
      marks.elements -= static_cast<std::int32_t>(c) + 1;
    } else if constexpr (std::is_same_v<Columns, FullColumns>) {
      marks.load(columns.columns + slot + c * stride + pack * width);
    } else {
      marks.fill([&](int i) AUTOSPMV_INLINE_LAMBDA { return column(c, pack * width + i); });
    }
    return marks;
  }
  [[nodiscard]] AUTOSPMV_INLINE Pack<T> values_at(std::int64_t c, int pack) const {
    Pack<T> pack_of;
    pack_of.fill([&](int i) AUTOSPMV_INLINE_LAMBDA { return value(c, pack * width + i); });
    return pack_of;
  }
};

template <class T>
AUTOSPMV_INLINE void store(const SlicedMatrix<T>& sliced, std::int64_t position, T sum, T alpha, T beta, T* y) {
  const auto row = row_at(sliced, position);
  y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
}

// The groups of lanes, over all slices. Of what is stored through y a compiler has to believe that it changes whatever
// is reached by a reference: this holds all that a product asks of the matrix.
template <int lanes, class T, class Columns, class Values>
class LaneGroups {
 public:
  LaneGroups(const SlicedMatrix<T>& sliced, Columns columns, Values values)
      : columns_(columns),
        values_(values),
        rows_(sliced.rows),
        slice_rows_(sliced.slice_rows),
        slice_chunks_(sliced.slice_chunks.data()),
        full_chunks_(sliced.full_chunks.data()),
        lengths_(sliced.lengths.empty() ? nullptr : sliced.lengths.data()),
        order_(sliced.row_order.empty() ? nullptr : sliced.row_order.data()),
        ahead_(is_read_ahead(sliced.columns.bytes() + sliced.values.bytes())) {
    values_.open();
  }

  AUTOSPMV_INLINE void multiply(Share slices, Share groups, T alpha, const T* x, T beta, T* y) {
    for (auto slice = slices.first; slice < slices.last; ++slice) {
      columns_.open(slice);
      const std::int64_t chunk = slice_chunks_[slice];
      const std::int64_t chunks = slice_chunks_[slice + 1] - chunk;
      auto position = slice * slice_rows_ + groups.first * lanes;
      auto slot = chunk * slice_rows_ + groups.first * lanes;
      const auto end = std::min(rows_, slice * slice_rows_ + groups.last * lanes);
      for (; position < end; position += lanes, slot += lanes) {
        multiply_group(position, slot, chunks, alpha, x, beta, y);
      }
    }
  }

 private:
  using Group = LaneGroup<lanes, T, Columns, Values>;
  static constexpr int width = Pack<T>::size;

  AUTOSPMV_INLINE void multiply_group(std::int64_t position, std::int64_t slot, std::int64_t chunks, T alpha,
                                      const T* x, T beta, T* y) const {
    const auto* const lengths = lengths_ == nullptr ? nullptr : lengths_ + position;
    const Group group{columns_, values_, slot, chunks, slice_rows_, lengths};
    typename Group::Sums sums;
    for (auto& pack : sums) pack = typename Group::Vector{};
    const std::int64_t full = full_chunks_[static_cast<std::uint64_t>(position) / lanes];
    if (ahead_) {
      group.template add_full<true>(full, x, sums);
    } else {
      group.template add_full<false>(full, x, sums);
    }
    const auto rest = group.add_padded(full, x, sums);
    if (rest < chunks) [[unlikely]] {
      T sum[lanes];
      std::memcpy(sum, sums, sizeof sum);
      Group::add_rest(group, rest, x, sum);
      std::memcpy(sums, sum, sizeof sum);
    }
    store(position, sums, alpha, beta, y);
  }

  // Side by side where their rows are.
  AUTOSPMV_INLINE void store(std::int64_t position, const typename Group::Sums& sums, T alpha, T beta, T* y) const {
    const bool overwrites_all = position + lanes <= rows_ && beta == T{0};
    if (overwrites_all && order_ == nullptr) {
      for (int p = 0; p < lanes / width; ++p) Pack<T>{alpha * sums[p]}.store(y + position + p * width);
      return;
    }
    T sum[lanes];
    for (int p = 0; p < lanes / width; ++p) Pack<T>{alpha * sums[p]}.store(sum + p * width);
    if (overwrites_all) {
      for (int lane = 0; lane < lanes; ++lane) y[order_[position + lane]] = sum[lane];
      return;
    }
    const auto last = std::min<std::int64_t>(lanes, rows_ - position);
    for (std::int64_t lane = 0; lane < last; ++lane) {
      T& to = y[order_ == nullptr ? position + lane : order_[position + lane]];
      to = beta == T{0} ? sum[lane] : sum[lane] + beta * to;
    }
  }

  Columns columns_;
  Values values_;
  std::int64_t rows_;
  std::int64_t slice_rows_;
  const std::int32_t* slice_chunks_;
  const std::int32_t* full_chunks_;
  const std::int32_t* lengths_;  // nullptr: padding is marked
  const std::int32_t* order_;    // nullptr: each row is at its own position
  bool ahead_;
};

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
    LaneGroups<most_lanes, T, Columns, Values>(sliced, columns, values).multiply(slices, groups, alpha, x, beta, y);
  } else {
    LaneGroups<least_lanes, T, Columns, Values>(sliced, columns, values).multiply(slices, groups, alpha, x, beta, y);
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
  const bool in_groups = is_in_groups(sliced);
  const auto group_rows = in_groups ? lanes_of(sliced.slice_rows) : sliced.slice_rows;
  const auto groups = sliced.slice_rows / group_rows;
  if (in_groups) sliced.full_chunks = Array<std::int32_t>(static_cast<std::size_t>(sliced.slices * groups), Place{});
  auto* const full = sliced.full_chunks.data();
  const auto cap = sliced.layout.width_cap;
  with_offsets(matrix.row_ptr, [&, full](const auto* row_ptr) {
    parallel_for(
        sliced.slices,
        [&, full](std::int64_t slice) {
          std::int64_t longest = 0;
          for (auto group = slice * groups; group < (slice + 1) * groups; ++group) {
            const auto first = group * group_rows;
            const auto last = std::min(matrix.rows, first + group_rows);
            std::int64_t shortest = last == first + group_rows ? cap : 0;
            for (auto position = first; position < last; ++position) {
              const auto length = std::min(cap, row_length(row_ptr, row_at(sliced, position)));
              longest = std::max(longest, length);
              shortest = std::min(shortest, length);
            }
            if (full != nullptr) full[group] = static_cast<std::int32_t>(shortest);
          }
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
