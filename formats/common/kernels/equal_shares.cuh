// The kernels' side of formats/common/kernels/equal_shares.hpp: a warp a share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/equal_shares.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/common/kernels/segmented.cuh"

namespace autospmv::formats {

/// By value in kernels.
template <class T>
struct SharesView {
  const std::int64_t* starts;
  const std::int32_t* continued;
  const std::int32_t* crossing;
  const std::int32_t* empty_rows;
  T* carries;                  ///< nullptr: added by atomics
  std::uint32_t* blocks_done;  ///< nullptr unless the last block adds the carries
  std::int64_t count;
  std::int64_t crossings;
  std::int64_t empties;
};

/// Takes the sums of a share's rows, each of them once.
template <class T>
struct RowSink {
  T alpha;
  T beta;
  T* y;
  std::int32_t before;  ///< the row that goes on from the share before, or -1
  std::int32_t after;   ///< the row that goes on in the share after, or -1
  T* carry;             ///< nullptr: atomics

  __device__ RowSink(const SharesView<T>& shares, std::int64_t share, T of_alpha, T of_beta, T* of_y)
      : alpha(of_alpha),
        beta(of_beta),
        y(of_y),
        before(__ldg(shares.continued + share)),
        after(__ldg(shares.continued + share + 1)),
        carry(shares.carries == nullptr ? nullptr : shares.carries + share) {}

  __device__ __forceinline__ void put(std::int32_t row, T sum) const {
    if (carry != nullptr && row == before) {
      *carry = sum;
    } else if (carry == nullptr && (row == before || row == after)) {
      atomicAdd(y + row, alpha * sum);
    } else {
      store_row(y, row, alpha, sum, beta);
    }
  }
};

namespace detail {

template <class T>
__device__ __forceinline__ void scale_element(T* y, T beta) {
  *y = beta == T{0} ? T{0} : beta * *y;
}

/// Adds the carries to the rows that crossings [first, crossings), `step` warps apart, are about: a thread a row, and
/// a warp together where a row has many. y and carries may have been written by other blocks of the same kernel, so
/// they are read from where these have met.
template <class T>
__device__ void add_carries(const SharesView<T>& shares, std::int64_t first, std::int64_t step, T alpha, T* y) {
  constexpr int alone = 4;  // carries
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  for (auto base = first * cuda::warp_size; base < shares.crossings; base += step * cuda::warp_size) {
    const bool inside = base + lane < shares.crossings;
    std::int64_t share = inside ? shares.crossing[base + lane] : shares.count;
    const std::int32_t row = shares.continued[share];  // -1 past the last share
    const auto goes_on = [&](std::int64_t at, std::int32_t in) {
      return at < shares.count && shares.continued[at] == in;
    };
    T sum = 0;
    for (int i = 0; i < alone && goes_on(share, row); ++i, ++share) sum += __ldcg(shares.carries + share);
    for (unsigned left = __ballot_sync(cuda::all_lanes, goes_on(share, row)); left != 0; left &= left - 1) {
      const int leader = __ffs(static_cast<int>(left)) - 1;
      const std::int64_t from = __shfl_sync(cuda::all_lanes, share, leader);
      const std::int32_t of_leader = __shfl_sync(cuda::all_lanes, row, leader);
      T part = 0;
      for (auto at = from + lane; goes_on(at, of_leader); at += cuda::warp_size) part += __ldcg(shares.carries + at);
      part = __shfl_sync(cuda::all_lanes, sum_lanes<cuda::warp_size>(part), 0);
      if (lane == leader) sum += part;
    }
    if (inside) y[row] = __ldcg(y + row) + alpha * sum;
  }
}

template <class T>
__global__ void scale_crossing_kernel(SharesView<T> shares, T beta, T* y) {
  const auto i = cuda::global_thread();
  cuda::await_before();
  if (i < shares.crossings) scale_element(y + shares.continued[shares.crossing[i]], beta);
}

template <class T>
__global__ void add_carries_kernel(SharesView<T> shares, T alpha, T* y) {
  const auto warp = cuda::global_thread() / cuda::warp_size;
  cuda::await_before();
  add_carries(shares, warp, static_cast<std::int64_t>(gridDim.x) * (blockDim.x / cuda::warp_size), alpha, y);
}

// Whether all other blocks of the grid are done; what they wrote can be read then. Called by all threads.
__device__ __forceinline__ bool is_last_block(std::uint32_t* blocks_done) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  // Wraps round to 0 at the last block, ready for the next product.
  if (threadIdx.x == 0) last = atomicInc(blocks_done, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  __threadfence();
  return last;
}

}  // namespace detail

/// The frame of a kernel that has waited for those before it: rows without entries, share by share body(share) by all
/// lanes of a warp, and the carries where the kernel adds them itself. Called by all threads of the grid.
template <class T, class Body>
__device__ __forceinline__ void for_share_of_warp(const SharesView<T>& shares, T alpha, T beta, T* y,
                                                  const Body& body) {
  const auto thread = cuda::global_thread();
  if (thread < shares.empties) detail::scale_element(y + shares.empty_rows[thread], beta);
  const auto share = thread / cuda::warp_size;
  if (share < shares.count) body(share);
  if (shares.blocks_done != nullptr && detail::is_last_block(shares.blocks_done)) {
    detail::add_carries(shares, static_cast<std::int64_t>(threadIdx.x) / cuda::warp_size,
                        static_cast<std::int64_t>(blockDim.x) / cuda::warp_size, alpha, y);
  }
}

/// Calls launch(view, grid), which launches a kernel of that frame early, and what must run before and after it.
template <class T, class Launch>
void multiply_in_shares(const EqualShares<T>& shares, int block, T alpha, T beta, T* y, Stream stream,
                        const Launch& launch) {
  SharesView<T> view{shares.starts.data(),
                     shares.continued.data(),
                     shares.crossing.data(),
                     shares.empty_rows.data(),
                     nullptr,
                     nullptr,
                     shares.count,
                     static_cast<std::int64_t>(shares.crossing.size()),
                     static_cast<std::int64_t>(shares.empty_rows.size())};
  const auto grid = cuda::grid_for(std::max(shares.count * cuda::warp_size, view.empties), block);
  const auto crossing_grid = cuda::grid_for(view.crossings);
  if (!shares.carries) {
    if (view.crossings > 0 && beta != T{1}) {
      cuda::launch_early(detail::scale_crossing_kernel<T>, crossing_grid, cuda::default_block, 0, stream, view, beta,
                         y);
    }
    launch(view, grid);
    return;
  }
  const bool in_one = shares.cut.fixup == Fixup::last_block;
  shares.carries->use(stream, [&](Carries<T>& carries) {
    view.carries = carries.sums.data();
    if (in_one) view.blocks_done = carries.blocks_done.data();
    launch(view, grid);
    if (in_one) return;
    cuda::launch_early(detail::add_carries_kernel<T>, crossing_grid, cuda::default_block, 0, stream, view, alpha, y);
  });
}

}  // namespace autospmv::formats
