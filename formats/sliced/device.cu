#include <bit>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/batches.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/chunks.cuh"
#include "formats/common/kernels/dispatch.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/sliced/convert.hpp"

namespace autospmv::formats::cuda_steps {

namespace {

constexpr int default_unroll = 4;

// Keys that sort by window, then by decreasing length, for which length_bits are enough.
template <class Key, class Offset>
__global__ void sort_keys_kernel(const Offset* row_ptr, std::int64_t rows, std::int64_t window, int length_bits,
                                 Key* keys, std::int32_t* order) {
  const auto row = cuda::global_thread();
  if (row >= rows) return;
  const auto length = static_cast<Key>(row_ptr[row + 1] - row_ptr[row]);
  const Key longest = (Key{1} << length_bits) - 1;
  keys[row] = static_cast<Key>(row / window) << length_bits | (longest - length);
  order[row] = static_cast<std::int32_t>(row);
}

// What the kernels need of a SlicedMatrix besides its slots, by value.
struct SlicedView {
  std::int64_t rows;
  std::int64_t slice_rows;
  std::int64_t slices;
  std::int64_t width_cap;
  const std::int32_t* slice_chunks;
  const std::int32_t* row_order;  // nullptr: its own
  std::int32_t* lengths;          // nullptr: padding is marked

  __device__ std::int64_t row_at(std::int64_t position) const {
    return row_order == nullptr ? position : row_order[position];
  }
};

template <class T>
SlicedView view_of(const SlicedMatrix<T>& sliced) {
  // The product only reads what conversion writes.
  auto& writable = const_cast<SlicedMatrix<T>&>(sliced);
  return {sliced.rows,
          sliced.slice_rows,
          sliced.slices,
          sliced.layout.width_cap,
          sliced.slice_chunks.data(),
          sliced.row_order.empty() ? nullptr : sliced.row_order.data(),
          sliced.lengths.empty() ? nullptr : writable.lengths.data()};
}

// Many rows a slice: a block of threads a slice, so that a single slice of all rows is counted in parallel too.
template <class Offset>
__global__ void count_chunks_kernel(SlicedView sliced, const Offset* row_ptr, int threads, std::int32_t whole,
                                    std::int32_t* chunks) {
  const auto position = cuda::global_thread();
  if (position >= sliced.rows) return;
  const auto row = sliced.row_at(position);
  const auto length =
      min(static_cast<long long>(row_ptr[row + 1] - row_ptr[row]), static_cast<long long>(sliced.width_cap));
  auto count = static_cast<std::int32_t>((length + threads - 1) / threads);
  if (count > whole / 2) count = (count + whole - 1) / whole * whole;
  std::int32_t* of_slice = chunks + position / sliced.slice_rows;
  // Most rows are no longer than one before them: look before taking the atomic.
  if (count > *static_cast<volatile std::int32_t*>(of_slice)) atomicMax(of_slice, count);
}

// Stands for columns that nobody wants.
struct NoColumns {
  struct Slot {
    __device__ void operator=(std::int32_t /*column*/) const {}
  };
  __device__ Slot operator[](std::int64_t /*slot*/) const { return {}; }
};

// The geometry of the product: thread `lane` of a slice owns the slots lane, lane + C T, ...
template <class T, class Offset, class Columns>
__global__ void fill_kernel(CsrView<T> matrix, const Offset* row_ptr, SlicedView sliced, int threads, Columns columns,
                            T* values) {
  const auto thread = cuda::global_thread();
  const auto position = thread / threads;
  if (position >= sliced.slices * sliced.slice_rows) return;
  const auto slice = position / sliced.slice_rows;
  const auto stride = sliced.slice_rows * threads;
  const auto lane = thread - slice * stride;
  const auto first_entry = thread % threads;
  const auto row = position < sliced.rows ? sliced.row_at(position) : -1;
  const std::int64_t first = row >= 0 ? row_ptr[row] : 0;
  std::int64_t length = row >= 0 ? row_ptr[row + 1] - first : 0;
  if (length > sliced.width_cap) length = sliced.width_cap;
  if (sliced.lengths != nullptr && first_entry == 0) sliced.lengths[position] = static_cast<std::int32_t>(length);
  const std::int64_t start = sliced.slice_chunks[slice];
  const std::int64_t chunks = sliced.slice_chunks[slice + 1] - start;
  // The loads of several chunks are under way together: a store would keep the next ones waiting.
  constexpr int in_flight = 4;
  for (std::int64_t chunk = 0; chunk < chunks; chunk += in_flight) {
    std::int32_t column[in_flight];
    T value[in_flight];
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const auto entry = (chunk + i) * threads + first_entry;
      column[i] = entry < length ? matrix.col_idx[first + entry] : -1;
      value[i] = entry < length ? matrix.values[first + entry] : T{0};
    }
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      if (chunk + i >= chunks) break;
      const auto slot = (start + chunk + i) * stride + lane;
      columns[slot] = column[i];
      values[slot] = value[i];
    }
  }
}

// How the threads of a warp share rows: 2^log_threads neighbours for each, which read the neighbouring slots of a
// chunk, or 2^log_split parts of the warp, which take turns at the chunks of the same rows and so read runs of slots in
// any layout. Not template arguments, as they cost a few shifts among loads.
struct Sharing {
  int log_threads;
  int log_split;

  [[nodiscard]] __device__ int log_rows_of_warp() const { return 5 - log_threads - log_split; }
  [[nodiscard]] __device__ std::int64_t position(std::int64_t thread) const {
    const auto row = static_cast<int>(thread >> log_threads) & ((1 << log_rows_of_warp()) - 1);
    return (thread >> 5 << log_rows_of_warp()) + row;
  }
  /// This thread among those of its row.
  [[nodiscard]] __device__ int neighbour(std::int64_t thread) const {
    return static_cast<int>(thread) & ((1 << log_threads) - 1);
  }
  [[nodiscard]] __device__ int turn(std::int64_t thread) const {
    return static_cast<int>(thread & 31) >> (5 - log_split);
  }
  /// Right in the first thread of each row.
  template <class T>
  [[nodiscard]] __device__ T sum(T value) const {
    for (int lanes = 1 << log_threads >> 1; lanes > 0; lanes >>= 1) {
      value += __shfl_down_sync(cuda::all_lanes, value, static_cast<unsigned>(lanes));
    }
    for (int lanes = 16; lanes >= 32 >> log_split; lanes >>= 1) {
      value += __shfl_down_sync(cuda::all_lanes, value, static_cast<unsigned>(lanes));
    }
    return value;
  }
};

template <int unroll, class T, class Columns, class Values>
__global__ void __launch_bounds__(most_block, 1)
    multiply_kernel(SlicedView sliced, Columns columns, Values values, CachePolicy policy, Sharing sharing, T alpha,
                    const T* x, T beta, T* __restrict__ y) {
  const auto thread = cuda::global_thread();
  const auto position = sharing.position(thread);
  const bool inside = position < sliced.rows;
  const int neighbour = sharing.neighbour(thread);
  const int turn = sharing.turn(thread);
  T sum = 0;
  std::int64_t row = 0;
  if (inside) {
    // All that does not wait for anything comes first.
    const bool marked = sliced.lengths == nullptr;
    row = sliced.row_order == nullptr ? position : load_stream(sliced.row_order + position, policy);
    const int length = marked ? 0 : load_stream(sliced.lengths + position, policy);
    // A division of 64 bits takes as long as a short row.
    const std::int64_t slice =
        sliced.slices == 1 ? 0 : static_cast<std::uint32_t>(position) / static_cast<std::uint32_t>(sliced.slice_rows);
    const auto chunk_slots = sliced.slice_rows << sharing.log_threads;
    const std::int64_t first_chunk = load_stream(sliced.slice_chunks + slice, policy);
    const std::int64_t last_chunk = marked ? load_stream(sliced.slice_chunks + slice + 1, policy) : 0;
    const auto lane = ((position - slice * sliced.slice_rows) << sharing.log_threads) + neighbour;
    const auto slot = (first_chunk + turn) * chunk_slots + lane;
    const auto stride = chunk_slots << sharing.log_split;
    const auto turns = [&](int chunks) { return (chunks - turn + (1 << sharing.log_split) - 1) >> sharing.log_split; };
    columns.open(slice, policy);
    cuda::await_before();
    values.open(policy);
    if (marked) {
      const auto chunks = static_cast<int>(last_chunk - first_chunk);
      sum = sum_batches<unroll, true>(columns, values, slot, slot + turns(chunks) * stride, stride, x);
    } else {
      const int threads = 1 << sharing.log_threads;
      const int chunks = (length - neighbour + threads - 1) >> sharing.log_threads;
      sum = sum_batches<unroll, false>(columns, values, slot, slot + turns(chunks) * stride, stride, x);
    }
  } else {
    cuda::await_before();
  }
  sum = sharing.sum(sum);
  if (inside && neighbour == 0 && turn == 0) store_row(y, row, alpha, sum, beta);
}

constexpr int resident_blocks(bool short_rows) {
  return short_rows ? cuda::resident_blocks(8, cuda::default_block) : 1;
}

// Slices of as many rows as a warp has lanes, whose columns lie by chunk. So few instructions before the first chunk
// and after the last as can be, for short rows have few chunks: a slice has as many parts as a row has threads, in
// steps of which chunks follow one another, and a warp takes one. Where rows are short, all the warps that there is
// room for wait at once; of longer ones, fewer have more loads under way.
template <bool one_thread, bool short_rows, class T, class Values>
__global__ void __launch_bounds__(short_rows ? cuda::default_block : most_block, resident_blocks(short_rows))
    multiply_chunks_kernel(SlicedView sliced, ChunkColumns columns, Values values, CachePolicy policy, int log_threads,
                           T alpha, const T* x, T beta, T* __restrict__ y) {
  const auto lane = static_cast<int>(threadIdx.x % cuda::warp_size);
  const auto part = static_cast<std::uint32_t>(cuda::global_thread() / cuda::warp_size);
  if constexpr (one_thread) log_threads = 0;
  const int parts = 1 << log_threads;
  const auto slice = part >> log_threads;
  if (slice >= static_cast<std::uint32_t>(sliced.slices)) return cuda::await_before();
  const auto first = load_stream(sliced.slice_chunks + slice, policy);
  const auto last = load_stream(sliced.slice_chunks + slice + 1, policy);
  const auto position = (static_cast<std::int64_t>(part) * cuda::warp_size + lane) >> log_threads;
  const bool inside = position < sliced.rows;
  const auto row = inside && sliced.row_order != nullptr ? load_stream(sliced.row_order + position, policy) : position;
  const auto chunk = static_cast<std::int64_t>(first) * parts + (part & (parts - 1));
  columns.open(slice, policy);
  cuda::await_before();
  values.open(policy);
  T sum = 0;
  if constexpr (one_thread) {
    sum = sum_chunks(columns, values, chunk, last - first, NextChunk{}, lane, x);
  } else {
    sum = sum_lanes(sum_chunks(columns, values, chunk, last - first, parts, lane, x), parts);
  }
  if (inside && lane % parts == 0) store_row(y, row, alpha, sum, beta);
}

}  // namespace

template <class T>
Array<std::int32_t> sort_rows(const CsrView<T>& matrix, std::int64_t window, Place place, Stream stream) {
  const auto rows = static_cast<std::size_t>(matrix.rows);
  Array<std::int32_t> order(rows, place);
  if (rows == 0) return order;
  const int length_bits = std::bit_width(static_cast<std::uint64_t>(matrix.nnz));
  const int window_bits = std::bit_width(static_cast<std::uint64_t>((matrix.rows - 1) / window));
  const auto sort_by = [&](auto keys) {
    with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
      sort_keys_kernel<<<cuda::grid_for(matrix.rows), cuda::default_block, 0, stream.handle>>>(
          row_ptr, matrix.rows, window, length_bits, keys.data(), order.data());
    });
    cuda::check_launch();
    cuda::sort_pairs(keys, order, window_bits + length_bits, stream);
  };
  // The sort passes over all keys for every few bits of them, so bits that all share are left out.
  if (window_bits + length_bits < 32) {
    sort_by(Array<std::uint32_t>(rows, place));
  } else {
    sort_by(Array<std::uint64_t>(rows, place));
  }
  return order;
}

template <class T>
void count_chunks(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Stream stream) {
  fill_bytes(sliced.slice_chunks.data(), 0, static_cast<std::size_t>(sliced.slice_chunks.bytes()),
             sliced.slice_chunks.place(), stream);
  if (matrix.rows == 0) return;
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    count_chunks_kernel<<<cuda::grid_for(matrix.rows), cuda::default_block, 0, stream.handle>>>(
        view_of(sliced), row_ptr, static_cast<int>(sliced.layout.threads),
        static_cast<std::int32_t>(sliced.layout.whole_chunks), sliced.slice_chunks.data());
  });
  cuda::check_launch();
}

template <class T>
void fill(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream) {
  const auto threads = static_cast<int>(sliced.layout.threads);
  const auto grid = cuda::grid_for(sliced.slices * sliced.slice_rows * threads);
  const auto fill_with = [&](auto to) {
    with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
      fill_kernel<<<grid, cuda::default_block, 0, stream.handle>>>(matrix, row_ptr, view_of(sliced), threads, to,
                                                                   values.data());
    });
    cuda::check_launch();
  };
  if (columns.empty()) {
    fill_with(NoColumns{});
  } else {
    fill_with(columns.data());
  }
}

template <class T>
void multiply(const SlicedMatrix<T>& sliced, T alpha, const T* x, T beta, T* y, Stream stream) {
  const auto& layout = sliced.layout;
  const auto log = [](std::int64_t power) { return std::countr_zero(static_cast<std::uint64_t>(power)); };
  const Sharing sharing{log(layout.threads), log(layout.split)};
  const auto grid = cuda::grid_for(sliced.rows * layout.threads * layout.split, layout.block);
  const auto policy = policy_for<T>(sliced.bytes(), sliced.rows, sliced.cols);
  if (layout.column_bits == columns_by_chunk) {
    constexpr std::int64_t few_chunks = 8;
    const bool short_rows = layout.block <= cuda::default_block && sliced.slots <= few_chunks * sliced.rows;
    with_values(sliced.values, [&](auto values) {
      using Values = decltype(values);
      const auto kernel = layout.threads > 1 ? multiply_chunks_kernel<false, false, T, Values>
                          : short_rows       ? multiply_chunks_kernel<true, true, T, Values>
                                             : multiply_chunks_kernel<true, false, T, Values>;
      cuda::launch_early(kernel, grid, layout.block, 0, stream, view_of(sliced), ChunkColumns::of(sliced.columns),
                         values, policy, sharing.log_threads, alpha, x, beta, y);
    });
  } else if (layout.unroll != default_unroll) {
    dispatch<2, 8>(layout.unroll, [&](auto unroll) {
      cuda::launch_early(multiply_kernel<unroll.value, T, FullColumns, FullValues<T>>, grid, layout.block, 0, stream,
                         view_of(sliced), FullColumns{sliced.columns.full.data()},
                         FullValues<T>{sliced.values.full.data()}, policy, sharing, alpha, x, beta, y);
    });
  } else {
    with_columns(sliced.columns, [&](auto columns) {
      with_values(sliced.values, [&](auto values) {
        cuda::launch_early(multiply_kernel<default_unroll, T, decltype(columns), decltype(values)>, grid, layout.block,
                           0, stream, view_of(sliced), columns, values, policy, sharing, alpha, x, beta, y);
      });
    });
  }
}

#define AUTOSPMV_SLICED(T)                                                                          \
  template Array<std::int32_t> sort_rows(const CsrView<T>&, std::int64_t, Place, Stream);           \
  template void count_chunks(const CsrView<T>&, SlicedMatrix<T>&, Stream);                          \
  template void fill(const CsrView<T>&, SlicedMatrix<T>&, Array<std::int32_t>&, Array<T>&, Stream); \
  template void multiply(const SlicedMatrix<T>&, T, const T*, T, T*, Stream);
AUTOSPMV_SLICED(float)
AUTOSPMV_SLICED(double)
#undef AUTOSPMV_SLICED

}  // namespace autospmv::formats::cuda_steps
