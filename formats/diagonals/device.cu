#include <algorithm>
#include <bit>
#include <climits>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/dispatch.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/diagonals/convert.hpp"
#include "formats/diagonals/device.cuh"

namespace autospmv::formats::cuda_steps {

namespace {

// 2^lanes_log2 threads a row, so that neighbouring threads read neighbouring nonzeros, and each of them a few.
template <class T, class Offset>
__global__ void mark_kernel(CsrView<T> matrix, const Offset* row_ptr, int lanes_log2, std::int32_t least,
                            std::uint8_t* used) {
  const auto row = cuda::global_thread() >> lanes_log2;
  if (row >= matrix.rows) return;
  const int lanes = 1 << lanes_log2;
  const std::int64_t last = row_ptr[row + 1];
  std::uint8_t* const used_by_row = used + (matrix.rows - row);
#pragma unroll 4
  for (std::int64_t k = row_ptr[row] + (static_cast<int>(threadIdx.x) & (lanes - 1)); k < last; k += lanes) {
    const auto column = load_stream(matrix.col_idx + k);
    if (column - static_cast<std::int32_t>(row) < least) continue;
    std::uint8_t* flag = used_by_row + column;
    // Few diagonals are met by very many rows: an old copy in the nearest cache costs a store too many, no more.
    if (__ldca(flag) == 0) *flag = 1;
  }
}

__global__ void offsets_kernel(const std::int32_t* positions, std::int64_t count, std::int64_t rows,
                               std::int32_t* offsets) {
  const auto d = cuda::global_thread();
  if (d < count) offsets[d] = static_cast<std::int32_t>(positions[d] - rows);
}

// The smallest value of a block of at most 32 warps, in all of its threads. `of_warp` alternates between two arrays, so
// that one barrier is enough: nobody writes to one of them before all have read it.
__device__ std::int32_t smallest_of_block(std::int32_t value, std::int32_t* of_warp) {
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  value = cuda::least_of_warp(value);
  if (lane == 0) of_warp[threadIdx.x / cuda::warp_size] = value;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / cuda::warp_size;
  return cuda::least_of_warp(lane < warps ? of_warp[lane] : INT_MAX);
}

// A block a hack, a thread a row: the rows' offsets are merged. Counts them where there is no place yet to write them
// to, and keeps as many of a hack as there is room for, so that few hacks are merged a second time.
template <class T, class Offset>
__global__ void __launch_bounds__(largest_hack)
    merge_kernel(CsrView<T> matrix, const Offset* row_ptr, std::int32_t* first, std::int32_t* offsets,
                 std::int32_t* kept, std::int32_t room) {
  __shared__ std::int32_t of_warp[2][largest_hack / cuda::warp_size];
  const auto index = cuda::global_thread();
  kept += static_cast<std::int64_t>(blockIdx.x) * room;
  if (offsets != nullptr) {
    offsets += first[blockIdx.x];
    const auto count = first[blockIdx.x + 1] - first[blockIdx.x];
    if (count <= room) {
      for (auto d = static_cast<std::int32_t>(threadIdx.x); d < count; d += static_cast<std::int32_t>(blockDim.x)) {
        offsets[d] = kept[d];
      }
      return;
    }
  }
  // Whether its columns differ or repeat, such a row is refused: better now than after a long look at it.
  const bool too_long = index < matrix.rows && row_ptr[index + 1] - row_ptr[index] > most_hack_diagonals;
  if (__syncthreads_or(static_cast<int>(too_long)) != 0) {
    if (threadIdx.x == 0) first[blockIdx.x] = too_many_diagonals;
    return;
  }
  using Row = RowOffsetsInOrder<Offset>;
  Row row(matrix.col_idx, row_ptr, index, matrix.rows);
  std::int32_t found = 0;
  for (; found <= most_hack_diagonals; ++found) {
    const auto smallest = smallest_of_block(row.next(), of_warp[found % 2]);
    if (smallest == Row::none) break;
    if (threadIdx.x == 0) {
      if (offsets != nullptr) {
        offsets[found] = smallest;
      } else if (found < room) {
        kept[found] = smallest;
      }
    }
    if (row.next() == smallest) row.pass();
  }
  if (offsets == nullptr && threadIdx.x == 0) {
    first[blockIdx.x] = found > most_hack_diagonals ? too_many_diagonals : found;
  }
}

template <class T>
void merge(const CsrView<T>& matrix, Diagonals<T>& diagonals, std::int32_t* offsets, Array<std::int32_t>& kept,
           Stream stream) {
  if (diagonals.hacks == 0) return;
  const auto room = static_cast<std::int32_t>(static_cast<std::int64_t>(kept.size()) / diagonals.hacks);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    merge_kernel<<<static_cast<unsigned>(diagonals.hacks), static_cast<unsigned>(diagonals.hack), 0,
                   cuda::InTurn(stream)>>>(matrix, row_ptr, diagonals.first.data(), offsets, kept.data(), room);
  });
  cuda::check_launch();
}

// Some neighbouring diagonals at the rows of a thread: N of them, or as many as there are. Elements of x are asked for
// with the values, before it is known whether there is a nonzero to multiply them.
template <int N, int Rows, class T>
struct SomeDiagonals {
  T value[N][Rows] = {};
  T element[N][Rows] = {};

  // Values and x at the thread's first row. All that the warp may need of x is there, or it has to be asked of each
  // element; slots outside of the matrix are absent.
  template <bool inside>
  __device__ __forceinline__ void load(const T* values, std::int64_t stride, CachePolicy policy,
                                       const std::int32_t* offsets, int count, const T* x, std::int32_t row,
                                       std::int32_t cols) {
    std::int32_t offset[N];
#pragma unroll
    for (int u = 0; u < N; ++u) offset[u] = u < count ? __ldg(offsets + u) : 0;
#pragma unroll
    for (int u = 0; u < N; ++u) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (u < count) value[u][r] = load_stream(values + u * stride + r * cuda::warp_size, policy);
      }
    }
#pragma unroll
    for (int u = 0; u < N; ++u) {
      const T* const x_of_row = x + offset[u];
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const auto column = static_cast<std::uint32_t>(row + offset[u] + r * cuda::warp_size);
        const bool there = inside || column < static_cast<std::uint32_t>(cols);
        if (u < count && there) element[u][r] = load_x(x_of_row + r * cuda::warp_size);
      }
    }
  }

  __device__ __forceinline__ void add_to(T (&sum)[Rows]) const {
#pragma unroll
    for (int u = 0; u < N; ++u) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (!is_absent(value[u][r])) sum[r] += value[u][r] * element[u][r];
      }
    }
  }
};

// All rows of a warp lie in one hack.
template <int Rows, class T>
__global__ void multiply_kernel(DiagonalShape shape, const T* values, CachePolicy policy, T alpha, const T* x, T beta,
                                T* __restrict__ y) {
  // Diagonals whose loads are under way together.
  constexpr int in_flight = 8 / Rows;
  const auto first_row = first_row_of_warp<Rows>();
  if (first_row >= shape.rows) return cuda::await_before();
  const auto at = shape.at(first_row);
  const auto first = static_cast<std::int32_t>(first_row);
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  const auto row = first + lane;
  const auto cols = static_cast<std::int32_t>(shape.cols);
  const T* const values_of_row = values + at.slot + lane;
  const T* const x_of_row = x + row;
  cuda::await_before();
  T sum[Rows] = {};
  const auto add = [&](auto some, std::int32_t j, std::int32_t count) {
    const auto* offsets = at.offsets + j;
    const T* const values_at = values_of_row + j * shape.hack;
    // They increase.
    const auto least = __ldg(offsets);
    const auto most = __ldg(offsets + (count - 1));
    if (first + least >= 0 && first + rows_of_warp<Rows> <= cols - most) {
      some.template load<true>(values_at, shape.hack, policy, offsets, count, x_of_row, row, cols);
    } else {
      some.template load<false>(values_at, shape.hack, policy, offsets, count, x_of_row, row, cols);
    }
    some.add_to(sum);
  };
  std::int32_t j = 0;
  for (; j + in_flight <= at.count; j += in_flight) add(SomeDiagonals<in_flight, Rows, T>{}, j, in_flight);
  // The rest, all loads before the first use here too: a stencil of seven diagonals is nothing but this rest.
  if (j < at.count) add(SomeDiagonals<in_flight - 1, Rows, T>{}, j, at.count - j);
  store_rows(y, row, shape.rows, alpha, sum, beta);
}

}  // namespace

template <class T>
Array<std::int32_t> find_offsets(const CsrView<T>& matrix, std::int64_t least, Place place, Stream stream) {
  const auto range = matrix.rows + matrix.cols;
  if (matrix.nnz == 0) return Array<std::int32_t>(0, place);
  Array<std::uint8_t> used(static_cast<std::size_t>(range), place);
  fill_bytes(used.data(), 0, used.size(), place, stream);
  const double npr = static_cast<double>(matrix.nnz) / static_cast<double>(matrix.rows);
  constexpr double nonzeros_of_lane = 4;
  const auto lanes = power_of_two_above(npr / nonzeros_of_lane, cuda::warp_size);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    mark_kernel<<<cuda::grid_for(matrix.rows * lanes), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        matrix, row_ptr, std::countr_zero(static_cast<unsigned>(lanes)), static_cast<std::int32_t>(least), used.data());
  });
  cuda::check_launch();
  Array<std::int32_t> positions(static_cast<std::size_t>(range), place);
  const auto count = cuda::flagged_positions(used.data(), range, positions.data(), place, stream);
  Array<std::int32_t> offsets(static_cast<std::size_t>(count), place);
  offsets_kernel<<<cuda::grid_for(count), cuda::default_block, 0, cuda::InTurn(stream)>>>(positions.data(), count,
                                                                                          matrix.rows, offsets.data());
  cuda::check_launch();
  return offsets;
}

template <class T>
Array<std::int32_t> count_diagonals(const CsrView<T>& matrix, Diagonals<T>& diagonals, Stream stream) {
  auto& counts = diagonals.first;
  fill_bytes(counts.data(), 0, static_cast<std::size_t>(counts.bytes()), counts.place(), stream);
  Array<std::int32_t> kept(static_cast<std::size_t>(diagonals.hacks * kept_offsets(matrix)), counts.place());
  merge(matrix, diagonals, nullptr, kept, stream);
  return kept;
}

template <class T>
void list_offsets(const CsrView<T>& matrix, Diagonals<T>& diagonals, Array<std::int32_t>& kept, Stream stream) {
  if (!diagonals.offsets.empty()) merge(matrix, diagonals, diagonals.offsets.data(), kept, stream);
}

template <class T>
void multiply(const Diagonals<T>& diagonals, T alpha, const T* x, T beta, T* y, Stream stream) {
  const auto& layout = diagonals.layout;
  const auto policy = policy_for<T>(diagonals.bytes(), diagonals.rows, diagonals.cols);
  dispatch<1, 2, 4>(layout.rows, [&](auto rows) {
    cuda::launch_early(multiply_kernel<rows.value, T>, grid_of_rows<rows.value>(diagonals.rows, layout.block),
                       layout.block, 0, stream, diagonals.shape(), diagonals.values.data(), policy, alpha, x, beta, y);
  });
}

#define AUTOSPMV_DIAGONALS(T)                                                                 \
  template Array<std::int32_t> find_offsets(const CsrView<T>&, std::int64_t, Place, Stream);  \
  template Array<std::int32_t> count_diagonals(const CsrView<T>&, Diagonals<T>&, Stream);     \
  template void list_offsets(const CsrView<T>&, Diagonals<T>&, Array<std::int32_t>&, Stream); \
  template void multiply(const Diagonals<T>&, T, const T*, T, T*, Stream);
AUTOSPMV_DIAGONALS(float)
AUTOSPMV_DIAGONALS(double)
#undef AUTOSPMV_DIAGONALS

}  // namespace autospmv::formats::cuda_steps
