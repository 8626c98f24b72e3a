#include "formats/common/sliced.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/parallel.hpp"
#include "formats/common/row_partition.hpp"
#include "formats/common/rules.hpp"
#include "formats/common/simd.hpp"
#include "formats/common/sliced_steps.hpp"

namespace autospmv::formats {

namespace host {

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

// Slots of `lanes` neighbouring lanes of a slice, chunk by chunk.
template <bool marked, class T>
AUTOSPMV_INLINE void sum_lanes(const T* values, const std::int32_t* columns, const std::int32_t* lengths,
                               std::int64_t chunks, std::int64_t stride, const T* x, T* sum) {
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const T* value = values + chunk * stride;
    const std::int32_t* column = columns + chunk * stride;
#pragma omp simd
    for (int lane = 0; lane < lanes; ++lane) {
      const bool stored = marked ? column[lane] >= 0 : chunk < lengths[lane];
      if (stored) sum[lane] += value[lane] * x[column[lane]];
    }
  }
}

#define AUTOSPMV_LANES(T)                                                                                             \
  AUTOSPMV_MULTIVERSION void marked_lanes(const T* values, const std::int32_t* columns, std::int64_t chunks,          \
                                          std::int64_t stride, const T* x, T* sum) {                                  \
    sum_lanes<true>(values, columns, nullptr, chunks, stride, x, sum);                                                \
  }                                                                                                                   \
  AUTOSPMV_MULTIVERSION void counted_lanes(const T* values, const std::int32_t* columns, const std::int32_t* lengths, \
                                           std::int64_t chunks, std::int64_t stride, const T* x, T* sum) {            \
    sum_lanes<false>(values, columns, lengths, chunks, stride, x, sum);                                               \
  }
AUTOSPMV_LANES(float)
AUTOSPMV_LANES(double)
#undef AUTOSPMV_LANES

// Lanes [first, first + lanes) of a slice with one thread a row, summed side by side.
template <class T>
void multiply_lanes(const SlicedMatrix<T>& sliced, std::int64_t slice, std::int64_t first, T alpha, const T* x, T beta,
                    T* y) {
  const auto start = static_cast<std::int64_t>(sliced.slice_chunks[static_cast<std::size_t>(slice)]);
  std::int64_t chunks = sliced.slice_chunks[static_cast<std::size_t>(slice) + 1] - start;
  const std::int64_t stride = sliced.slice_rows;
  const T* values = sliced.values.data() + start * stride + first;
  const std::int32_t* columns = sliced.columns.data() + start * stride + first;
  const std::int64_t position = slice * stride + first;
  T sum[lanes] = {};
  if (sliced.lengths.empty()) {
    marked_lanes(values, columns, chunks, stride, x, sum);
  } else {
    const std::int32_t* lengths = sliced.lengths.data() + position;
    chunks = *std::max_element(lengths, lengths + lanes);
    counted_lanes(values, columns, lengths, chunks, stride, x, sum);
  }
  const std::int64_t last = std::min<std::int64_t>(lanes, sliced.rows - position);
  for (std::int64_t lane = 0; lane < last; ++lane) {
    const auto row = row_at(sliced, position + lane);
    y[row] = beta == T{0} ? alpha * sum[lane] : alpha * sum[lane] + beta * y[row];
  }
}

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
  const auto work = static_cast<std::int64_t>(sliced.values.size()) + sliced.rows;
  parallel_region(work, [&](int thread, int threads) {
    if (sliced.slices == 1) {
      const auto groups = share_of((sliced.rows + lanes - 1) / lanes, thread, threads);
      for (auto group = groups.first; group < groups.last; ++group) {
        multiply_lanes(sliced, 0, group * lanes, alpha, x, beta, y);
      }
      return;
    }
    const auto share = rows_of_thread(sliced.slice_chunks.data(), sliced.slices, thread, threads);
    for (auto slice = share.first; slice < share.last; ++slice) {
      const auto rows = std::min(sliced.slice_rows, sliced.rows - slice * sliced.slice_rows);
      for (std::int64_t lane = 0; lane < rows; lane += lanes) multiply_lanes(sliced, slice, lane, alpha, x, beta, y);
    }
  });
}

}  // namespace host

namespace {

template <class T>
std::int64_t layout_slices(const CsrView<T>& matrix, SlicedMatrix<T>& sliced) {
  const auto& layout = sliced.layout;
  sliced.rows = matrix.rows;
  sliced.slice_rows = layout.slice_rows;
  if (layout.slice_rows == 0) {
    // ELLPACK-R's own rule, so that every chunk begins on a boundary that loads like.
    constexpr std::int64_t alignment = 16;
    sliced.slice_rows = std::max(alignment, (matrix.rows + alignment - 1) / alignment * alignment);
    return matrix.rows > 0 ? 1 : 0;
  }
  return (matrix.rows + layout.slice_rows - 1) / layout.slice_rows;
}

// Where work happens decides which of two functions runs; the steps are the same.
template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Place place, Stream stream) {
  const bool sorts = sliced.layout.sort_window > 1 && matrix.rows > 0;
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      if (sorts) sliced.row_order = cuda_steps::sort_rows(matrix, sliced.layout.sort_window, place, stream);
      cuda_steps::count_chunks(matrix, sliced, stream);
      return cuda_steps::scan_chunks(sliced.slice_chunks, stream);
    }
  }
  if (sorts) sliced.row_order = host::sort_rows(matrix, sliced.layout.sort_window);
  host::count_chunks(matrix, sliced);
  return host::scan_chunks(sliced.slice_chunks);
}

template <class T>
double bytes_of_csr(const CsrView<T>& matrix) {
  return csr_bytes<T>(matrix.rows, matrix.nnz);
}

}  // namespace

template <class T>
Result<SlicedMatrix<T>> build_sliced(const CsrView<T>& matrix, const SlicedLayout& layout, const Device& device) {
  const DeviceScope scope(device);
  const auto stream = setup_stream(device);
  SlicedMatrix<T> sliced;
  sliced.layout = layout;
  sliced.slices = layout_slices(matrix, sliced);
  sliced.slice_chunks = Array<std::int32_t>(static_cast<std::size_t>(sliced.slices) + 1, device);
  const auto chunks = lay_out(matrix, sliced, device, stream);
  if (chunks > std::numeric_limits<std::int32_t>::max()) return Refusal{"more than 2^31 chunks of slots"};

  const auto slots = chunks * sliced.slice_rows * layout.threads;
  const double bytes = sliced_bytes<T>(layout, matrix.rows, static_cast<double>(slots));
  if (auto refusal = refuse_allocation(bytes, bytes_of_csr(matrix), device)) return *refusal;
  sliced.columns = Array<std::int32_t>(static_cast<std::size_t>(slots), device);
  sliced.values = Array<T>(static_cast<std::size_t>(slots), device);
  if (layout.keep_lengths) {
    sliced.lengths = Array<std::int32_t>(static_cast<std::size_t>(sliced.slices * sliced.slice_rows), device);
  }
  refresh_sliced(sliced, matrix, device, stream);
  synchronize(device, stream);
  return sliced;
}

template <class T>
void refresh_sliced(SlicedMatrix<T>& sliced, const CsrView<T>& matrix, Place place, Stream stream) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      cuda_steps::fill(matrix, sliced, stream);
      return;
    }
  }
  host::fill(matrix, sliced);
}

template <class T>
void multiply_sliced(const SlicedMatrix<T>& sliced, T alpha, const T* x, T beta, T* y, Place place, Stream stream) {
  if (sliced.rows == 0) return;
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      cuda_steps::multiply(sliced, alpha, x, beta, y, stream);
      return;
    }
  }
  host::multiply(sliced, alpha, x, beta, y);
}

#define AUTOSPMV_SLICED(T)                                                                              \
  template Result<SlicedMatrix<T>> build_sliced(const CsrView<T>&, const SlicedLayout&, const Device&); \
  template void refresh_sliced(SlicedMatrix<T>&, const CsrView<T>&, Place, Stream);                     \
  template void multiply_sliced(const SlicedMatrix<T>&, T, const T*, T, T*, Place, Stream);
AUTOSPMV_SLICED(float)
AUTOSPMV_SLICED(double)
#undef AUTOSPMV_SLICED

}  // namespace autospmv::formats
