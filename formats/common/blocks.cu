#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/search.hpp"
#include "formats/common/blocks.cuh"
#include "formats/common/blocks_steps.hpp"
#include "formats/common/each_nonzero.cuh"
#include "formats/common/rules.hpp"

namespace autospmv::formats::cuda_steps {

namespace {

__device__ std::int64_t global_thread() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

// What conversion reads of a matrix.
template <class Offset>
struct Rows {
  std::int64_t rows;
  std::int64_t nnz;
  const Offset* row_ptr;
  const std::int32_t* col_idx;
  int r;
  int c;

  __device__ std::uint32_t block_of(std::int32_t column) const {
    return static_cast<std::uint32_t>(column) / static_cast<std::uint32_t>(c);
  }
  __device__ std::int64_t block_row_of(std::int64_t row) const {
    return static_cast<std::uint32_t>(row) / static_cast<std::uint32_t>(r);
  }
};

// The first nonzero of a row whose column is at least `column`. The rows of a block row are mostly alike, so that it
// lies as far from their beginning as in another row: `guess`.
template <class Offset>
__device__ std::int64_t lower_bound(const Rows<Offset>& matrix, std::int64_t row, std::int64_t column,
                                    std::int64_t guess) {
  std::int64_t low = matrix.row_ptr[row];
  std::int64_t high = matrix.row_ptr[row + 1];
  guess = min(static_cast<long long>(low + guess), static_cast<long long>(high));
  const bool before = guess == low || matrix.col_idx[guess - 1] < column;
  const bool after = guess == high || matrix.col_idx[guess] >= column;
  if (before && after) return guess;
  if (before) {
    low = guess + 1;
  } else {
    high = guess - 1;
  }
  return partition_point(low, high, [&](std::int64_t k) { return matrix.col_idx[k] < column; });
}

template <class Offset>
__device__ bool holds(const Rows<Offset>& matrix, std::int64_t row, std::uint32_t block, std::int64_t guess) {
  const auto k = lower_bound(matrix, row, static_cast<std::int64_t>(block) * matrix.c, guess);
  return k < matrix.row_ptr[row + 1] && matrix.block_of(matrix.col_idx[k]) == block;
}

enum Fault : std::int32_t { unsorted = 1, duplicates = 2 };

// Flags every nonzero that no other of its block precedes, in its row or in a row above. Where columns are found to be
// unsorted the flags are of no use.
template <class Offset>
__global__ void flag_firsts_kernel(Rows<Offset> matrix, std::int32_t* flags, std::int32_t* faults) {
  for_each_nonzero(matrix.row_ptr, matrix.rows, matrix.nnz, [&](std::int64_t row, std::int64_t k) {
    const std::int64_t begin = matrix.row_ptr[row];
    const auto column = matrix.col_idx[k];
    const auto block = matrix.block_of(column);
    bool first = true;
    if (k > begin) {
      const auto previous = matrix.col_idx[k - 1];
      first = matrix.block_of(previous) != block;
      const int fault = previous == column ? duplicates : previous > column ? unsorted : 0;
      if ((fault & ~*static_cast<volatile std::int32_t*>(faults)) != 0) atomicOr(faults, fault);
    }
    const auto top = matrix.block_row_of(row) * matrix.r;
    for (auto above = row - 1; first && above >= top; --above) first = !holds(matrix, above, block, k - begin);
    flags[k] = first ? 1 : 0;
  });
}

template <class Offset>
__global__ void block_ptr_kernel(Rows<Offset> matrix, const std::int32_t* firsts_before, std::int64_t block_rows,
                                 std::int32_t* block_ptr) {
  const auto block_row = global_thread();
  if (block_row > block_rows) return;
  const auto row = min(static_cast<long long>(block_row * matrix.r), static_cast<long long>(matrix.rows));
  block_ptr[block_row] = firsts_before[matrix.row_ptr[row]];
}

// A block's place in its block row is the number of blocks, over all of its rows, whose first nonzero comes before it
// in the order of columns.
template <class Offset>
__global__ void rank_blocks_kernel(Rows<Offset> matrix, const std::int32_t* firsts_before,
                                   const std::int32_t* block_ptr, std::int32_t* block_columns) {
  for_each_nonzero(matrix.row_ptr, matrix.rows, matrix.nnz, [&](std::int64_t row, std::int64_t k) {
    if (firsts_before[k + 1] == firsts_before[k]) return;
    const auto block = matrix.block_of(matrix.col_idx[k]);
    const auto block_row = matrix.block_row_of(row);
    const auto last = min(static_cast<long long>((block_row + 1) * matrix.r), static_cast<long long>(matrix.rows));
    std::int64_t place = block_ptr[block_row];
    for (auto other = block_row * matrix.r; other < last; ++other) {
      const auto guess = k - matrix.row_ptr[row];
      const auto to = other == row ? k : lower_bound(matrix, other, static_cast<std::int64_t>(block) * matrix.c, guess);
      place += firsts_before[to] - firsts_before[matrix.row_ptr[other]];
    }
    block_columns[place] = static_cast<std::int32_t>(block);
  });
}

template <class Offset>
__global__ void sort_keys_kernel(Rows<Offset> matrix, std::uint64_t* keys, std::int32_t* columns) {
  for_each_nonzero(matrix.row_ptr, matrix.rows, matrix.nnz, [&](std::int64_t row, std::int64_t k) {
    columns[k] = matrix.col_idx[k];
    keys[k] = static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint32_t>(matrix.col_idx[k]);
  });
}

// The columns of every row in increasing order.
template <class Offset>
Array<std::int32_t> sort_columns(const Rows<Offset>& matrix, Place place, Stream stream) {
  const auto nnz = static_cast<std::size_t>(matrix.nnz);
  Array<std::uint64_t> keys(nnz, place);
  Array<std::int32_t> columns(nnz, place);
  sort_keys_kernel<<<grid_for_nonzeros(matrix.nnz), cuda::default_block, 0, stream.handle>>>(matrix, keys.data(),
                                                                                             columns.data());
  cuda::check_launch();
  int row_bits = 0;
  while ((matrix.rows - 1) >> row_bits != 0) ++row_bits;
  cuda::sort_pairs(keys, columns, 32 + row_bits, stream);
  return columns;
}

// The faults that were met.
template <class Offset>
std::int32_t flag_firsts(const Rows<Offset>& matrix, Array<std::int32_t>& flags, Place place, Stream stream) {
  Array<std::int32_t> faults(1, place);
  fill_bytes(faults.data(), 0, sizeof(std::int32_t), place, stream);
  // One more than there are nonzeros, for the total of the scan.
  fill_bytes(flags.data() + matrix.nnz, 0, sizeof(std::int32_t), place, stream);
  flag_firsts_kernel<<<grid_for_nonzeros(matrix.nnz), cuda::default_block, 0, stream.handle>>>(matrix, flags.data(),
                                                                                               faults.data());
  cuda::check_launch();
  return cuda::read(static_cast<const std::int32_t*>(faults.data()), stream);
}

constexpr unsigned all_lanes = 0xffffffffU;

// Visits the nonzeros of the first row of a block row, a warp of them at a time: body(whether it is the first of its
// block, block). True where all rows of the block row are sorted and meet the same blocks, nonzero by
// nonzero, as those of the unknowns of a mesh node do: then one of them tells the blocks of all.
template <class Offset, class Body>
__device__ bool for_each_in_first_row(const Rows<Offset>& matrix, std::int64_t block_row, const Body& body) {
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  const auto top = block_row * matrix.r;
  const int rows = static_cast<int>(min(static_cast<long long>(matrix.r), static_cast<long long>(matrix.rows - top)));
  // Lane i holds where row i begins, so that the rows' loads need not wait for each other.
  const auto start = static_cast<long long>(matrix.row_ptr[top + min(lane, rows)]);
  const std::int64_t length = __shfl_sync(all_lanes, start, 1) - __shfl_sync(all_lanes, start, 0);
  const auto next = __shfl_down_sync(all_lanes, start, 1);
  if (!__all_sync(all_lanes, static_cast<int>(lane >= rows || next - start == length))) return false;
  bool alike = true;
  for (std::int64_t base = 0; base < length; base += cuda::warp_size) {
    const auto k = base + lane;
    const bool there = k < length;
    std::uint32_t block = 0;
    bool first = there;
    for (int row = 0; row < rows; ++row) {
      const auto* columns = matrix.col_idx + __shfl_sync(all_lanes, start, row);
      const std::int32_t column = there ? columns[k] : 0;
      std::int32_t before = __shfl_up_sync(all_lanes, column, 1);
      if (lane == 0) before = k > 0 ? columns[k - 1] : -1;
      const auto own = matrix.block_of(column);
      if (row == 0) {
        block = own;
        first = there && (k == 0 || matrix.block_of(before) != own);
      }
      alike = alike && (!there || (own == block && before < column));
    }
    body(first, block);
  }
  return __all_sync(all_lanes, static_cast<int>(alike)) != 0;
}

// A warp a block row, of every `step`-th one, as long as no other has found one whose rows differ. Where none has, the
// rows of a block row have as many nonzeros each, and what comes before it is a multiple of r: `found` has room for the
// blocks from a nonzero of one of its rows on.
template <class Offset>
__global__ void find_alike_kernel(Rows<Offset> matrix, std::int64_t block_rows, std::int64_t step, std::int32_t* counts,
                                  std::int32_t* found, std::int32_t* unlike) {
  const auto block_row = global_thread() / cuda::warp_size * step;
  if (block_row >= block_rows) return;
  const bool hopeless = *static_cast<volatile std::int32_t*>(unlike) != 0;
  if (__any_sync(all_lanes, static_cast<int>(hopeless)) != 0) return;
  const auto before_lane = (1U << threadIdx.x % cuda::warp_size) - 1;
  std::int32_t* const place = found + matrix.row_ptr[block_row * matrix.r] / matrix.r;
  std::int32_t count = 0;
  const bool alike = for_each_in_first_row(matrix, block_row, [&](bool first, std::uint32_t block) {
    const auto firsts = __ballot_sync(all_lanes, static_cast<int>(first));
    if (first) place[count + __popc(firsts & before_lane)] = static_cast<std::int32_t>(block);
    count += __popc(firsts);
  });
  if (threadIdx.x % cuda::warp_size != 0) return;
  counts[block_row] = count;
  if (!alike) *unlike = 1;
}

template <class Offset>
__global__ void gather_blocks_kernel(Rows<Offset> matrix, std::int64_t block_rows, const std::int32_t* block_ptr,
                                     const std::int32_t* found, std::int32_t* block_columns) {
  const auto block_row = global_thread() / cuda::warp_size;
  if (block_row >= block_rows) return;
  const std::int32_t first = block_ptr[block_row];
  const std::int32_t count = block_ptr[block_row + 1] - first;
  const std::int32_t* const place = found + matrix.row_ptr[block_row * matrix.r] / matrix.r;
  for (auto i = static_cast<std::int32_t>(threadIdx.x % cuda::warp_size); i < count; i += cuda::warp_size) {
    block_columns[first + i] = place[i];
  }
}

std::optional<Refusal> refuse_scratch(double bytes, Place place) {
  if (bytes <= static_cast<double>(free_memory(place))) return std::nullopt;
  return Refusal{"memory: not enough is free to look for blocks"};
}

// False, and nothing found, unless in every block row all rows meet the same blocks: most matrices of dense blocks are
// such, and cost a fraction of what any pattern does. Some block rows are looked at first: one of them shows it of
// nearly every matrix that is none.
template <class Offset>
bool find_alike(const Rows<Offset>& matrix, std::int64_t block_rows, BlockPattern& pattern, Place place,
                Stream stream) {
  // A block has a nonzero in each row, so that there are fewer blocks than `most_blocks` if there are fewer nonzeros.
  if (matrix.nnz > most_blocks) return false;
  auto& counts = pattern.block_ptr;
  Array<std::int32_t> unlike(1, place);
  // The last block row may have fewer rows than the others.
  Array<std::int32_t> found(static_cast<std::size_t>(matrix.rows % matrix.r == 0 ? matrix.nnz / matrix.r : matrix.nnz),
                            place);
  fill_bytes(unlike.data(), 0, sizeof(std::int32_t), place, stream);
  fill_bytes(counts.data() + block_rows, 0, sizeof(std::int32_t), place, stream);
  const auto look_at = [&](std::int64_t step) {
    const auto grid = cuda::grid_for((block_rows + step - 1) / step * cuda::warp_size);
    find_alike_kernel<<<grid, cuda::default_block, 0, stream.handle>>>(matrix, block_rows, step, counts.data(),
                                                                       found.data(), unlike.data());
    cuda::check_launch();
    return cuda::read(static_cast<const std::int32_t*>(unlike.data()), stream) == 0;
  };
  constexpr std::int64_t some = 1024;
  if (block_rows > 4 * some && !look_at(block_rows / some)) return false;
  if (!look_at(1)) return false;
  cuda::exclusive_scan(counts.data(), counts.data(), block_rows + 1, place, stream);
  const auto blocks = cuda::read(static_cast<const std::int32_t*>(counts.data()) + block_rows, stream);
  pattern.block_columns = Array<std::int32_t>(static_cast<std::size_t>(blocks), place);
  gather_blocks_kernel<<<cuda::grid_for(block_rows * cuda::warp_size), cuda::default_block, 0, stream.handle>>>(
      matrix, block_rows, counts.data(), found.data(), pattern.block_columns.data());
  cuda::check_launch();
  return true;
}

template <class Offset>
Result<BlockPattern> find_blocks_of(Rows<Offset> matrix, Place place, Stream stream) {
  const auto nnz = static_cast<double>(matrix.nnz);
  if (auto refusal = refuse_scratch(8 * nnz, place)) return *refusal;
  const std::int64_t block_rows = (matrix.rows + matrix.r - 1) / matrix.r;
  BlockPattern pattern{Array<std::int32_t>(static_cast<std::size_t>(block_rows) + 1, place), {}};
  if (matrix.nnz == 0) {
    fill_bytes(pattern.block_ptr.data(), 0, static_cast<std::size_t>(pattern.block_ptr.bytes()), place, stream);
    return {std::move(pattern)};
  }
  if (find_alike(matrix, block_rows, pattern, place, stream)) return {std::move(pattern)};
  const auto size = matrix.nnz + 1;
  Array<std::int32_t> firsts_before(static_cast<std::size_t>(size), place);
  Array<std::int32_t> sorted;
  auto faults = flag_firsts(matrix, firsts_before, place, stream);
  if ((faults & unsorted) != 0) {
    if (auto refusal = refuse_scratch(28 * nnz, place)) return *refusal;
    sorted = sort_columns(matrix, place, stream);
    matrix.col_idx = sorted.data();
    faults = flag_firsts(matrix, firsts_before, place, stream);
  }
  if ((faults & duplicates) != 0) return refuse_duplicates();
  auto* counts = firsts_before.data();
  if (size > most_blocks && cuda::sum_wide(counts, size, place, stream) > most_blocks) return refuse_block_count();
  cuda::exclusive_scan(counts, counts, size, place, stream);
  const auto blocks = cuda::read(static_cast<const std::int32_t*>(counts) + matrix.nnz, stream);
  pattern.block_columns = Array<std::int32_t>(static_cast<std::size_t>(blocks), place);
  block_ptr_kernel<<<cuda::grid_for(block_rows + 1), cuda::default_block, 0, stream.handle>>>(
      matrix, counts, block_rows, pattern.block_ptr.data());
  cuda::check_launch();
  rank_blocks_kernel<<<grid_for_nonzeros(matrix.nnz), cuda::default_block, 0, stream.handle>>>(
      matrix, counts, pattern.block_ptr.data(), pattern.block_columns.data());
  cuda::check_launch();
  return {std::move(pattern)};
}

__global__ void count_chunks_kernel(const std::int32_t* block_ptr, std::int64_t block_rows, std::int64_t slice,
                                    std::int32_t* chunks) {
  const auto block_row = global_thread();
  if (block_row >= block_rows) return;
  const auto count = block_ptr[block_row + 1] - block_ptr[block_row];
  std::int32_t* of_slice = chunks + block_row / slice;
  // Most block rows are no longer than one before them: look before taking the atomic.
  if (count > *static_cast<volatile std::int32_t*>(of_slice)) atomicMax(of_slice, count);
}

__global__ void place_blocks_kernel(BlockView blocks, const std::int32_t* block_ptr, const std::int32_t* from,
                                    std::int64_t slots, std::int32_t* to) {
  const auto slot = global_thread();
  if (slot >= slots) return;
  const auto chunk = slot / blocks.slice;
  const auto slice = part_of(blocks.slice_chunks, blocks.slices, chunk);
  const auto block_row = slice * blocks.slice + slot % blocks.slice;
  const auto block = chunk - blocks.slice_chunks[slice];
  const bool inside = block_row < blocks.block_rows && block < block_ptr[block_row + 1] - block_ptr[block_row];
  to[slot] = inside ? from[block_ptr[block_row] + block] : -1;
}

// The position among `count` block columns, `stride` apart, of one that is there. Padding is past every column. In full
// blocks, a nonzero's block is as many blocks from the beginning as it is nonzeros: `guess`.
__device__ std::int64_t find_block(const std::int32_t* columns, std::int64_t stride, std::int64_t count,
                                   std::uint32_t block, std::int64_t guess) {
  const auto column = [&](std::int64_t at) { return static_cast<std::uint32_t>(columns[at * stride]); };
  if (guess < count && column(guess) == block) return guess;
  return partition_point(std::int64_t{0}, count, [&](std::int64_t at) { return column(at) < block; });
}

constexpr int fill_warps = 4;
constexpr int tile_bytes = 8192;  // that a warp has in shared memory

// A warp takes `together` neighbouring block rows, of one slice or of slices of one, puts their nonzeros in their
// places in shared memory, so many chunks of all of them at a time as there is room for, and writes those out as they
// lie. So neighbouring lanes read neighbouring nonzeros, write neighbouring slots, and write every slot there is. Each
// time all nonzeros are read again: where that would be often, they are put where they belong at once.
template <class T, class Offset>
__global__ void fill_kernel(Rows<Offset> matrix, const T* values, BlockView blocks, int together, T* slots) {
  constexpr int in_flight = 8;
  constexpr int most_tiles = 4;
  constexpr int tile_slots = tile_bytes / static_cast<int>(sizeof(T));
  __shared__ T tiles[fill_warps][tile_slots];
  T* tile = tiles[threadIdx.x / cuda::warp_size];
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  const std::int64_t first_block_row = global_thread() / cuda::warp_size * together;
  // The last slice may go on past the last row.
  const auto end_block_row =
      min(static_cast<long long>(first_block_row + together), static_cast<long long>(blocks.slices * blocks.slice));
  if (first_block_row >= end_block_row) return;
  const auto clipped = [&](std::int64_t block_row) {
    return min(static_cast<long long>(block_row * matrix.r), static_cast<long long>(matrix.rows));
  };
  // Divisions of 64 bits would cost more than all the rest.
  const auto slice_of = [&](std::int64_t block_row) {
    return static_cast<std::uint32_t>(block_row) / static_cast<std::uint32_t>(blocks.slice);
  };
  const auto first_slice = slice_of(first_block_row);
  const std::int64_t start = blocks.slice_chunks[first_slice];
  const std::int64_t chunks = blocks.slice_chunks[slice_of(end_block_row - 1) + 1] - start;
  // Rows of a plane in memory and in the tile, which are the same where slices are of one block row.
  const std::int64_t plane = blocks.slice * matrix.r;
  const int width = blocks.slice == 1 ? matrix.r : together * matrix.r;
  const int chunks_of_tile = tile_slots / (width * matrix.c);
  const std::int64_t first_of_slice = static_cast<std::int64_t>(first_slice) * blocks.slice;
  T* to = slots + start * matrix.c * plane + (first_block_row - first_of_slice) * matrix.r;

  const std::int64_t top = clipped(first_block_row);
  const std::int64_t bottom = clipped(end_block_row);
  const std::int64_t last = matrix.row_ptr[bottom];

  // Those of the chunks [from, from + room) into planes that are `stride` apart; true where there are nonzeros after
  // them.
  const auto put = [&](std::int64_t from, std::int64_t room, T* planes, auto stride) {
    auto row = top - 1;
    std::int64_t begin = 0;
    std::int64_t end = matrix.row_ptr[top];
    const std::int32_t* block_columns = nullptr;
    std::int64_t count = 0;
    std::int64_t before = 0;
    int row_of_tile = 0;
    bool more = false;
    const auto add = [&](std::int64_t k, std::int32_t column, T value) {
      if (k >= end) {
        while (k >= end) {
          begin = end;
          end = matrix.row_ptr[++row + 1];
        }
        const auto block_row = matrix.block_row_of(row);
        const auto slice = slice_of(block_row);
        const std::int64_t first = blocks.slice_chunks[slice];
        count = blocks.slice_chunks[slice + 1] - first;
        block_columns = blocks.block_columns + first * blocks.slice + (block_row - slice * blocks.slice);
        before = first - start;
        row_of_tile = static_cast<int>(row - (blocks.slice == 1 ? block_row : first_block_row) * matrix.r);
      }
      const auto block = matrix.block_of(column);
      const auto guess = static_cast<std::uint32_t>(k - begin) / static_cast<std::uint32_t>(matrix.c);
      const auto chunk = before + find_block(block_columns, blocks.slice, count, block, guess) - from;
      more = more || chunk >= room;
      if (chunk < 0 || chunk >= room) return;
      const auto j = static_cast<int>(column - static_cast<std::int64_t>(block) * matrix.c);
      planes[(static_cast<decltype(stride)>(chunk) * matrix.c + j) * stride + row_of_tile] = as_present(value);
    };
    for (auto first = end + lane; first < last; first += in_flight * cuda::warp_size) {
      std::int32_t column[in_flight];
      T value[in_flight];
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        const auto k = first + i * cuda::warp_size;
        if (k < last) {
          column[i] = load_stream(matrix.col_idx + k);
          value[i] = load_stream(values + k);
        }
      }
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        const auto k = first + i * cuda::warp_size;
        if (k < last) add(k, column[i], value[i]);
      }
    }
    return __any_sync(all_lanes, static_cast<int>(more)) != 0;
  };

  if (chunks > most_tiles * chunks_of_tile) {
    int row_of_plane = lane % width;
    for (std::int64_t p = lane / width; p < chunks * matrix.c; p += cuda::warp_size / width) {
      to[p * plane + row_of_plane] = T{0};
      row_of_plane += cuda::warp_size % width;
      p += row_of_plane >= width ? 1 : 0;
      row_of_plane -= row_of_plane >= width ? width : 0;
    }
    __syncwarp();
    put(0, chunks, to, plane);
    return;
  }
  bool more = true;
  for (std::int64_t from = 0; from < chunks; from += chunks_of_tile) {
    const auto now =
        static_cast<int>(min(static_cast<long long>(chunks_of_tile), static_cast<long long>(chunks - from)));
    const int size = now * matrix.c * width;
    for (int i = lane; i < size; i += cuda::warp_size) tile[i] = T{0};
    __syncwarp();
    if (more) more = put(from, chunks_of_tile, tile, width);
    __syncwarp();
    T* planes = to + from * matrix.c * plane;
    for (int i = lane; i < size; i += cuda::warp_size) {
      planes[i + (plane == width ? 0 : i / width * (plane - width))] = tile[i];
    }
    __syncwarp();
  }
}

// Block rows that a warp fills: of a slice as many as write whole sectors of 32 bytes; of slices of one as many as give
// the warp work.
template <class T>
int block_rows_together(const CsrView<T>& matrix, const BlockMatrix<T>& blocks) {
  if (blocks.slice > 1) return static_cast<int>(std::min<std::int64_t>(blocks.slice, 32 / sizeof(T)));
  constexpr std::int64_t nonzeros = 256;
  int together = 1;
  while (together < 32 && 2 * together * matrix.nnz <= nonzeros * blocks.block_rows) together *= 2;
  return together;
}

// Calls body with the view of the matrix that conversion takes.
template <class T, class Body>
auto with_rows(const CsrView<T>& matrix, const BlockLayout& layout, const Body& body) {
  return std::visit(
      [&](const auto* row_ptr) {
        return body(Rows<std::remove_cvref_t<decltype(*row_ptr)>>{matrix.rows, matrix.nnz, row_ptr, matrix.col_idx,
                                                                  layout.r, layout.c});
      },
      matrix.row_ptr);
}

}  // namespace

template <class T>
Result<BlockPattern> find_blocks(const CsrView<T>& matrix, const BlockLayout& layout, Place place, Stream stream) {
  return with_rows(matrix, layout, [&](const auto& rows) { return find_blocks_of(rows, place, stream); });
}

template <class T>
void count_chunks(const BlockPattern& pattern, BlockMatrix<T>& blocks, Stream stream) {
  auto& chunks = blocks.slice_chunks;
  fill_bytes(chunks.data(), 0, static_cast<std::size_t>(chunks.bytes()), chunks.place(), stream);
  if (blocks.block_rows == 0) return;
  count_chunks_kernel<<<cuda::grid_for(blocks.block_rows), cuda::default_block, 0, stream.handle>>>(
      pattern.block_ptr.data(), blocks.block_rows, blocks.slice, chunks.data());
  cuda::check_launch();
}

template <class T>
void place_blocks(const BlockPattern& pattern, BlockMatrix<T>& blocks, Stream stream) {
  const auto slots = static_cast<std::int64_t>(blocks.block_columns.size());
  if (slots == 0) return;
  place_blocks_kernel<<<cuda::grid_for(slots), cuda::default_block, 0, stream.handle>>>(
      view_of(blocks), pattern.block_ptr.data(), pattern.block_columns.data(), slots, blocks.block_columns.data());
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
  const auto together = block_rows_together(matrix, blocks);
  const auto warps = (blocks.slices * blocks.slice + together - 1) / together;
  constexpr int threads = fill_warps * cuda::warp_size;
  with_rows(matrix, blocks.layout, [&](const auto& rows) {
    fill_kernel<<<cuda::grid_for(warps * cuda::warp_size, threads), threads, 0, stream.handle>>>(
        rows, matrix.values, view_of(blocks), together, values.data());
  });
  cuda::check_launch();
}

#define AUTOSPMV_BLOCKS(T)                                                                         \
  template Result<BlockPattern> find_blocks(const CsrView<T>&, const BlockLayout&, Place, Stream); \
  template void count_chunks(const BlockPattern&, BlockMatrix<T>&, Stream);                        \
  template void place_blocks(const BlockPattern&, BlockMatrix<T>&, Stream);                        \
  template void fill(const CsrView<T>&, const BlockMatrix<T>&, Array<T>&, Stream);
AUTOSPMV_BLOCKS(float)
AUTOSPMV_BLOCKS(double)
#undef AUTOSPMV_BLOCKS

}  // namespace autospmv::formats::cuda_steps
