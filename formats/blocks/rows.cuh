// What both kernels that find blocks and those that fill them need: the rows of the matrix, and teams of threads of
// which each takes a block row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/matrix/csr.hpp"
#include "formats/blocks/storage.hpp"

namespace autospmv::formats::cuda_steps {

inline constexpr int largest_block_size = std::max({AUTOSPMV_BLOCK_SIZES});

/// Divides numbers below 2^31 by one of 2 or more, known when the kernel is launched: a multiplication by its
/// reciprocal, 2^(32 + shift) times and rounded up, of which the error is too small to show. That of a power of two
/// would not fit; half of it does.
class Divisor {
 public:
  explicit Divisor(int by) {
    const auto divisor = static_cast<std::uint32_t>(by);
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

/// What conversion reads of a matrix.
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

/// The threads that work on one thing together: a warp of a block, or a whole block of several warps.
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
  /// Whether any thread of the team says yes.
  __device__ static bool any(bool yes) {
    if constexpr (is_warp) {
      return __any_sync(cuda::all_lanes, static_cast<int>(yes)) != 0;
    } else {
      return __syncthreads_or(static_cast<int>(yes)) != 0;
    }
  }
  /// How many threads before this one say yes; `total` is how many of the team do.
  __device__ static int count_before(bool yes, int& total) {
    const unsigned of_warp = __ballot_sync(cuda::all_lanes, static_cast<int>(yes));
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

/// Block rows of few nonzeros are for a warp each, of more for a block of a few warps; the rare ones that are too many
/// for the shared memory of either are for a large block.
inline constexpr int small_block = 128;
inline constexpr int large_block = 512;

/// Calls body(item) for those of so many items that are large, by all threads of a large block, on every block of
/// the grid for a few of them: items that are neighbours go to different blocks.
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

inline unsigned grid_for_large(std::int64_t items) { return cuda::grid_for(std::min<std::int64_t>(items, 512), 1); }

/// Calls body with the number of threads that suit items of so many nonzeros.
template <class Body>
void with_threads(std::int64_t nonzeros, std::int64_t items, const Body& body) {
  constexpr std::int64_t many = 768;
  if (nonzeros <= many * items) return body(std::integral_constant<int, cuda::warp_size>{});
  body(std::integral_constant<int, small_block>{});
}

/// Calls body with the view of the matrix that conversion takes.
template <class T, class Body>
auto with_rows(const CsrView<T>& matrix, const BlockLayout& layout, const Body& body) {
  return with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    return body(Rows<std::remove_cvref_t<decltype(*row_ptr)>>{matrix.rows, matrix.nnz, row_ptr, matrix.col_idx,
                                                              layout.r, layout.c, Divisor(layout.c)});
  });
}

}  // namespace autospmv::formats::cuda_steps
