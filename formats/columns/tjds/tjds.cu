#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/search.hpp"
#include "formats/columns/tjds/tjds.hpp"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/each_nonzero.cuh"
#include "formats/common/kernels/kernel.cuh"
#include "formats/common/kernels/vectors.hpp"
#include "formats/sliced/convert.hpp"

namespace autospmv::formats::tjds::device {

namespace {

constexpr int threads_of_block = 256;
constexpr int unroll = 4;

__device__ __forceinline__ std::int64_t length_of(const std::int64_t* first_of, std::int32_t column) {
  return first_of[column + 1] - first_of[column];
}

// A block has as many diagonals as its first column, the longest, has entries.
__global__ void count_diagonals_kernel(const std::int64_t* first_of, const std::int32_t* columns, std::int64_t cols,
                                       std::int64_t width, std::int64_t blocks, std::int64_t* block_columns,
                                       std::int64_t* block_diagonals) {
  const auto block = cuda::global_thread();
  if (block > blocks) return;
  const std::int64_t first = block < blocks ? block * width : cols;
  block_columns[block] = first;
  block_diagonals[block] = block < blocks ? length_of(first_of, columns[first]) : 0;
}

// A diagonal is as long as there are columns that reach it.
__global__ void diagonal_lengths_kernel(const std::int64_t* first_of, const std::int32_t* columns,
                                        const std::int64_t* block_columns, const std::int64_t* block_diagonals,
                                        std::int64_t blocks, std::int64_t diagonals, std::int64_t* lengths) {
  const auto diagonal = cuda::global_thread();
  if (diagonal == diagonals) lengths[diagonal] = 0;
  if (diagonal >= diagonals) return;
  const auto block = part_of(block_diagonals, blocks, diagonal);
  const auto depth = diagonal - block_diagonals[block];
  const auto reached = [&](std::int64_t place) { return length_of(first_of, columns[place]) > depth; };
  lengths[diagonal] = partition_point(block_columns[block], block_columns[block + 1], reached) - block_columns[block];
}

constexpr int rank_threads = 256;
constexpr int ranks_of_thread = 4;
constexpr int rank_slots_log2 = 11;
constexpr int rank_slots = 1 << rank_slots_log2;
static_assert(rank_slots >= 2 * rank_threads * ranks_of_thread);

// Where each nonzero stands in its column, in any order, and how long the columns are. The threads of a block agree on
// their ranks first, in a hash table of their columns: a long column would otherwise be counted one by one.
__global__ void __launch_bounds__(rank_threads)
    rank_kernel(const std::int32_t* col_idx, std::int64_t nnz, unsigned long long* lengths, std::uint32_t* ranks) {
  __shared__ std::int32_t columns[rank_slots];
  __shared__ std::uint32_t counts[rank_slots];
  constexpr std::int32_t none = -1;
  for (int slot = static_cast<int>(threadIdx.x); slot < rank_slots; slot += rank_threads) {
    columns[slot] = none;
    counts[slot] = 0;
  }
  __syncthreads();
  const auto first = static_cast<std::int64_t>(blockIdx.x) * rank_threads * ranks_of_thread + threadIdx.x;
  unsigned slots[ranks_of_thread];
  std::uint32_t local[ranks_of_thread];
#pragma unroll
  for (int i = 0; i < ranks_of_thread; ++i) {
    const auto k = first + i * rank_threads;
    if (k >= nnz) continue;
    const auto column = load_stream(col_idx + k);
    constexpr unsigned golden_ratio = 0x9e3779b1U;  // of 2^32: spreads neighbouring columns
    slots[i] = static_cast<unsigned>(column) * golden_ratio >> (32 - rank_slots_log2);
    for (auto met = none; (met = atomicCAS(columns + slots[i], none, column)) != none && met != column;) {
      slots[i] = (slots[i] + 1) % rank_slots;
    }
    local[i] = atomicAdd(counts + slots[i], 1U);
  }
  __syncthreads();
  for (int slot = static_cast<int>(threadIdx.x); slot < rank_slots; slot += rank_threads) {
    if (counts[slot] == 0) continue;
    counts[slot] = static_cast<std::uint32_t>(atomicAdd(lengths + columns[slot], 1ULL * counts[slot]));
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ranks_of_thread; ++i) {
    const auto k = first + i * rank_threads;
    if (k < nnz) ranks[k] = counts[slots[i]] + local[i];
  }
}

__global__ void invert_kernel(const std::int32_t* columns, std::int64_t cols, std::int32_t* places) {
  const auto place = cuda::global_thread();
  if (place < cols) places[columns[place]] = static_cast<std::int32_t>(place);
}

template <class T, class Offset>
__global__ void place_entries_kernel(CsrView<T> matrix, const Offset* row_ptr, const std::uint32_t* ranks,
                                     const std::int32_t* places, std::uint32_t width,
                                     const std::int64_t* block_diagonals, const std::int64_t* diagonals,
                                     std::int32_t* rows, T* values, std::uint32_t* source) {
  cuda_steps::for_each_nonzero(row_ptr, matrix.rows, matrix.nnz, [&](std::int64_t row, std::int64_t k) {
    const auto place = static_cast<std::uint32_t>(places[matrix.col_idx[k]]);
    const auto block = place / width;
    const auto entry = diagonals[block_diagonals[block] + ranks[k]] + (place - block * width);
    rows[entry] = static_cast<std::int32_t>(row);
    values[entry] = matrix.values[k];
    source[entry] = static_cast<std::uint32_t>(k);
  });
}

// What the product reads of one block of columns.
template <class T>
struct BlockView {
  const std::int32_t* columns;
  const std::int64_t* diagonals;
  const std::int32_t* rows;
  const T* values;
  CachePolicy policy;

  [[nodiscard]] __device__ std::int64_t length(std::int64_t diagonal) const {
    return diagonals[diagonal + 1] - diagonals[diagonal];
  }

  // The diagonals, of `count`, that every lane of a warp finds an entry in: they come first.
  [[nodiscard]] __device__ std::int64_t wide_diagonals(std::int64_t count) const {
    return partition_point(std::int64_t{0}, count, [&](std::int64_t i) { return length(i) >= cuda::warp_size; });
  }

  // The entries that the column at this place has in the first `count` diagonals, which are neighbours of those that
  // neighbouring threads add.
  __device__ void add_column(std::int64_t place, std::int64_t count, T alpha, const T* x, T* y) const {
    if (count == 0 || place >= length(0)) return;
    const T element = load_x(x + columns[place]);
    for (std::int64_t diagonal = 0; diagonal < count; diagonal += unroll) {
      std::int32_t row[unroll];
      T value[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        const bool reached = diagonal + u < count && place < length(diagonal + u);
        const std::int64_t entry = reached ? diagonals[diagonal + u] + place : 0;
        row[u] = reached ? load_stream(rows + entry, policy) : -1;
        value[u] = reached ? load_stream(values + entry, policy) : T{0};
      }
      if (row[0] < 0) return;
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        if (row[u] >= 0) atomicAdd(y + row[u], alpha * (value[u] * element));
      }
    }
  }

  __device__ void add_diagonal(std::int64_t diagonal, T alpha, const T* x, T* y) const {
    const std::int64_t first = diagonals[diagonal];
    const std::int64_t last = diagonals[diagonal + 1];
    for (auto entry = first; entry < last; ++entry) {
      const T product = load_stream(values + entry, policy) * load_x(x + columns[entry - first]);
      atomicAdd(y + load_stream(rows + entry, policy), alpha * product);
    }
  }
};

template <class T>
__global__ void __launch_bounds__(threads_of_block)
    add_kernel(const std::int64_t* block_columns, const std::int64_t* block_diagonals, BlockView<T> all, T alpha,
               const T* __restrict__ x, T* __restrict__ y) {
  const std::int64_t first_column = block_columns[blockIdx.x];
  const std::int64_t first_diagonal = block_diagonals[blockIdx.x];
  const std::int64_t columns = block_columns[blockIdx.x + 1] - first_column;
  const std::int64_t diagonals = block_diagonals[blockIdx.x + 1] - first_diagonal;
  const BlockView<T> block{all.columns + first_column, all.diagonals + first_diagonal, all.rows, all.values,
                           all.policy};
  const std::int64_t wide = block.wide_diagonals(diagonals);
  for (std::int64_t place = threadIdx.x; place < columns; place += blockDim.x) {
    block.add_column(place, wide, alpha, x, y);
  }
  for (std::int64_t diagonal = wide + threadIdx.x; diagonal < diagonals; diagonal += blockDim.x) {
    block.add_diagonal(diagonal, alpha, x, y);
  }
}

// Offsets into the columns, each nonzero's place in its own among `ranks`.
template <class T>
Array<std::int64_t> count_columns(const CsrView<T>& matrix, Array<std::uint32_t>& ranks, Place place, Stream stream) {
  Array<std::int64_t> first_of(static_cast<std::size_t>(matrix.cols) + 1, place);
  fill_bytes(first_of.data(), 0, static_cast<std::size_t>(first_of.bytes()), place, stream);
  rank_kernel<<<cuda::grid_for(matrix.nnz, rank_threads * ranks_of_thread), rank_threads, 0, cuda::InTurn(stream)>>>(
      matrix.col_idx, matrix.nnz, reinterpret_cast<unsigned long long*>(first_of.data()), ranks.data());
  cuda::check_launch();
  cuda::exclusive_scan(first_of.data(), first_of.data(), matrix.cols + 1, place, stream);
  return first_of;
}

template <class T>
void find_diagonals(const CsrView<T>& matrix, const Array<std::int64_t>& first_of, std::int64_t width, Place place,
                    Stream stream, Panel<T>& panel) {
  CsrView<T> transposed{.rows = matrix.cols, .cols = matrix.rows, .nnz = matrix.nnz};
  transposed.row_ptr = static_cast<const std::int64_t*>(first_of.data());
  panel.columns = cuda_steps::sort_rows(transposed, width, place, stream);

  const std::int64_t blocks = (matrix.cols + width - 1) / width;
  panel.block_columns = Array<std::int64_t>(static_cast<std::size_t>(blocks) + 1, place);
  panel.block_diagonals = Array<std::int64_t>(static_cast<std::size_t>(blocks) + 1, place);
  auto* const first_of_block = panel.block_diagonals.data();
  count_diagonals_kernel<<<cuda::grid_for(blocks + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      first_of.data(), panel.columns.data(), matrix.cols, width, blocks, panel.block_columns.data(), first_of_block);
  cuda::check_launch();
  cuda::exclusive_scan(first_of_block, first_of_block, blocks + 1, place, stream);
  const auto diagonals = cuda::read(static_cast<const std::int64_t*>(first_of_block) + blocks, stream);

  panel.diagonals = Array<std::int64_t>(static_cast<std::size_t>(diagonals) + 1, place);
  auto* const offsets = panel.diagonals.data();
  diagonal_lengths_kernel<<<cuda::grid_for(diagonals + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      first_of.data(), panel.columns.data(), panel.block_columns.data(), first_of_block, blocks, diagonals, offsets);
  cuda::check_launch();
  cuda::exclusive_scan(offsets, offsets, diagonals + 1, place, stream);
}

template <class T>
void place_entries(const CsrView<T>& matrix, const Array<std::uint32_t>& ranks, std::int64_t width, Place place,
                   Stream stream, Panel<T>& panel) {
  const auto entries = static_cast<std::size_t>(matrix.nnz);
  Array<std::int32_t> places(panel.columns.size(), place);
  invert_kernel<<<cuda::grid_for(matrix.cols), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      panel.columns.data(), matrix.cols, places.data());
  cuda::check_launch();
  panel.rows = Array<std::int32_t>(entries, place);
  panel.values = Array<T>(entries, place);
  panel.source = Array<std::uint32_t>(entries, place);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    place_entries_kernel<<<cuda_steps::grid_for_nonzeros(matrix.nnz), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        matrix, row_ptr, ranks.data(), places.data(), static_cast<std::uint32_t>(width), panel.block_diagonals.data(),
        panel.diagonals.data(), panel.rows.data(), panel.values.data(), panel.source.data());
  });
  cuda::check_launch();
}

}  // namespace

template <class T>
Panel<T> transpose(const CsrView<T>& matrix, std::int64_t block, Place place, Stream stream) {
  Panel<T> panel;
  panel.last_row = matrix.rows;
  if (matrix.nnz == 0) return panel;
  Array<std::uint32_t> ranks(static_cast<std::size_t>(matrix.nnz), place);
  const auto first_of = count_columns(matrix, ranks, place, stream);
  find_diagonals(matrix, first_of, block, place, stream, panel);
  place_entries(matrix, ranks, block, place, stream, panel);
  return panel;
}

template <class T>
void multiply(const Panel<T>& panel, T alpha, const T* x, T beta, T* y, Stream stream) {
  formats::device::scale(beta, y, panel.last_row, stream);
  if (panel.entries() == 0) return;
  const BlockView<T> view{
      panel.columns.data(), panel.diagonals.data(), panel.rows.data(), panel.values.data(),
      policy_for<T>(panel.rows.bytes() + panel.values.bytes(), panel.last_row, panel.columns.size())};
  add_kernel<<<static_cast<unsigned>(panel.blocks()), threads_of_block, 0, cuda::InTurn(stream)>>>(
      panel.block_columns.data(), panel.block_diagonals.data(), view, alpha, x, y);
  cuda::check_launch();
}

template Panel<float> transpose(const CsrView<float>&, std::int64_t, Place, Stream);
template Panel<double> transpose(const CsrView<double>&, std::int64_t, Place, Stream);
template void multiply(const Panel<float>&, float, const float*, float, float*, Stream);
template void multiply(const Panel<double>&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::tjds::device
