#include <numeric>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/search.hpp"
#include "formats/blocks/convert.hpp"
#include "formats/blocks/device.cuh"
#include "formats/blocks/rows.cuh"

namespace autospmv::formats::cuda_steps {

namespace {

__global__ void count_chunks_kernel(const std::int32_t* block_ptr, std::int64_t block_rows, std::int64_t slice,
                                    std::int32_t* chunks) {
  const auto block_row = cuda::global_thread();
  if (block_row >= block_rows) return;
  const auto count = block_ptr[block_row + 1] - block_ptr[block_row];
  std::int32_t* of_slice = chunks + block_row / slice;
  // Most block rows are no longer than one before them: look before taking the atomic.
  if (count > *static_cast<volatile std::int32_t*>(of_slice)) atomicMax(of_slice, count);
}

// A thread takes the same lane of a few chunks, so that it searches for its slice once.
constexpr int chunks_of_thread = 8;

__global__ void place_blocks_kernel(BlockView blocks, const std::int32_t* block_ptr, const std::int32_t* from,
                                    std::int64_t chunks, std::int32_t* to) {
  const auto blocks_of_slice = static_cast<std::uint32_t>((blocks.slice + blockDim.x - 1) / blockDim.x);
  const auto turn = blockIdx.x / blocks_of_slice;
  const auto lane = static_cast<std::int64_t>(blockIdx.x - turn * blocks_of_slice) * blockDim.x + threadIdx.x;
  auto chunk = (static_cast<std::int64_t>(turn) * blockDim.y + threadIdx.y) * chunks_of_thread;
  if (lane >= blocks.slice || chunk >= chunks) return;
  const auto last = min(static_cast<long long>(chunk + chunks_of_thread), static_cast<long long>(chunks));
  auto slice = part_of(blocks.slice_chunks, blocks.slices, chunk);
  for (; chunk < last; ++chunk) {
    while (chunk >= blocks.slice_chunks[slice + 1]) ++slice;
    const auto block_row = slice * blocks.slice + lane;
    const auto block = chunk - blocks.slice_chunks[slice];
    const bool inside = block_row < blocks.block_rows && block < block_ptr[block_row + 1] - block_ptr[block_row];
    to[chunk * blocks.slice + lane] = inside ? from[block_ptr[block_row] + block] : -1;
  }
}

// Block column of padding, past every other.
constexpr std::uint32_t padding_block = 0xffffffffU;

// Slots that a thread has room for in shared memory, and tiles of so many for all its threads that a group may take.
template <class T>
constexpr int slots_of_thread = 160 / static_cast<int>(sizeof(T));
constexpr int most_tiles = 8;

// The smallest block has four slots.
template <class T>
constexpr int blocks_of_thread = slots_of_thread<T> / 4;

// How the slots of a few neighbouring block rows of a slice lie: chunk by chunk, in a chunk one plane of rows after
// another, a column each.
struct Grouping {
  int together;  // block rows of a group
  std::int64_t groups;
  std::int64_t plane;  // rows of a plane in memory,
  int width;           // and those that are the group's
  Divisor by_width;
  bool sorted_rows;

  /// Rows of a plane in shared memory: an odd number, so that those of a row lie in different banks.
  [[nodiscard]] AUTOSPMV_HD int pitch() const { return width | 1; }
  template <int Threads, class T>
  [[nodiscard]] __device__ int chunks_of_tile(int c) const {
    return Threads * slots_of_thread<T> / (pitch() * c);
  }
};

// Blocks of a block row as they are stored, so far apart. Padding is past every block.
struct StoredBlocks {
  const std::int32_t* columns;
  std::int64_t apart;
  int count;

  __device__ std::uint32_t operator[](int i) const { return static_cast<std::uint32_t>(columns[i * apart]); }
};

// A copy of them.
struct ListedBlocks {
  const std::int32_t* columns;
  int count;

  __device__ std::uint32_t operator[](int i) const { return static_cast<std::uint32_t>(columns[i]); }
};

struct Group {
  std::int64_t first_block_row;
  std::int64_t end_block_row;
  std::int64_t lane;    // of the first in its slice
  std::int64_t start;   // the first chunk of the slice
  std::int64_t chunks;  // of it

  /// The first slot.
  __device__ std::int64_t offset(const BlockView& blocks) const {
    return (start * blocks.c * blocks.slice + lane) * blocks.r;
  }
  /// All blocks of a block row.
  __device__ StoredBlocks blocks_of(const BlockView& blocks, std::int64_t block_row) const {
    const auto* const columns = blocks.block_columns + start * blocks.slice + lane + (block_row - first_block_row);
    return {columns, blocks.slice, static_cast<int>(chunks)};
  }
};

__device__ Group group_at(const BlockView& blocks, const Grouping& grouping, std::int64_t at) {
  Group group;
  group.first_block_row = at * grouping.together;
  group.end_block_row = group.first_block_row + grouping.together;
  // A division of 64 bits would cost more than all the rest.
  const std::int64_t slice =
      static_cast<std::uint32_t>(group.first_block_row) / static_cast<std::uint32_t>(blocks.slice);
  group.lane = group.first_block_row - slice * blocks.slice;
  group.start = blocks.slice_chunks[slice];
  group.chunks = blocks.slice_chunks[slice + 1] - group.start;
  return group;
}

// The place of a block that is there, or any. The first step is the largest power of two that the blocks have room for.
template <class Blocks>
__device__ __forceinline__ int find(const Blocks& blocks, std::uint32_t block, int first_step) {
  int at = 0;
  for (int step = first_step; step != 0; step >>= 1) {
    const int next = at + step;
    if (next < blocks.count && blocks[next] <= block) at = next;
  }
  return at;
}

// Planes of some chunks, that hold nothing yet.
template <class T, class Stride>
struct Planes {
  T* slots;
  Stride pitch;  // rows of a plane

  __device__ void put(Stride plane, Stride row, T value) const { slots[plane * pitch + row] = as_present(value); }
};

// Puts the nonzeros of a block row that lie in some of its blocks into their places, from some row of the planes of
// those blocks on.
template <int Threads, class T, class Offset, class Blocks, class Stride>
__device__ void place_nonzeros(const Rows<Offset>& matrix, const T* values, std::int64_t block_row,
                               const Blocks& blocks, Stride row, const Planes<T, Stride>& planes) {
  constexpr int in_flight = 8;
  const auto first_row = matrix.clipped(block_row);
  const auto first = matrix.first_of(block_row);
  const auto nonzeros = static_cast<int>(matrix.first_of(block_row + 1) - first);
  const std::int32_t* const columns = matrix.col_idx + first;
  values += first;
  const auto least = blocks[0];
  const auto greatest = blocks[blocks.count - 1];
  const int first_step = 1 << (31 - __clz(blocks.count));
  // Where its rows end, but for the last.
  int row_end[largest_block_size - 1];
#pragma unroll
  for (int i = 0; i + 1 < largest_block_size; ++i) {
    const bool has_end = i + 1 < matrix.r && first_row + i + 1 <= matrix.rows;
    row_end[i] = has_end ? static_cast<int>(matrix.row_ptr[first_row + i + 1] - first) : nonzeros;
  }
  for (int start = Team<Threads>::thread(); start < nonzeros; start += in_flight * Threads) {
    std::int32_t column[in_flight];
    T value[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      const int k = start + u * Threads;
      if (k < nonzeros) {
        column[u] = columns[k];
        value[u] = values[k];
      }
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      const int k = start + u * Threads;
      if (k >= nonzeros) break;
      const auto block = matrix.block_of(column[u]);
      if (block < least || block > greatest) continue;
      const int at = find(blocks, block, first_step);
      if (blocks[at] != block) continue;
      auto row_of_plane = row;
#pragma unroll
      for (int i = 0; i + 1 < largest_block_size; ++i) {
        if (i + 1 >= matrix.r) break;
        row_of_plane += k >= row_end[i] ? 1 : 0;
      }
      planes.put(static_cast<Stride>(at) * matrix.c + static_cast<Stride>(column[u] - block * matrix.c), row_of_plane,
                 value[u]);
    }
  }
}

// The same of the blocks [from, to) of a block row of full blocks, whose rows are sorted: each begins where the last
// one ends, and no column need be read.
template <int Threads, class T, class Offset, class Stride>
__device__ void copy_rows(const Rows<Offset>& matrix, const T* values, std::int64_t block_row, std::int64_t length,
                          std::int64_t from, std::int64_t to, Stride row, const Planes<T, Stride>& planes) {
  const int rows = static_cast<int>(matrix.clipped(block_row + 1) - matrix.clipped(block_row));
  values += matrix.first_of(block_row);
  const auto last = min(static_cast<long long>(length), static_cast<long long>(to * matrix.c));
  for (auto entry = from * matrix.c + Team<Threads>::thread(); entry < last; entry += Threads) {
    T value[largest_block_size];
#pragma unroll
    for (int i = 0; i < largest_block_size; ++i) {
      if (i < rows) value[i] = values[i * length + entry];
    }
    const auto plane = static_cast<Stride>(entry - from * matrix.c);
#pragma unroll
    for (int i = 0; i < largest_block_size; ++i) {
      if (i < rows) planes.put(plane, row + i, value[i]);
    }
  }
}

// How many nonzeros each row of a block row has where all its blocks are full, otherwise 0: as many as a block has
// slots for each of them, and no more blocks than that.
template <class Offset>
__device__ std::int64_t length_of_full_rows(const Rows<Offset>& matrix, std::int64_t block_row,
                                            const StoredBlocks& stored) {
  const auto rows = matrix.clipped(block_row + 1) - matrix.clipped(block_row);
  const auto nonzeros = matrix.first_of(block_row + 1) - matrix.first_of(block_row);
  if (nonzeros == 0) return 0;
  const auto of_block = static_cast<std::uint32_t>(rows * matrix.c);
  const auto full = static_cast<std::uint32_t>(nonzeros) / of_block;
  if (full * of_block != nonzeros || full > static_cast<std::uint32_t>(stored.count)) return 0;
  const int count = static_cast<int>(full);
  return count == stored.count || stored[count] == padding_block ? static_cast<std::int64_t>(full) * matrix.c : 0;
}

// Puts the nonzeros of a group that lie in its chunks [from, to) into planes of those chunks. `list` has room for the
// blocks of a block row among them; where it is nullptr they are looked up where they are stored.
template <int Threads, class T, class Offset, class Stride>
__device__ void place_group(const Rows<Offset>& matrix, const T* values, const BlockView& blocks, const Group& group,
                            bool sorted_rows, std::int64_t from, std::int64_t to, std::int32_t* list,
                            const Planes<T, Stride>& planes) {
  for (auto block_row = group.first_block_row; block_row < group.end_block_row; ++block_row) {
    const auto row = static_cast<Stride>((block_row - group.first_block_row) * matrix.r);
    const StoredBlocks stored = group.blocks_of(blocks, block_row);
    const auto length = sorted_rows ? length_of_full_rows(matrix, block_row, stored) : 0;
    if (length > 0) {
      copy_rows<Threads>(matrix, values, block_row, length, from, to, row, planes);
      continue;
    }
    const std::int32_t* const columns = stored.columns + from * stored.apart;
    const auto count = static_cast<int>(to - from);
    if (list == nullptr) {
      place_nonzeros<Threads>(matrix, values, block_row, StoredBlocks{columns, stored.apart, count}, row, planes);
      continue;
    }
    Team<Threads>::sync();
    for (int i = Team<Threads>::thread(); i < count; i += Threads) list[i] = columns[i * stored.apart];
    Team<Threads>::sync();
    place_nonzeros<Threads>(matrix, values, block_row, ListedBlocks{list, count}, row, planes);
  }
}

// Whether a group has more chunks than suit a team of so many threads.
template <int Threads, class T, class Offset>
__device__ bool is_too_large(const Rows<Offset>& matrix, const Grouping& grouping, const Group& group) {
  return group.chunks > most_tiles * grouping.chunks_of_tile<Threads, T>(matrix.c);
}

// Whether turn_kernel writes a group, which has then a single block row.
template <class Offset>
__device__ bool is_turned(const Rows<Offset>& matrix, const BlockView& blocks, const Grouping& grouping,
                          const Group& group) {
  return blocks.slice == 1 && grouping.sorted_rows &&
         length_of_full_rows(matrix, group.first_block_row, group.blocks_of(blocks, group.first_block_row)) > 0;
}

// A block row of full blocks in a slice of its own is its rows, turned. Warps write them in the order of the slots,
// with nothing in between.
template <class T, class Offset>
__global__ void turn_kernel(Rows<Offset> matrix, const T* values, BlockView blocks, Grouping grouping, T* slots) {
  constexpr int in_flight = 4;
  const auto block_row = cuda::global_thread() / cuda::warp_size;
  if (block_row >= grouping.groups) return;
  const auto group = group_at(blocks, grouping, block_row);
  const auto length = length_of_full_rows(matrix, block_row, group.blocks_of(blocks, block_row));
  const auto rows = static_cast<int>(matrix.clipped(block_row + 1) - matrix.clipped(block_row));
  const auto size = static_cast<int>(length) * matrix.r;
  values += matrix.first_of(block_row);
  slots += group.offset(blocks);
  for (int start = static_cast<int>(threadIdx.x % cuda::warp_size); start < size;
       start += in_flight * cuda::warp_size) {
    T value[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      const int slot = start + u * cuda::warp_size;
      const int entry = static_cast<int>(grouping.by_width.divide(static_cast<std::uint32_t>(slot)));
      const int row = slot - entry * matrix.r;
      value[u] = slot < size && row < rows ? as_present(values[row * length + entry]) : T{0};
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (start + u * cuda::warp_size < size) slots[start + u * cuda::warp_size] = value[u];
    }
  }
}

// A team puts the nonzeros of a group in their places in shared memory, so many chunks of all of its block rows at a
// time as there is room for, and writes those out as they lie. So neighbouring threads read neighbouring nonzeros,
// write neighbouring slots, and write every slot there is. Each time all nonzeros are read again: groups for which that
// would be often are left to a large block.
template <int Threads, class T, class Offset>
__global__ void __launch_bounds__(small_block)
    fill_kernel(Rows<Offset> matrix, const T* values, BlockView blocks, Grouping grouping, T* slots) {
  __shared__ T tiles[small_block / Threads][Threads * slots_of_thread<T>];
  __shared__ std::int32_t lists[small_block / Threads][Threads * blocks_of_thread<T>];
  const auto at = cuda::global_thread() / Threads;
  if (at >= grouping.groups) return;
  const auto group = group_at(blocks, grouping, at);
  if (is_too_large<Threads, T>(matrix, grouping, group)) return;
  const int thread = Team<Threads>::thread();
  if (is_turned(matrix, blocks, grouping, group)) return;
  const int team = static_cast<int>(threadIdx.x) / Threads;
  const int chunks_of_tile = grouping.chunks_of_tile<Threads, T>(matrix.c);
  const Planes<T, int> tile{tiles[team], grouping.pitch()};
  for (std::int64_t from = 0; from < group.chunks; from += chunks_of_tile) {
    const auto now =
        static_cast<int>(min(static_cast<long long>(chunks_of_tile), static_cast<long long>(group.chunks - from)));
    for (int i = thread; i < now * matrix.c * tile.pitch; i += Threads) tile.slots[i] = T{0};
    Team<Threads>::sync();
    place_group<Threads>(matrix, values, blocks, group, grouping.sorted_rows, from, from + now, lists[team], tile);
    Team<Threads>::sync();
    T* const planes = slots + group.offset(blocks) + from * matrix.c * grouping.plane;
    for (int i = thread; i < now * matrix.c * grouping.width; i += Threads) {
      const int plane = static_cast<int>(grouping.by_width.divide(static_cast<std::uint32_t>(i)));
      const int row = i - plane * grouping.width;
      planes[plane * grouping.plane + row] = tile.slots[plane * tile.pitch + row];
    }
    Team<Threads>::sync();
  }
}

// Those that are too large for a team of so many threads: puts their nonzeros where they belong at once.
template <int Threads, class T, class Offset>
__global__ void __launch_bounds__(large_block)
    fill_large_kernel(Rows<Offset> matrix, const T* values, BlockView blocks, Grouping grouping, T* slots) {
  const auto is_large = [&](std::int64_t at) {
    const auto group = group_at(blocks, grouping, at);
    return is_too_large<Threads, T>(matrix, grouping, group) && !is_turned(matrix, blocks, grouping, group);
  };
  for_each_large(grouping.groups, is_large, [&](std::int64_t at) {
    const auto group = group_at(blocks, grouping, at);
    const Planes<T, std::int64_t> planes{slots + group.offset(blocks), grouping.plane};
    const auto size = group.chunks * matrix.c * grouping.width;
    for (std::int64_t i = threadIdx.x; i < size; i += large_block) {
      planes.slots[i / grouping.width * grouping.plane + i % grouping.width] = T{0};
    }
    __syncthreads();
    place_group<large_block>(matrix, values, blocks, group, grouping.sorted_rows, 0, group.chunks, nullptr, planes);
  });
}

// Block rows of a group: of a slice as many as write whole sectors of 32 bytes.
template <class T>
int block_rows_together(const BlockMatrix<T>& blocks) {
  return static_cast<int>(std::gcd<std::int64_t, std::int64_t>(blocks.slice, 32 / sizeof(T)));
}

}  // namespace

template <class T>
void count_chunks(const BlockPattern& pattern, BlockMatrix<T>& blocks, Stream stream) {
  auto& chunks = blocks.slice_chunks;
  fill_bytes(chunks.data(), 0, static_cast<std::size_t>(chunks.bytes()), chunks.place(), stream);
  if (blocks.block_rows == 0) return;
  count_chunks_kernel<<<cuda::grid_for(blocks.block_rows), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      pattern.block_ptr.data(), blocks.block_rows, blocks.slice, chunks.data());
  cuda::check_launch();
}

template <class T>
void place_blocks(const BlockPattern& pattern, BlockMatrix<T>& blocks, Stream stream) {
  const auto chunks = static_cast<std::int64_t>(blocks.block_columns.size()) / blocks.slice;
  if (chunks == 0) return;
  const auto lanes = std::min<std::int64_t>(blocks.slice, cuda::default_block);
  const dim3 block(static_cast<unsigned>(lanes), static_cast<unsigned>(cuda::default_block / lanes));
  const auto chunks_of_block = static_cast<std::int64_t>(block.y) * chunks_of_thread;
  const auto grid = (chunks + chunks_of_block - 1) / chunks_of_block * ((blocks.slice + lanes - 1) / lanes);
  place_blocks_kernel<<<cuda::grid_for(grid, 1), block, 0, cuda::InTurn(stream)>>>(
      view_of(blocks), pattern.block_ptr.data(), pattern.block_columns.data(), chunks, blocks.block_columns.data());
  cuda::check_launch();
}

template <class T>
void fill(const CsrView<T>& matrix, const BlockMatrix<T>& blocks, Array<T>& values, Stream stream) {
  if (matrix.nnz == 0) {
    fill_bytes(values.data(), 0, static_cast<std::size_t>(values.bytes()), values.place(), stream);
    return;
  }
  constexpr auto past = static_cast<std::size_t>(BlockMatrix<T>::read_past);
  fill_bytes(values.data() + (values.size() - past), 0, past * sizeof(T), values.place(), stream);
  const auto together = block_rows_together(blocks);
  const auto width = blocks.layout.r * together;
  const Grouping grouping{together,
                          (blocks.slices * blocks.slice + together - 1) / together,
                          blocks.slice * blocks.layout.r,
                          width,
                          Divisor(width),
                          blocks.sorted_rows};
  with_rows(matrix, blocks.layout, [&](const auto& rows) {
    if (blocks.slice == 1 && blocks.sorted_rows) {
      turn_kernel<<<cuda::grid_for(grouping.groups * cuda::warp_size), cuda::default_block, 0, cuda::InTurn(stream)>>>(
          rows, matrix.values, view_of(blocks), grouping, values.data());
      cuda::check_launch();
    }
    with_threads(matrix.nnz, blocks.block_rows, [&](auto threads) {
      const auto grid = cuda::grid_for(grouping.groups * threads.value, small_block);
      fill_kernel<threads.value><<<grid, small_block, 0, cuda::InTurn(stream)>>>(rows, matrix.values, view_of(blocks),
                                                                                 grouping, values.data());
      cuda::check_launch();
      fill_large_kernel<threads.value><<<grid_for_large(grouping.groups), large_block, 0, cuda::InTurn(stream)>>>(
          rows, matrix.values, view_of(blocks), grouping, values.data());
      cuda::check_launch();
    });
  });
}

#define AUTOSPMV_BLOCKS(T)                                                  \
  template void count_chunks(const BlockPattern&, BlockMatrix<T>&, Stream); \
  template void place_blocks(const BlockPattern&, BlockMatrix<T>&, Stream); \
  template void fill(const CsrView<T>&, const BlockMatrix<T>&, Array<T>&, Stream);
AUTOSPMV_BLOCKS(float)
AUTOSPMV_BLOCKS(double)
#undef AUTOSPMV_BLOCKS

}  // namespace autospmv::formats::cuda_steps
