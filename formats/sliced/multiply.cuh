// The product, compiled for each type by itself: a process loads the kernels of a file together.
#pragma once

#include <bit>

#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/batches.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/chunks.cuh"
#include "formats/common/kernels/dispatch.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/sliced/convert.hpp"
#include "formats/sliced/device.cuh"

namespace autospmv::formats::cuda_steps {

namespace {

constexpr int default_unroll = 4;

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

}  // namespace autospmv::formats::cuda_steps
