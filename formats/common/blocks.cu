#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/search.hpp"
#include "formats/common/blocks.cuh"
#include "formats/common/blocks_steps.hpp"
#include "formats/common/each_nonzero.cuh"
#include "formats/common/rules.hpp"

namespace autospmv::formats::cuda_steps {

namespace {

constexpr unsigned all_lanes = 0xffffffffU;
constexpr int largest_block = std::max({AUTOSPMV_BLOCK_SIZES});

__device__ std::int64_t global_thread() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

// Divides numbers below 2^31 by one of 2 to 8, known when the kernel is launched: a multiplication by 2^(32 + shift) /
// c, rounded up, of which the error is too small to show. That of a power of two would not fit; half of it does.
class Divisor {
 public:
  explicit Divisor(int c) {
    const auto divisor = static_cast<std::uint32_t>(c);
    const bool is_power = std::has_single_bit(divisor);
    shift_ = std::bit_width(divisor) - (is_power ? 2 : 1);
    factor_ = static_cast<std::uint32_t>(((std::uint64_t{1} << (32 + shift_)) + divisor - 1) / divisor);
  }
  [[nodiscard]] __device__ std::uint32_t divide(std::uint32_t number) const {
    return __umulhi(number, factor_) >> shift_;
  }

 private:
  std::uint32_t factor_;
  int shift_;
};

// What conversion reads of a matrix.
template <class Offset>
struct Rows {
  std::int64_t rows;
  std::int64_t nnz;
  const Offset* row_ptr;
  const std::int32_t* col_idx;
  int r;
  int c;

  Divisor by_c;

  __device__ std::uint32_t block_of(std::int32_t column) const {
    return by_c.divide(static_cast<std::uint32_t>(column));
  }
  /// The first row of a block row, the number of rows past the last one.
  __device__ std::int64_t clipped(std::int64_t block_row) const {
    return min(static_cast<long long>(block_row * r), static_cast<long long>(rows));
  }
  /// Its first nonzero.
  __device__ std::int64_t first_of(std::int64_t block_row) const { return row_ptr[clipped(block_row)]; }
};

// The threads that work on one thing together: a warp of a block, or a whole block of several warps.
template <int Threads>
struct Team {
  static constexpr bool is_warp = Threads == cuda::warp_size;

  __device__ static int thread() { return static_cast<int>(threadIdx.x) % Threads; }
  __device__ static void sync() {
    if constexpr (is_warp) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
  /// How many threads before this one say yes; `total` is how many of the team do.
  __device__ static int count_before(bool yes, int& total) {
    const unsigned of_warp = __ballot_sync(all_lanes, static_cast<int>(yes));
    int before = __popc(of_warp & ((1U << threadIdx.x % cuda::warp_size) - 1));
    total = __popc(of_warp);
    if constexpr (!is_warp) {
      __shared__ int totals[Threads / cuda::warp_size];
      const int warp = thread() / cuda::warp_size;
      __syncthreads();  // those of the last call have been read
      if (threadIdx.x % cuda::warp_size == 0) totals[warp] = total;
      __syncthreads();
      total = 0;
      for (int other = 0; other < Threads / cuda::warp_size; ++other) {
        before += other < warp ? totals[other] : 0;
        total += totals[other];
      }
    }
    return before;
  }
};

// Block rows of few nonzeros are for a warp each, of more for a block of a few warps; the rare ones that are too many
// for the shared memory of either are for a large block.
constexpr int small_block = 128;
constexpr int large_block = 512;

// Calls body(item) for those of so many items that are large, by all threads of a large block, on every block of
// the grid for a few of them: items that are neighbours go to different blocks.
template <class IsLarge, class Body>
__device__ void for_each_large(std::int64_t items, const IsLarge& is_large, const Body& body) {
  __shared__ std::int64_t large[large_block];
  __shared__ int count;
  const std::int64_t step = gridDim.x;
  for (std::int64_t first = blockIdx.x; first < items; first += step * large_block) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const auto item = first + threadIdx.x * step;
    if (item < items && is_large(item)) large[atomicAdd(&count, 1)] = item;
    __syncthreads();
    for (int i = 0; i < count; ++i) {
      body(large[i]);
      __syncthreads();
    }
    __syncthreads();
  }
}

unsigned grid_for_large(std::int64_t items) { return cuda::grid_for(std::min<std::int64_t>(items, 512), 1); }

enum Fault : std::int32_t { unsorted = 1, duplicates = 2, too_long = 4 };

// Nonzeros of a block row, and slots of it where its blocks are full, are counted in 32 bits.
constexpr std::int64_t most_nonzeros = 1 << 28;

// Increasing lists of blocks, side by side in a buffer: of the rows of a block row at first.
struct Lists {
  int first[largest_block + 1];
  int length[largest_block];
  int row_begin[largest_block];  // nonzeros of the block row before it
};

// Two buffers of so many elements that take turns.
struct Buffers {
  std::int32_t* elements;
  std::int64_t apart;  // the one after the other
  std::int64_t room;
  bool second = false;

  [[nodiscard]] __device__ std::int32_t* from() const { return elements + (second ? apart : 0); }
  [[nodiscard]] __device__ std::int32_t* to() const { return elements + (second ? 0 : apart); }
};

__device__ void report(int fault, std::int32_t* faults) {
  if ((fault & ~*static_cast<volatile std::int32_t*>(faults)) != 0) atomicOr(faults, fault);
}

/// What is wrong with a column after another one of its row.
__device__ int fault_of(std::int32_t previous, std::int32_t column) {
  return previous == column ? duplicates : previous > column ? unsorted : 0;
}

// Where all rows of a block row meet the same blocks, nonzero by nonzero, as those of the unknowns of a mesh node do,
// one of them tells the blocks of all, which a warp writes. Returns their number, or -1 where rows differ.
template <class Offset>
__device__ int list_alike(const Rows<Offset>& matrix, std::int64_t block_row, std::int32_t* to, std::int32_t* faults) {
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  // Lane i holds where row i begins, so that the rows' loads need not wait for each other.
  const auto row =
      min(static_cast<long long>(block_row * matrix.r + min(lane, matrix.r)), static_cast<long long>(matrix.rows));
  const auto begin = static_cast<long long>(matrix.row_ptr[row]);
  const auto end = __shfl_down_sync(all_lanes, begin, 1);
  const auto length = __shfl_sync(all_lanes, end - begin, 0);
  if (!__all_sync(all_lanes, static_cast<int>(lane >= matrix.r || end - begin == length))) return -1;
  int count = 0;
  int fault = 0;
  for (std::int64_t start = 0; start < length; start += cuda::warp_size) {
    const auto entry = start + lane;
    const bool inside = entry < length;
    bool alike = true;
    bool is_new = false;
    std::uint32_t block = 0;
    for (int i = 0; i < matrix.r; ++i) {
      const auto k = __shfl_sync(all_lanes, begin, i) + entry;
      const std::int32_t column = inside ? matrix.col_idx[k] : 0;
      std::int32_t previous = __shfl_up_sync(all_lanes, column, 1);
      if (lane == 0) previous = entry > 0 ? matrix.col_idx[k - 1] : -1;
      if (!inside) continue;
      fault |= fault_of(previous, column);
      if (i == 0) {
        block = matrix.block_of(column);
        is_new = entry == 0 || matrix.block_of(previous) != block;
      }
      alike = alike && matrix.block_of(column) == block;
    }
    if (!__all_sync(all_lanes, static_cast<int>(alike))) return -1;
    const unsigned firsts = __ballot_sync(all_lanes, static_cast<int>(is_new));
    if (is_new) to[count + __popc(firsts & ((1U << lane) - 1))] = static_cast<std::int32_t>(block);
    count += __popc(firsts);
  }
  report(fault, faults);
  return count;
}

// The blocks of each row into buffers.from(); false where there is no room for them. Rows must be sorted: where they
// are not, the lists are of no use.
template <int Threads, class Offset>
__device__ bool list_rows(const Rows<Offset>& matrix, std::int64_t block_row, const Buffers& buffers, Lists& lists,
                          std::int32_t* faults) {
  constexpr int in_flight = 4;
  const int thread = Team<Threads>::thread();
  const auto first = matrix.first_of(block_row);
  const auto nonzeros = static_cast<int>(matrix.first_of(block_row + 1) - first);
  const std::int32_t* const columns = matrix.col_idx + first;
  if (thread < matrix.r) {
    const auto row = min(static_cast<long long>(block_row * matrix.r + thread), static_cast<long long>(matrix.rows));
    lists.row_begin[thread] = static_cast<int>(matrix.row_ptr[row] - first);
  }
  Team<Threads>::sync();
  int count = 0;
  int fault = 0;
  for (int start = 0; start < nonzeros; start += in_flight * Threads) {
    std::int32_t column[in_flight];
    std::int32_t previous[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      const int k = start + u * Threads + thread;
      column[u] = k < nonzeros ? columns[k] : 0;
      previous[u] = k < nonzeros && k > 0 ? columns[k - 1] : -1;
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (start + u * Threads >= nonzeros) break;
      const int k = start + u * Threads + thread;
      bool begins = k == 0;
      for (int i = 1; i < matrix.r; ++i) begins = begins || k == lists.row_begin[i];
      const auto block = matrix.block_of(column[u]);
      bool is_new = k < nonzeros;
      if (is_new && !begins) {
        is_new = matrix.block_of(previous[u]) != block;
        fault |= fault_of(previous[u], column[u]);
      }
      int more = 0;
      const int place = count + Team<Threads>::count_before(is_new, more);
      if (is_new && place < buffers.room) buffers.from()[place] = static_cast<std::int32_t>(block);
      if (is_new && begins) {
        for (int i = 0; i < matrix.r; ++i) {
          if (k == lists.row_begin[i]) lists.first[i] = place;
        }
      }
      count += more;
    }
  }
  report(fault, faults);
  if (thread < matrix.r && lists.row_begin[thread] == nonzeros) lists.first[thread] = count;
  if (thread == matrix.r) lists.first[thread] = count;
  Team<Threads>::sync();
  if (thread < matrix.r) lists.length[thread] = lists.first[thread + 1] - lists.first[thread];
  Team<Threads>::sync();
  return count <= buffers.room;
}

// Merges two neighbouring lists into one that begins where the first does, what both have once. An element's place is
// the number of elements before it in either list, less those that are in both: a search in the other list tells.
template <int Threads>
__device__ void merge_lists(const Buffers& buffers, Lists& lists, int pair) {
  const std::int32_t* const from = buffers.from();
  const int first = lists.first[pair];
  const int length = lists.length[pair];
  const int other_first = lists.first[pair + 1];
  const int other_length = lists.length[pair + 1];
  int twins = 0;
  int other_twins = 0;
  for (int start = 0; start < length + other_length; start += Threads) {
    const int element = start + Team<Threads>::thread();
    const bool inside = element < length + other_length;
    const bool of_first = element < length;
    const int own = of_first ? element : element - length;
    const std::int32_t* const other = from + (of_first ? other_first : first);
    const int of_other = of_first ? other_length : length;
    std::int32_t block = 0;
    int before = 0;
    bool is_twin = false;
    if (inside) {
      block = from[(of_first ? first : other_first) + own];
      before = partition_point(0, of_other, [&](int at) { return other[at] < block; });
      is_twin = before < of_other && other[before] == block;
    }
    int more = 0;
    int other_more = 0;
    const int twins_before = twins + Team<Threads>::count_before(is_twin && of_first, more);
    const int other_before = other_twins + Team<Threads>::count_before(is_twin && !of_first, other_more);
    const int place = own + before - (of_first ? twins_before : other_before);
    if (inside && (of_first || !is_twin)) buffers.to()[first + place] = block;
    twins += more;
    other_twins += other_more;
  }
  Team<Threads>::sync();
  if (Team<Threads>::thread() == 0) {
    lists.first[pair / 2] = first;
    lists.length[pair / 2] = length + other_length - twins;
  }
}

// Where the blocks of a block row are found: `columns` has room for as many as there are nonzeros, from the first
// nonzero of the block row on, and the same again, `apart` elements later, to work with.
struct Found {
  std::int32_t* counts;
  std::int32_t* columns;
  std::int64_t apart;
  std::int32_t* faults;
};

// What `counts` says of a block row whose blocks are not found yet.
constexpr std::int32_t unlike = -1;
constexpr std::int32_t too_many = -2;

template <class Offset>
__global__ void find_alike_kernel(Rows<Offset> matrix, std::int64_t block_rows, Found found) {
  const auto block_row = global_thread() / cuda::warp_size;
  if (block_row >= block_rows) return;
  if (matrix.first_of(block_row + 1) - matrix.first_of(block_row) > most_nonzeros) report(too_long, found.faults);
  const int count = list_alike(matrix, block_row, found.columns + matrix.first_of(block_row), found.faults);
  if (threadIdx.x % cuda::warp_size == 0) found.counts[block_row] = count >= 0 ? count : unlike;
}

// Lists the blocks of each row and merges the lists, two into one, until one is left.
template <int Threads, class Offset>
__device__ void find_unlike(const Rows<Offset>& matrix, std::int64_t block_row, Buffers buffers, Lists& lists,
                            const Found& found) {
  const int thread = Team<Threads>::thread();
  if (!list_rows<Threads>(matrix, block_row, buffers, lists, found.faults)) {
    if (thread == 0) found.counts[block_row] = too_many;
    return;
  }
  for (int count = matrix.r; count > 1; count = (count + 1) / 2) {
    for (int pair = 0; pair + 1 < count; pair += 2) merge_lists<Threads>(buffers, lists, pair);
    if (count % 2 != 0) {
      const int first = lists.first[count - 1];
      const int length = lists.length[count - 1];
      for (int i = thread; i < length; i += Threads) buffers.to()[first + i] = buffers.from()[first + i];
      Team<Threads>::sync();
      if (thread == 0) {
        lists.first[count / 2] = first;
        lists.length[count / 2] = length;
      }
    }
    Team<Threads>::sync();
    buffers.second = !buffers.second;
  }
  std::int32_t* const columns = found.columns + matrix.first_of(block_row);
  const int length = lists.length[0];
  if (buffers.from() != columns) {
    for (int i = thread; i < length; i += Threads) columns[i] = buffers.from()[i];
  }
  if (thread == 0) found.counts[block_row] = length;
}

template <int Threads, class Offset>
__global__ void __launch_bounds__(small_block)
    find_unlike_kernel(Rows<Offset> matrix, std::int64_t block_rows, Found found) {
  constexpr int room = 24 * Threads;
  __shared__ std::int32_t elements[small_block / Threads][2 * room];
  __shared__ Lists lists[small_block / Threads];
  const auto block_row = global_thread() / Threads;
  if (block_row >= block_rows || found.counts[block_row] != unlike) return;
  const int team = static_cast<int>(threadIdx.x) / Threads;
  find_unlike<Threads>(matrix, block_row, Buffers{elements[team], room, room}, lists[team], found);
}

// Those of more blocks than there is shared memory for.
template <class Offset>
__global__ void __launch_bounds__(large_block)
    find_many_kernel(Rows<Offset> matrix, std::int64_t block_rows, Found found) {
  __shared__ Lists lists;
  const auto is_large = [&](std::int64_t block_row) { return found.counts[block_row] == too_many; };
  for_each_large(block_rows, is_large, [&](std::int64_t block_row) {
    const auto first = matrix.first_of(block_row);
    const Buffers buffers{found.columns + first, found.apart, matrix.first_of(block_row + 1) - first};
    find_unlike<large_block>(matrix, block_row, buffers, lists, found);
  });
}

// Calls body with the number of threads that suit items of so many nonzeros.
template <class Body>
void with_threads(std::int64_t nonzeros, std::int64_t items, const Body& body) {
  constexpr std::int64_t many = 768;
  if (nonzeros <= many * items) return body(std::integral_constant<int, cuda::warp_size>{});
  body(std::integral_constant<int, small_block>{});
}

// Returns the faults that were met.
template <class Offset>
std::int32_t list_blocks(const Rows<Offset>& matrix, std::int64_t block_rows, Array<std::int32_t>& counts,
                         Array<std::int32_t>& columns, Stream stream) {
  Array<std::int32_t> faults(1, counts.place());
  fill_bytes(faults.data(), 0, sizeof(std::int32_t), counts.place(), stream);
  const Found found{counts.data(), columns.data(), matrix.nnz, faults.data()};
  find_alike_kernel<<<cuda::grid_for(block_rows * cuda::warp_size), cuda::default_block, 0, stream.handle>>>(
      matrix, block_rows, found);
  cuda::check_launch();
  with_threads(matrix.nnz, block_rows, [&](auto threads) {
    const auto grid = cuda::grid_for(block_rows * threads.value, small_block);
    find_unlike_kernel<threads.value><<<grid, small_block, 0, stream.handle>>>(matrix, block_rows, found);
  });
  cuda::check_launch();
  find_many_kernel<<<grid_for_large(block_rows), large_block, 0, stream.handle>>>(matrix, block_rows, found);
  cuda::check_launch();
  return cuda::read(static_cast<const std::int32_t*>(faults.data()), stream);
}

template <class Offset>
__global__ void gather_blocks_kernel(Rows<Offset> matrix, std::int64_t block_rows, const std::int32_t* block_ptr,
                                     const std::int32_t* found, std::int32_t* block_columns) {
  const auto block_row = global_thread() / cuda::warp_size;
  if (block_row >= block_rows) return;
  const std::int32_t first = block_ptr[block_row];
  const std::int32_t count = block_ptr[block_row + 1] - first;
  const std::int32_t* const place = found + matrix.first_of(block_row);
  for (auto i = static_cast<std::int32_t>(threadIdx.x % cuda::warp_size); i < count; i += cuda::warp_size) {
    block_columns[first + i] = place[i];
  }
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

std::optional<Refusal> refuse_scratch(double bytes, Place place) {
  if (bytes <= static_cast<double>(free_memory(place))) return std::nullopt;
  return Refusal{"memory: not enough is free to look for blocks"};
}

template <class Offset>
Result<BlockPattern> find_blocks_of(Rows<Offset> matrix, Place place, Stream stream) {
  const auto nnz = static_cast<double>(matrix.nnz);
  if (auto refusal = refuse_scratch(8 * nnz, place)) return *refusal;
  const std::int64_t block_rows = (matrix.rows + matrix.r - 1) / matrix.r;
  const auto size = block_rows + 1;
  BlockPattern pattern{Array<std::int32_t>(static_cast<std::size_t>(size), place), {}, true};
  auto* counts = pattern.block_ptr.data();
  if (matrix.nnz == 0) {
    fill_bytes(counts, 0, static_cast<std::size_t>(pattern.block_ptr.bytes()), place, stream);
    return {std::move(pattern)};
  }
  Array<std::int32_t> found(static_cast<std::size_t>(2 * matrix.nnz), place);
  Array<std::int32_t> sorted;
  auto faults = list_blocks(matrix, block_rows, pattern.block_ptr, found, stream);
  if ((faults & too_long) != 0) return Refusal{"rows: more than 2^28 nonzeros in a row of blocks"};
  if ((faults & unsorted) != 0) {
    if (auto refusal = refuse_scratch(28 * nnz, place)) return *refusal;
    pattern.sorted_rows = false;
    sorted = sort_columns(matrix, place, stream);
    matrix.col_idx = sorted.data();
    faults = list_blocks(matrix, block_rows, pattern.block_ptr, found, stream);
  }
  if ((faults & duplicates) != 0) return refuse_duplicates();
  // One more than there are block rows, for the total of the scan.
  fill_bytes(counts + block_rows, 0, sizeof(std::int32_t), place, stream);
  // There are no more blocks than nonzeros.
  if (matrix.nnz > most_blocks && cuda::sum_wide(counts, size, place, stream) > most_blocks) {
    return refuse_block_count();
  }
  cuda::exclusive_scan(counts, counts, size, place, stream);
  const auto blocks = cuda::read(static_cast<const std::int32_t*>(counts) + block_rows, stream);
  pattern.block_columns = Array<std::int32_t>(static_cast<std::size_t>(blocks), place);
  gather_blocks_kernel<<<cuda::grid_for(block_rows * cuda::warp_size), cuda::default_block, 0, stream.handle>>>(
      matrix, block_rows, counts, found.data(), pattern.block_columns.data());
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
  int row_end[largest_block - 1];
#pragma unroll
  for (int i = 0; i + 1 < largest_block; ++i) {
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
      for (int i = 0; i + 1 < largest_block; ++i) {
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
    T value[largest_block];
#pragma unroll
    for (int i = 0; i < largest_block; ++i) {
      if (i < rows) value[i] = values[i * length + entry];
    }
    const auto plane = static_cast<Stride>(entry - from * matrix.c);
#pragma unroll
    for (int i = 0; i < largest_block; ++i) {
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
  const auto block_row = global_thread() / cuda::warp_size;
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
  const auto at = global_thread() / Threads;
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
  return static_cast<int>(std::min<std::int64_t>(blocks.slice, 32 / sizeof(T)));
}

// Calls body with the view of the matrix that conversion takes.
template <class T, class Body>
auto with_rows(const CsrView<T>& matrix, const BlockLayout& layout, const Body& body) {
  return std::visit(
      [&](const auto* row_ptr) {
        return body(Rows<std::remove_cvref_t<decltype(*row_ptr)>>{matrix.rows, matrix.nnz, row_ptr, matrix.col_idx,
                                                                  layout.r, layout.c, Divisor(layout.c)});
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
  const auto chunks = static_cast<std::int64_t>(blocks.block_columns.size()) / blocks.slice;
  if (chunks == 0) return;
  const auto lanes = std::min<std::int64_t>(blocks.slice, cuda::default_block);
  const dim3 block(static_cast<unsigned>(lanes), static_cast<unsigned>(cuda::default_block / lanes));
  const auto chunks_of_block = static_cast<std::int64_t>(block.y) * chunks_of_thread;
  const auto grid = (chunks + chunks_of_block - 1) / chunks_of_block * ((blocks.slice + lanes - 1) / lanes);
  place_blocks_kernel<<<cuda::grid_for(grid, 1), block, 0, stream.handle>>>(
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
      turn_kernel<<<cuda::grid_for(grouping.groups * cuda::warp_size), cuda::default_block, 0, stream.handle>>>(
          rows, matrix.values, view_of(blocks), grouping, values.data());
      cuda::check_launch();
    }
    with_threads(matrix.nnz, blocks.block_rows, [&](auto threads) {
      const auto grid = cuda::grid_for(grouping.groups * threads.value, small_block);
      fill_kernel<threads.value>
          <<<grid, small_block, 0, stream.handle>>>(rows, matrix.values, view_of(blocks), grouping, values.data());
      cuda::check_launch();
      fill_large_kernel<threads.value><<<grid_for_large(grouping.groups), large_block, 0, stream.handle>>>(
          rows, matrix.values, view_of(blocks), grouping, values.data());
      cuda::check_launch();
    });
  });
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
