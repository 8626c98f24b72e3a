#include <bit>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/search.hpp"
#include "formats/blocks/convert.hpp"
#include "formats/blocks/rows.cuh"
#include "formats/common/kernels/each_nonzero.cuh"

namespace autospmv::formats::cuda_steps {

namespace {

enum Fault : std::int32_t { unsorted = 1, duplicates = 2, too_long = 4 };

// Nonzeros of a block row, and slots of it where its blocks are full, are counted in 32 bits.
constexpr std::int64_t most_nonzeros = 1 << 28;

// Increasing lists of blocks, side by side in a buffer: of the rows of a block row at first.
struct Lists {
  int first[largest_block_size + 1];
  int length[largest_block_size];
  int row_begin[largest_block_size];  // nonzeros of the block row before it
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

// What is wrong with a column after another one of its row.
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
  const auto end = __shfl_down_sync(cuda::all_lanes, begin, 1);
  const auto length = __shfl_sync(cuda::all_lanes, end - begin, 0);
  if (!__all_sync(cuda::all_lanes, static_cast<int>(lane >= matrix.r || end - begin == length))) return -1;
  int count = 0;
  int fault = 0;
  for (std::int64_t start = 0; start < length; start += cuda::warp_size) {
    const auto entry = start + lane;
    const bool inside = entry < length;
    bool alike = true;
    bool is_new = false;
    std::uint32_t block = 0;
    for (int i = 0; i < matrix.r; ++i) {
      const auto k = __shfl_sync(cuda::all_lanes, begin, i) + entry;
      const std::int32_t column = inside ? matrix.col_idx[k] : 0;
      std::int32_t previous = __shfl_up_sync(cuda::all_lanes, column, 1);
      if (lane == 0) previous = entry > 0 ? matrix.col_idx[k - 1] : -1;
      if (!inside) continue;
      fault |= fault_of(previous, column);
      if (i == 0) {
        block = matrix.block_of(column);
        is_new = entry == 0 || matrix.block_of(previous) != block;
      }
      alike = alike && matrix.block_of(column) == block;
    }
    if (!__all_sync(cuda::all_lanes, static_cast<int>(alike))) return -1;
    const unsigned firsts = __ballot_sync(cuda::all_lanes, static_cast<int>(is_new));
    if (is_new) to[count + __popc(firsts & ((1U << lane) - 1))] = static_cast<std::int32_t>(block);
    count += __popc(firsts);
  }
  report(fault, faults);
  return count;
}

// What became of the lists of a block row's rows.
enum class Listed : std::uint8_t { all, no_room, unsorted };

// The blocks of each row into buffers.from(). Rows must be sorted.
template <int Threads, class Offset>
__device__ Listed list_rows(const Rows<Offset>& matrix, std::int64_t block_row, const Buffers& buffers, Lists& lists,
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
  if (Team<Threads>::any((fault & unsorted) != 0)) return Listed::unsorted;
  if (thread < matrix.r && lists.row_begin[thread] == nonzeros) lists.first[thread] = count;
  if (thread == matrix.r) lists.first[thread] = count;
  Team<Threads>::sync();
  if (thread < matrix.r) lists.length[thread] = lists.first[thread + 1] - lists.first[thread];
  Team<Threads>::sync();
  return count <= buffers.room ? Listed::all : Listed::no_room;
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
  const auto block_row = cuda::global_thread() / cuda::warp_size;
  if (block_row >= block_rows) return;
  int count = 0;
  if (matrix.first_of(block_row + 1) - matrix.first_of(block_row) > most_nonzeros) {
    report(too_long, found.faults);
  } else {
    count = list_alike(matrix, block_row, found.columns + matrix.first_of(block_row), found.faults);
  }
  if (threadIdx.x % cuda::warp_size == 0) found.counts[block_row] = count >= 0 ? count : unlike;
}

// Lists the blocks of each row and merges the lists, two into one, until one is left.
template <int Threads, class Offset>
__device__ void find_unlike(const Rows<Offset>& matrix, std::int64_t block_row, Buffers buffers, Lists& lists,
                            const Found& found) {
  const int thread = Team<Threads>::thread();
  const auto listed = list_rows<Threads>(matrix, block_row, buffers, lists, found.faults);
  if (listed != Listed::all) {
    if (thread == 0) found.counts[block_row] = listed == Listed::no_room ? too_many : 0;
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
  const auto block_row = cuda::global_thread() / Threads;
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

// Returns the faults that were met.
template <class Offset>
std::int32_t list_blocks(const Rows<Offset>& matrix, std::int64_t block_rows, Array<std::int32_t>& counts,
                         Array<std::int32_t>& columns, Stream stream) {
  Array<std::int32_t> faults(1, counts.place());
  fill_bytes(faults.data(), 0, sizeof(std::int32_t), counts.place(), stream);
  const Found found{counts.data(), columns.data(), matrix.nnz, faults.data()};
  find_alike_kernel<<<cuda::grid_for(block_rows * cuda::warp_size), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      matrix, block_rows, found);
  cuda::check_launch();
  with_threads(matrix.nnz, block_rows, [&](auto threads) {
    const auto grid = cuda::grid_for(block_rows * threads.value, small_block);
    find_unlike_kernel<threads.value><<<grid, small_block, 0, cuda::InTurn(stream)>>>(matrix, block_rows, found);
  });
  cuda::check_launch();
  find_many_kernel<<<grid_for_large(block_rows), large_block, 0, cuda::InTurn(stream)>>>(matrix, block_rows, found);
  cuda::check_launch();
  return cuda::read(static_cast<const std::int32_t*>(faults.data()), stream);
}

template <class Offset>
__global__ void gather_blocks_kernel(Rows<Offset> matrix, std::int64_t block_rows, const std::int32_t* block_ptr,
                                     const std::int32_t* found, std::int32_t* block_columns) {
  const auto block_row = cuda::global_thread() / cuda::warp_size;
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
  sort_keys_kernel<<<grid_for_nonzeros(matrix.nnz), cuda::default_block, 0, cuda::InTurn(stream)>>>(matrix, keys.data(),
                                                                                                    columns.data());
  cuda::check_launch();
  const int row_bits = std::bit_width(static_cast<std::uint64_t>(matrix.rows - 1));
  cuda::sort_pairs(keys, columns, 32 + row_bits, stream);
  return columns;
}

std::optional<Refusal> refuse_scratch(double bytes, Place place) {
  if (has_free_memory(bytes, place)) return std::nullopt;
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
  const auto blocks = cuda::offsets_from_counts(counts, size, place, stream);
  if (blocks > most_blocks) return refuse_block_count();
  pattern.block_columns = Array<std::int32_t>(static_cast<std::size_t>(blocks), place);
  gather_blocks_kernel<<<cuda::grid_for(block_rows * cuda::warp_size), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      matrix, block_rows, counts, found.data(), pattern.block_columns.data());
  cuda::check_launch();
  return {std::move(pattern)};
}

}  // namespace

template <class T>
Result<BlockPattern> find_blocks(const CsrView<T>& matrix, const BlockLayout& layout, Place place, Stream stream) {
  return with_rows(matrix, layout, [&](const auto& rows) { return find_blocks_of(rows, place, stream); });
}

template Result<BlockPattern> find_blocks(const CsrView<float>&, const BlockLayout&, Place, Stream);
template Result<BlockPattern> find_blocks(const CsrView<double>&, const BlockLayout&, Place, Stream);

}  // namespace autospmv::formats::cuda_steps
