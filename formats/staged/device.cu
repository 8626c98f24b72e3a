#include "formats/staged/device.cuh"

#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/row_parts.cuh"
#include "formats/staged/shared_memory.cuh"
#include "formats/staged/storage.hpp"

namespace autospmv::formats {

namespace {

// Rows of more entries a thread than this get a warp: fewer cost less than the shuffles of a sum on their own.
constexpr int share_above = 64;

// What a kernel reads of the matrix and its blocks, by value.
template <class Offset, class T>
struct BlockRows {
  const BlockStart* starts;
  const Offset* row_ptr;
  std::int64_t part;  // of cut rows; 0 where no row is cut
  PartSumsView<T> parts;
};

template <class T>
struct Target {
  T alpha;
  T beta;
  T* y;

  __device__ __forceinline__ void store(std::int64_t row, T sum) const { store_row(y, row, alpha, sum, beta); }
};

// Entries of a row, counted from the start of its block.
struct Span {
  int first;
  int last;
};

template <class T>
__device__ __forceinline__ T sum_staged(const T* staged, int first, int last, int step) {
  T sum = 0;
#pragma unroll 4
  for (int entry = first; entry < last; entry += step) sum += staged[staged_slot<T>(entry)];
  return sum;
}

// A warp sums the rows whose lanes have left them to it, one after another.
template <class T>
__device__ __forceinline__ void sum_long_rows(const T* staged, Span span, std::int64_t row, bool is_mine,
                                              const Target<T>& target) {
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  for (unsigned left = __ballot_sync(cuda::all_lanes, is_mine); left != 0; left &= left - 1) {
    const int from = __ffs(static_cast<int>(left)) - 1;
    const int first = __shfl_sync(cuda::all_lanes, span.first, from);
    const int last = __shfl_sync(cuda::all_lanes, span.last, from);
    const std::int64_t long_row = __shfl_sync(cuda::all_lanes, row, from);
    const T sum = sum_lanes<cuda::warp_size>(sum_staged(staged, first + lane, last, cuda::warp_size));
    if (lane == 0) target.store(long_row, sum);
  }
}

// CSR-Stream: several rows, staged and then summed.
template <class T, class Offset, class Reader>
__device__ __forceinline__ void multiply_rows(const Offset* row_ptr, BlockStart from, BlockStart to,
                                              const Reader& reader, const T* x, T* staged, T* of_warp,
                                              const Target<T>& target) {
  const int rows = static_cast<int>(to.row - from.row);
  const int threads = threads_of_row(rows);
  const int lane = static_cast<int>(threadIdx.x) & (threads - 1);
  const int rows_at_once = static_cast<int>(blockDim.x) / threads;
  const auto span_of = [&](int row) {
    if (row >= rows) return Span{0, 0};
    const Offset* ends = row_ptr + from.row + row;
    return Span{static_cast<int>(ends[0] - from.entry), static_cast<int>(ends[1] - from.entry)};
  };
  int row = static_cast<int>(threadIdx.x) / threads;
  Span next = span_of(row);  // loaded together with the matrix
  visit_products(reader, from.entry, to.entry, x, [&](std::int64_t entry, T product) {
    staged[staged_slot<T>(static_cast<int>(entry - from.entry))] = product;
  });
  __syncthreads();
  for (int first_row = 0; first_row < rows; first_row += rows_at_once, row += rows_at_once) {
    const Span span = next;
    next = span_of(row + rows_at_once);
    const bool is_long = threads <= cuda::warp_size && span.last - span.first > share_above * threads;
    T sum = sum_staged(staged, span.first + lane, is_long ? 0 : span.last, threads);
    sum = sum_threads(sum, lane, threads, of_warp);
    if (row < rows && lane == 0 && !is_long) target.store(from.row + row, sum);
    sum_long_rows(staged, span, from.row + row, is_long && lane == 0, target);
  }
}

// CSR-Vector and CSR-VectorL: a row alone, or a part of one.
template <class T, class Offset, class Reader>
__device__ __forceinline__ void multiply_row(const BlockRows<Offset, T>& rows, BlockStart from, BlockStart to,
                                             const Reader& reader, const T* x, T* of_warp, const Target<T>& target) {
  const int thread = static_cast<int>(threadIdx.x);
  T sum = 0;
  visit_products(reader, from.entry, to.entry, x, [&](std::int64_t /*entry*/, T product) { sum += product; });
  sum = sum_threads(sum, thread, static_cast<int>(blockDim.x), of_warp);
  if (rows.part > 0) {
    const std::int64_t first = rows.row_ptr[from.row];
    const std::int64_t length = rows.row_ptr[from.row + 1] - first;
    if (length > rows.part) {
      const std::int64_t first_block = blockIdx.x - (from.entry - first) / rows.part;
      finish_part(rows.parts, first_block, (length + rows.part - 1) / rows.part, sum, of_warp,
                  [&](T total) { target.store(from.row, total); });
      return;
    }
  }
  if (thread == 0) target.store(from.row, sum);
}

template <class T, class Offset, class Reader>
__global__ void staged_rows_kernel(BlockRows<Offset, T> rows, Reader reader, CachePolicy policy, const T* x,
                                   Target<T> target) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ T of_warp[most_warps];
  const BlockStart from = rows.starts[blockIdx.x];
  const BlockStart to = rows.starts[blockIdx.x + 1];
  cuda::await_before();
  reader.open(policy);
  if (to.row - from.row > 1) {
    multiply_rows(rows.row_ptr, from, to, reader, x, reinterpret_cast<T*>(memory), of_warp, target);
  } else {
    multiply_row(rows, from, to, reader, x, of_warp, target);
  }
}

template <class T, class Body>
void with_reader(const CsrView<T>& matrix, const EncodedValues<T>& encoded, bool wide, const Body& body) {
  if (encoded.bits != full_value_bits<T>) {
    with_values(encoded, [&](const auto& values) {
      body(SingleEntries<T, std::decay_t<decltype(values)>>{FullColumns{matrix.col_idx}, values});
    });
    return;
  }
  const auto aligned = [](const void* array) { return reinterpret_cast<std::uintptr_t>(array) % 16 == 0; };
  if (wide && aligned(matrix.col_idx) && aligned(matrix.values)) {
    body(WideEntries<T>{matrix.col_idx, matrix.values, matrix.nnz});
  } else {
    body(SingleEntries<T, FullValues<T>>{FullColumns{matrix.col_idx}, {matrix.values}});
  }
}

}  // namespace

template <class T>
void multiply_staged_rows_cuda(const CsrView<T>& matrix, const EncodedValues<T>& encoded, const RowBlocks& blocks,
                               PartSums<T>& parts, const StagedRows& shape, T alpha, const T* x, T beta, T* y,
                               Stream stream) {
  if (blocks.count() == 0) return;
  const auto grid = cuda::grid_for(blocks.count() * shape.block, shape.block);
  const int bytes = staged_bytes<T>(blocks.limits.entries);
  const auto policy = policy_for<T>(matrix.bytes(), matrix.rows, matrix.cols);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    const BlockRows rows{blocks.starts.data(), row_ptr, blocks.split ? blocks.limits.part : std::int64_t{0},
                         PartSumsView<T>{parts.sums.data(), parts.finished.data()}};
    with_reader(matrix, encoded, shape.wide, [&](const auto& reader) {
      const auto kernel = staged_rows_kernel<T, std::decay_t<decltype(*row_ptr)>, std::decay_t<decltype(reader)>>;
      allow_shared_memory(kernel, bytes);
      cuda::launch_early(kernel, grid, shape.block, static_cast<std::size_t>(bytes), stream, rows, reader, policy, x,
                         Target<T>{alpha, beta, y});
    });
  });
}

#define AUTOSPMV_STAGED(T)                                                                                            \
  template void multiply_staged_rows_cuda(const CsrView<T>&, const EncodedValues<T>&, const RowBlocks&, PartSums<T>&, \
                                          const StagedRows&, T, const T*, T, T*, Stream);
AUTOSPMV_STAGED(float)
AUTOSPMV_STAGED(double)
#undef AUTOSPMV_STAGED

}  // namespace autospmv::formats
