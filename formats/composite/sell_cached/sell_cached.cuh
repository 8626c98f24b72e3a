// Conversion and product, compiled for each type by itself: a process loads the kernels of a file together.
#pragma once

#include <cuda_pipeline.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include <cub/block/block_radix_sort.cuh>

#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/machine/offsets.hpp"
#include "core/search.hpp"
#include "formats/common/encoding/writers.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/common/row_length.hpp"
#include "formats/composite/sell_cached/sell_cached.hpp"

namespace autospmv::formats::sell_cached::device {

namespace {

using namespace formats::device;

static_assert(warp_lanes == cuda::warp_size);

// ---- Conversion

// A thread a row, whose columns are in order, or it is found later that they are not.
template <class Offset>
__global__ void cut_rows_kernel(const Offset* row_ptr, const std::int32_t* col_idx, Layout layout,
                                std::int32_t* begins) {
  const auto row = cuda::global_thread();
  if (row >= layout.rows) return;
  const std::int32_t* const columns = col_idx + row_ptr[row];
  const auto length = static_cast<std::int32_t>(row_length(row_ptr, row));
  std::int32_t begin = 0;
  for (std::int64_t block = 1; block < layout.blocks; ++block) {
    const auto column = layout.first_column(block);
    begin = partition_point(begin, length, [&](std::int32_t entry) { return columns[entry] < column; });
    begins[(block - 1) * layout.rows + row] = begin;
  }
}

// Entries of the matrix.
struct Segment {
  std::int64_t first;
  std::int64_t length;
};

// What a block has of a row or a piece, one of the parts of the matrix. A long row has nothing but its pieces.
struct Parts {
  Layout layout;
  const std::int32_t* begins;
  const std::int32_t* first_piece;  // nullptr where no row is long
  const Piece* pieces;

  [[nodiscard]] __device__ int pieces_of(std::int64_t row) const {
    return first_piece == nullptr ? 0 : first_piece[row + 1] - first_piece[row];
  }
  // Of a row, which entry of it is the first of a block; of all blocks, how many it has.
  template <class Offset>
  [[nodiscard]] __device__ std::int64_t begin_of(const Offset* row_ptr, std::int64_t row, std::int64_t block) const {
    if (block == 0) return 0;
    return block == layout.blocks ? row_length(row_ptr, row) : begins[(block - 1) * layout.rows + row];
  }
  template <class Offset>
  [[nodiscard]] __device__ Segment segment(const Offset* row_ptr, std::int64_t block, std::int64_t part) const {
    if (part >= layout.parts()) return {0, 0};
    const bool is_piece = part >= layout.rows;
    const auto piece = is_piece ? pieces[part - layout.rows] : Piece{static_cast<std::int32_t>(part), 0};
    const auto count = pieces_of(piece.row);
    if (!is_piece && count > 0) return {0, 0};
    const auto begin = begin_of(row_ptr, piece.row, block);
    const auto length = begin_of(row_ptr, piece.row, block + 1) - begin;
    const auto first = static_cast<std::int64_t>(row_ptr[piece.row]) + begin;
    if (!is_piece) return {first, length};
    const auto from = length * piece.number / count;
    return {first + from, length * (piece.number + 1) / count - from};
  }
};

template <class T>
Parts parts_of(const CachedSell<T>& sell) {
  return {sell.layout, sell.begins.data(), sell.first_piece.empty() ? nullptr : sell.first_piece.data(),
          sell.pieces.data()};
}

template <class Offset>
__global__ void count_pieces_kernel(const Offset* row_ptr, Layout layout, std::int32_t* counts) {
  const auto row = cuda::global_thread();
  if (row >= layout.rows) return;
  counts[row] = static_cast<std::int32_t>(layout.pieces_of(row_length(row_ptr, row)));
}

__global__ void list_pieces_kernel(Layout layout, const std::int32_t* first_piece, Piece* pieces) {
  const auto row = cuda::global_thread();
  if (row >= layout.rows) return;
  const auto first = first_piece[row];
  for (auto piece = first; piece < first_piece[row + 1]; ++piece) {
    pieces[piece] = {static_cast<std::int32_t>(row), piece - first};
  }
}

// What rows of a window are sorted by: how much shorter they are than the longest that are told apart, and behind it
// their place in the window, which goes with it.
struct SortKey {
  static constexpr int length_bits = 12;
  static constexpr int place_bits = std::bit_width(static_cast<std::uint64_t>(window_rows - 1));
  static constexpr int longest = (1 << length_bits) - 1;

  static __device__ std::uint32_t of(std::int32_t length, int place) {
    return static_cast<std::uint32_t>(longest - min(length, longest)) << place_bits | static_cast<std::uint32_t>(place);
  }
  static __device__ int place_of(std::uint32_t key) { return static_cast<int>(key & (window_rows - 1)); }
};

constexpr int places_of_thread = 4;
constexpr int sort_threads = static_cast<int>(window_rows) / places_of_thread;

// A block of threads a window of a block of columns: which part stands at each position, and the chunks of each slice.
template <class Offset>
__global__ void __launch_bounds__(sort_threads) lay_out_kernel(const Offset* row_ptr, Parts parts, std::int64_t windows,
                                                               std::int32_t* part_order, std::int32_t* slice_chunks) {
  using Sort = cub::BlockRadixSort<std::uint32_t, sort_threads, places_of_thread>;
  __shared__ typename Sort::TempStorage storage;
  __shared__ std::int32_t lengths[window_rows];
  __shared__ std::int32_t sorted[window_rows];
  const auto& layout = parts.layout;
  const int thread = static_cast<int>(threadIdx.x);
  const auto block = blockIdx.x / windows;
  const auto first = (blockIdx.x - block * windows) * window_rows;
  for (int place = thread; place < window_rows; place += sort_threads) {
    lengths[place] = static_cast<std::int32_t>(parts.segment(row_ptr, block, first + place).length);
  }
  __syncthreads();
  std::uint32_t keys[places_of_thread];
  for (int i = 0; i < places_of_thread; ++i) {
    const int place = places_of_thread * thread + i;
    keys[i] = SortKey::of(lengths[place], place);
  }
  const int rows = layout.slice_rows();
  // What is no part is as short as any, and the last.
  if (rows > 1) Sort(storage).Sort(keys, SortKey::place_bits, SortKey::place_bits + SortKey::length_bits);
  for (int i = 0; i < places_of_thread; ++i) {
    const int at = places_of_thread * thread + i;
    const int place = SortKey::place_of(keys[i]);
    const auto part = first + place;
    sorted[at] = lengths[place];
    if (first + at >= layout.positions()) continue;
    part_order[block * layout.positions() + first + at] = part < layout.parts() ? static_cast<std::int32_t>(part) : -1;
  }
  __syncthreads();
  const auto first_slice = first / rows;
  const auto of_chunk = static_cast<std::int32_t>(layout.entries_of_chunk());
  for (int slice = thread; slice < window_rows / rows && first_slice + slice < layout.slices; slice += sort_threads) {
    std::int32_t longest = 0;
    for (int i = 0; i < rows; ++i) longest = max(longest, sorted[slice * rows + i]);
    slice_chunks[block * layout.slices + first_slice + slice] = (longest + of_chunk - 1) / of_chunk;
  }
}

// Columns from the first of the block on.
struct WordWriter {
  std::uint16_t* to;
  Misfits* misfits;
  std::int32_t first = 0;
  std::int32_t count = 0;

  __device__ void open(std::int64_t first_column, std::int64_t columns) {
    first = static_cast<std::int32_t>(first_column);
    count = static_cast<std::int32_t>(columns);
  }
  [[nodiscard]] __device__ std::uint16_t word_of(std::int32_t column) const {
    if (column >= 0 && (column < first || column - first >= count)) misfits->columns = 1;
    return static_cast<std::uint16_t>(column < 0 ? count : column - first);
  }
  __device__ void put_two(std::int64_t slot, std::int32_t one, std::int32_t other) const {
    *reinterpret_cast<Two<std::uint16_t>*>(to + slot) = {word_of(one), word_of(other)};
  }
};

// A warp a slice.
template <class T, class Offset, class Columns, class Values>
__global__ void fill_kernel(CsrView<T> matrix, const Offset* row_ptr, Parts parts, const std::int32_t* slice_chunks,
                            const std::int32_t* part_order, Columns columns, Values values) {
  const auto& layout = parts.layout;
  const auto slice = cuda::global_thread() / warp_lanes;
  if (slice >= layout.all_slices()) return;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const auto block = slice / layout.slices;
  if constexpr (std::is_same_v<Columns, WordWriter>) columns.open(layout.first_column(block), layout.columns_of(block));
  const auto part = part_order[slice * layout.slice_rows() + lane / layout.threads];
  const auto segment = part < 0 ? Segment{0, 0} : parts.segment(row_ptr, block, part);
  const auto column_of = [&](std::int64_t entry) {
    return entry < segment.length ? matrix.col_idx[segment.first + entry] : -1;
  };
  const auto value_of = [&](std::int64_t entry) {
    return entry < segment.length ? matrix.values[segment.first + entry] : T{0};
  };
  auto entry = static_cast<std::int64_t>(lane % layout.threads) * slots_of_lane;
  const std::int64_t last = slice_chunks[slice + 1];
  // The loads of several chunks are under way together: a store would keep the next ones waiting.
  constexpr int in_flight = 4;
  for (std::int64_t chunk = slice_chunks[slice]; chunk < last; chunk += in_flight) {
    Two<std::int32_t> column[in_flight];
    Two<T> value[in_flight];
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      column[i] = {column_of(entry), column_of(entry + 1)};
      value[i] = {value_of(entry), value_of(entry + 1)};
      entry += layout.entries_of_chunk();
    }
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      if (chunk + i >= last) break;
      const auto slot = ((chunk + i) * warp_lanes + lane) * slots_of_lane;
      columns.put_two(slot, column[i].first, column[i].second);
      values.put_two(slot, value[i].first, value[i].second);
    }
  }
}

template <class T, class Columns, class Values>
void launch_fill(const CsrView<T>& matrix, const CachedSell<T>& sell, const Columns& columns, const Values& values,
                 Stream stream) {
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    fill_kernel<<<cuda::grid_for(sell.layout.all_slices() * warp_lanes), cuda::default_block, 0,
                  cuda::InTurn(stream)>>>(matrix, row_ptr, parts_of(sell), sell.slice_chunks.data(),
                                          sell.part_order.data(), columns, values);
  });
  cuda::check_launch();
}

// What slices before this one take: chunks, something for each slice, and a copy of x for each block of columns.
__device__ double work_before(const Layout& layout, const std::int32_t* slice_chunks, std::int64_t slice,
                              double chunks_of_copy) {
  constexpr double chunks_of_slice = 3;
  const auto block = slice / layout.slices;
  return static_cast<double>(slice_chunks[slice]) + chunks_of_slice * static_cast<double>(slice) +
         chunks_of_copy * static_cast<double>(block);
}

// A thread a block of threads of the product, and one more.
__global__ void deal_slices_kernel(Layout layout, const std::int32_t* slice_chunks, double chunks_of_copy,
                                   std::int64_t thread_blocks, std::int32_t* first_slice) {
  const auto block = cuda::global_thread();
  if (block > thread_blocks) return;
  const auto slices = layout.all_slices();
  const double all = work_before(layout, slice_chunks, slices, chunks_of_copy);
  const double before = all * static_cast<double>(block) / static_cast<double>(thread_blocks);
  const auto slice = partition_point(std::int64_t{0}, slices, [&](std::int64_t at) {
    return work_before(layout, slice_chunks, at, chunks_of_copy) < before;
  });
  first_slice[block] = static_cast<std::int32_t>(block == thread_blocks ? slices : slice);
}

// ---- Product

template <class T>
struct View {
  const T* x;
  T* y;
  T alpha;
  T beta;
  T* sums;  // of all parts in all blocks of columns; nullptr where rows of a single block are whole
  Layout layout;
  int log_threads;
  const std::int32_t* slice_chunks;
  const std::int32_t* part_order;
  const std::int32_t* first_slice;
  const std::uint16_t* columns;
  CachePolicy policy;
};

// All threads of a block copy a part of x, and what stands behind it for padding. Nobody waits for it here.
template <class T>
__device__ void copy_part(T* to, const T* from, int count) {
  using Word = int4;
  constexpr int per_word = static_cast<int>(sizeof(Word) / sizeof(T));
  const int thread = static_cast<int>(threadIdx.x);
  const int words = reinterpret_cast<std::uintptr_t>(from) % sizeof(Word) == 0 ? count / per_word : 0;
  for (int i = thread; i < words; i += block_threads) {
    __pipeline_memcpy_async(reinterpret_cast<Word*>(to) + i, reinterpret_cast<const Word*>(from) + i, sizeof(Word));
  }
  for (int i = words * per_word + thread; i < count; i += block_threads) {
    __pipeline_memcpy_async(to + i, from + i, sizeof(T));
  }
  __pipeline_commit();
  if (thread == 0) to[count] = T{0};
}

constexpr int log_lanes = 5;
static_assert(1 << log_lanes == warp_lanes);

// Chunks of a slice whose loads are under way together.
constexpr int chunks_at_once = 4;

// Where a slice lies, and the part that a lane stores the sum of.
struct SliceHead {
  std::int32_t chunk = 0;
  std::int32_t last = 0;
  std::int32_t part = -1;

  template <class T>
  __device__ __forceinline__ void load(const View<T>& sell, int slice, int lane) {
    const int log_rows = log_lanes - sell.log_threads;
    chunk = load_stream(sell.slice_chunks + slice, sell.policy);
    last = load_stream(sell.slice_chunks + slice + 1, sell.policy);
    if (lane >> log_rows == 0) {
      part = load_stream(sell.part_order + (static_cast<std::int64_t>(slice) << log_rows) + lane, sell.policy);
    }
  }
};

// What a lane has of a slice: its next chunks, with their columns.
struct LaneOfSlice {
  SliceHead head;
  Two<std::uint16_t> column[chunks_at_once];

  // Where a slice ends, padding follows.
  template <class T>
  __device__ __forceinline__ void load_columns(const View<T>& sell, int lane, std::uint16_t padding) {
#pragma unroll
    for (int i = 0; i < chunks_at_once; ++i) {
      column[i] = {padding, padding};
      if (head.chunk + i < head.last) column[i] = load_two(sell.columns, slot(i, lane), sell.policy);
    }
  }
  [[nodiscard]] __device__ __forceinline__ std::int64_t slot(int i, int lane) const {
    return (static_cast<std::int64_t>(head.chunk) + i) * Layout::chunk_slots() + slots_of_lane * lane;
  }
  // The products of the chunks that are loaded, from a part of x.
  template <class T, class Values>
  __device__ __forceinline__ T sum(const Values& values, const T* x, int lane, std::uint16_t padding) const {
    Two<T> value[chunks_at_once];
#pragma unroll
    for (int i = 0; i < chunks_at_once; ++i) {
      value[i] = {T{0}, T{0}};
      if (head.chunk + i < head.last) value[i] = values.two_at(slot(i, lane));
    }
    T sum = 0;
    T other = 0;
#pragma unroll
    for (int i = 0; i < chunks_at_once; ++i) {
      // Where all have one value, padding has it too, be it infinite.
      constexpr bool one_value = std::is_same_v<Values, OneValue<T>>;
      sum += (one_value && column[i].first == padding ? T{0} : value[i].first) * x[column[i].first];
      other += (one_value && column[i].second == padding ? T{0} : value[i].second) * x[column[i].second];
    }
    return sum + other;
  }
};

AUTOSPMV_HD constexpr std::int64_t warps_of(std::int64_t threads) { return (threads + warp_lanes - 1) / warp_lanes; }

// A block of threads a multiprocessor; its warps take its slices as they come. Where a slice lies is loaded while the
// one before it is multiplied, so that its columns and values wait for nothing.
template <class T, class Values>
__global__ void __launch_bounds__(block_threads, 1) multiply_kernel(View<T> sell, Values values) {
  // x comes first, where a sector of it is one of shared memory as well: copies take twice as long where it is not.
  extern __shared__ int4 shared[];
  const auto& layout = sell.layout;
  T* const x = reinterpret_cast<T*>(shared);
  int& next_slice = *reinterpret_cast<int*>(x + layout.width + 1);
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  constexpr int warps = block_threads / warp_lanes;
  const int slices = static_cast<int>(layout.slices);
  const int first_slice = sell.first_slice[blockIdx.x];
  const int last_slice = sell.first_slice[blockIdx.x + 1];
  bool awaited = false;
  for (int block = first_slice / slices; block * slices < last_slice; ++block) {
    const int end = min(last_slice, (block + 1) * slices);
    const int begin = max(first_slice, block * slices);
    int slice = begin + warp;
    const auto count = static_cast<int>(layout.columns_of(block));
    const auto padding = static_cast<std::uint16_t>(count);
    LaneOfSlice of_lane;
    if (slice < end) of_lane.head.load(sell, slice, lane);
    of_lane.load_columns(sell, lane, padding);
    if (!awaited) {
      cuda::await_before();
      values.open(sell.policy);
      awaited = true;
    } else {
      __syncthreads();  // nobody reads the part of the block before
    }
    if (threadIdx.x == 0) next_slice = begin + warps;
    copy_part(x, sell.x + layout.first_column(block), count);
    __pipeline_wait_prior(0);
    __syncthreads();
    while (slice < end) {
      if (lane == 0) slice = atomicAdd(&next_slice, 1);
      slice = __shfl_sync(cuda::all_lanes, slice, 0);
      SliceHead next;
      if (slice < end) next.load(sell, slice, lane);
      T sum = 0;
      while (of_lane.head.chunk < of_lane.head.last) {
        sum += of_lane.sum(values, x, lane, padding);
        of_lane.head.chunk += chunks_at_once;
        of_lane.load_columns(sell, lane, padding);
      }
      const auto part = of_lane.head.part;
      of_lane.head = next;
      of_lane.load_columns(sell, lane, padding);
      // The sum of row i is in the lanes from i T on, and is stored by lane i.
      if (sell.log_threads > 0) {
        sum = sum_lanes(sum, 1 << sell.log_threads);
        sum = __shfl_sync(cuda::all_lanes, sum, lane << sell.log_threads & (warp_lanes - 1));
      }
      if (part < 0) continue;
      if (sell.sums == nullptr) {
        store_row(sell.y, part, sell.alpha, sum, sell.beta);
      } else {
        sell.sums[block * layout.parts() + part] = sum;
      }
    }
  }
  if (!awaited) cuda::await_before();
}

// A thread a row, and behind them, in whole warps, a warp a piece, of which the first of a row adds up all of it.
template <class T>
__global__ void add_sums_kernel(const T* sums, Parts parts, T alpha, T beta, T* y) {
  cuda::await_before();
  const auto& layout = parts.layout;
  const auto row_threads = warps_of(layout.rows) * warp_lanes;
  const auto thread = cuda::global_thread();
  T sum = 0;
  if (thread < row_threads) {
    if (thread >= layout.rows || parts.pieces_of(thread) > 0) return;
    for (std::int64_t block = 0; block < layout.blocks; ++block) sum += sums[block * layout.parts() + thread];
    store_row(y, thread, alpha, sum, beta);
    return;
  }
  const auto number = (thread - row_threads) / warp_lanes;
  if (number >= layout.pieces) return;
  const auto piece = parts.pieces[number];
  if (piece.number > 0) return;
  const int lane = static_cast<int>(thread) % warp_lanes;
  const auto count = parts.pieces_of(piece.row);
  for (std::int64_t i = lane; i < count * layout.blocks; i += warp_lanes) {
    sum += sums[i / count * layout.parts() + layout.rows + number + i % count];
  }
  sum = sum_lanes<warp_lanes>(sum);
  if (lane == 0) store_row(y, piece.row, alpha, sum, beta);
}

}  // namespace

template <class T>
void cut_rows(const CsrView<T>& matrix, CachedSell<T>& sell, Place place, Stream stream) {
  auto& layout = sell.layout;
  sell.begins = Array<std::int32_t>(static_cast<std::size_t>((layout.blocks - 1) * layout.rows), place);
  Array<std::int32_t> first_piece(static_cast<std::size_t>(layout.rows) + 1, place);
  const auto grid = cuda::grid_for(layout.rows);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    if (layout.blocks > 1) {
      cut_rows_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(row_ptr, matrix.col_idx, layout,
                                                                              sell.begins.data());
    }
    count_pieces_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(row_ptr, layout, first_piece.data());
  });
  cuda::check_launch();
  layout.set_pieces(offsets_from_counts(first_piece, stream));
  if (layout.pieces == 0) return;
  sell.pieces = Array<Piece>(static_cast<std::size_t>(layout.pieces), place);
  list_pieces_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(layout, first_piece.data(),
                                                                             sell.pieces.data());
  cuda::check_launch();
  sell.first_piece = std::move(first_piece);
}

template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, CachedSell<T>& sell, Place place, Stream stream) {
  const auto& layout = sell.layout;
  const auto windows = (layout.positions() + window_rows - 1) / window_rows;
  sell.part_order = Array<std::int32_t>(static_cast<std::size_t>(layout.blocks * layout.positions()), place);
  sell.slice_chunks = Array<std::int32_t>(static_cast<std::size_t>(layout.all_slices()) + 1, place);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    lay_out_kernel<<<static_cast<unsigned>(layout.blocks * windows), sort_threads, 0, cuda::InTurn(stream)>>>(
        row_ptr, parts_of(sell), windows, sell.part_order.data(), sell.slice_chunks.data());
  });
  cuda::check_launch();
  return offsets_from_counts(sell.slice_chunks, stream);
}

template <class T>
void deal_slices(CachedSell<T>& sell, std::int64_t thread_blocks, std::int64_t shared_bytes, Place place,
                 Stream stream) {
  // What a block of threads moves while it copies a part of x.
  constexpr double bytes_of_chunk = 1600;
  const double chunks_of_copy = static_cast<double>(sell.layout.width) * sizeof(T) / bytes_of_chunk;
  sell.first_slice = Array<std::int32_t>(static_cast<std::size_t>(thread_blocks) + 1, place);
  deal_slices_kernel<<<cuda::grid_for(thread_blocks + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      sell.layout, sell.slice_chunks.data(), chunks_of_copy, thread_blocks, sell.first_slice.data());
  cuda::check_launch();
  with_values(sell.values, [&](auto values) {
    cuda::check(cudaFuncSetAttribute(multiply_kernel<T, decltype(values)>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared_bytes)));
  });
}

template <class T>
Fit store(const CsrView<T>& matrix, CachedSell<T>& sell, Place place, Stream stream) {
  Array<Misfits> misfits(1, place);
  fill_bytes(misfits.data(), 0, sizeof(Misfits), place, stream);
  sell.columns.bits = 16;
  sell.columns.words = Array<std::uint16_t>(static_cast<std::size_t>(sell.slots), place);
  const WordWriter columns{sell.columns.words.data(), misfits.data()};
  const bool fits =
      with_value_writer(sell.values, matrix, sell.slots, value_bits_of<T>(sell.layout.value_bits), misfits.data(),
                        place, stream, [&](const auto& values) { launch_fill(matrix, sell, columns, values, stream); });
  if (!fits) return Fit::not_values;
  return fit_of(misfits);
}

template <class T>
void fill(const CsrView<T>& matrix, const CachedSell<T>& sell, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream) {
  with_full_writers(columns, values, [&](const auto& to_columns, const auto& to_values) {
    launch_fill(matrix, sell, to_columns, to_values, stream);
  });
}

template <class T>
void multiply(const CachedSell<T>& sell, T alpha, const T* x, T beta, T* y, Stream stream) {
  const auto& layout = sell.layout;
  const auto blocks = static_cast<unsigned>(sell.first_slice.size() - 1);
  const auto shared_bytes = static_cast<std::size_t>(layout.width + 2) * sizeof(T);
  // The sums of blocks, which are read as soon as they are written, want their place in the L2 as vectors do.
  const auto sum_bytes = sell.sums ? layout.blocks * layout.parts() * static_cast<std::int64_t>(sizeof(T)) : 0;
  const auto vector_bytes = (layout.rows + layout.cols) * static_cast<std::int64_t>(sizeof(T));
  const auto policy = share_cache(sell.stored_bytes(), vector_bytes + sum_bytes, cuda::cache_bytes());
  const auto launch = [&](T* sums) {
    const View<T> view{.x = x,
                       .y = y,
                       .alpha = alpha,
                       .beta = beta,
                       .sums = sums,
                       .layout = layout,
                       .log_threads = std::countr_zero(static_cast<unsigned>(layout.threads)),
                       .slice_chunks = sell.slice_chunks.data(),
                       .part_order = sell.part_order.data(),
                       .first_slice = sell.first_slice.data(),
                       .columns = sell.columns.words.data(),
                       .policy = policy};
    with_values(sell.values, [&](auto values) {
      cuda::launch_early(multiply_kernel<T, decltype(values)>, blocks, block_threads, shared_bytes, stream, view,
                         values);
    });
  };
  if (!sell.sums) return launch(nullptr);
  sell.sums->use(stream, [&](BlockSums<T>& sums) {
    launch(sums.data());
    cuda::launch_early(add_sums_kernel<T>, cuda::grid_for((warps_of(layout.rows) + layout.pieces) * warp_lanes),
                       cuda::default_block, 0, stream, static_cast<const T*>(sums.data()), parts_of(sell), alpha, beta,
                       y);
  });
}

}  // namespace autospmv::formats::sell_cached::device
