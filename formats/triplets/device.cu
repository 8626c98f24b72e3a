#include "core/cuda/early.cuh"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/equal_shares.cuh"
#include "formats/common/kernels/kernel.cuh"
#include "formats/common/kernels/segmented.cuh"
#include "formats/triplets/storage.hpp"

namespace autospmv::formats {

namespace {

// Entries of a thread whose loads are all made before the first is used.
constexpr int unroll = 4;

// One share, by one warp. A row that goes on into the next 32 entries is carried along, so that each row is put once.
template <class T, class Values>
__device__ __forceinline__ void multiply_share(const FullColumns& rows, const FullColumns& columns,
                                               const Values& values, std::int64_t first, std::int64_t last, const T* x,
                                               const RowSink<T>& sink) {
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  std::int32_t carried_row = -1;
  T carried = 0;
  for (auto round = first; round < last; round += unroll * cuda::warp_size) {
    std::int32_t row[unroll];
    std::int32_t column[unroll];
    T product[unroll];
#pragma unroll
    for (int step = 0; step < unroll; ++step) {
      const auto entry = round + step * cuda::warp_size + lane;
      const bool inside = entry < last;
      // Lanes past the end belong to no row; they differ from every row, so they end the one before them.
      row[step] = inside ? rows.at(entry) : -1;
      column[step] = inside ? columns.at(entry) : 0;
      product[step] = inside ? values.at(entry) : T{0};
    }
#pragma unroll
    for (int step = 0; step < unroll; ++step) {
      if (row[step] >= 0) product[step] *= load_x(x + column[step]);
    }
#pragma unroll
    for (int step = 0; step < unroll; ++step) {
      if (round + step * cuda::warp_size >= last) break;
      if (lane == 0 && carried_row >= 0) {
        if (carried_row == row[step]) {
          product[step] += carried;
        } else {
          sink.put(carried_row, carried);
        }
      }
      const auto previous = __shfl_up_sync(cuda::all_lanes, row[step], 1);
      const unsigned heads = __ballot_sync(cuda::all_lanes, lane == 0 || previous != row[step]);
      const T sum = segmented_sum(product[step], heads, lane);
      const bool ends = lane < cuda::warp_size - 1 && (heads >> (lane + 1) & 1U) != 0;
      if (ends && row[step] >= 0) sink.put(row[step], sum);
      carried_row = __shfl_sync(cuda::all_lanes, row[step], cuda::warp_size - 1);
      carried = __shfl_sync(cuda::all_lanes, sum, cuda::warp_size - 1);
    }
  }
  if (lane == 0 && carried_row >= 0) sink.put(carried_row, carried);
}

template <class T, class Values>
__global__ void multiply_kernel(FullColumns rows, FullColumns columns, Values values, CachePolicy policy,
                                SharesView<T> shares, T alpha, const T* x, T beta, T* y) {
  rows.open(0, policy);
  columns.open(0, policy);
  cuda::await_before();
  values.open(policy);
  for_share_of_warp(shares, alpha, beta, y, [&](std::int64_t share) {
    multiply_share(rows, columns, values, shares.starts[share], shares.starts[share + 1], x,
                   RowSink<T>(shares, share, alpha, beta, y));
  });
}

}  // namespace

template <class T>
void multiply_triplets_cuda(const Triplets<T>& triplets, const EqualShares<T>& shares, int block, T alpha, const T* x,
                            T beta, T* y, Stream stream) {
  with_values(triplets, [&](auto values) {
    multiply_in_shares(shares, block, alpha, beta, y, stream, [&](const SharesView<T>& view, unsigned grid) {
      cuda::launch_early(multiply_kernel<T, decltype(values)>, grid, block, 0, stream, FullColumns{triplets.rows},
                         FullColumns{triplets.columns}, values, triplets.policy, view, alpha, x, beta, y);
    });
  });
}

template void multiply_triplets_cuda(const Triplets<float>&, const EqualShares<float>&, int, float, const float*, float,
                                     float*, Stream);
template void multiply_triplets_cuda(const Triplets<double>&, const EqualShares<double>&, int, double, const double*,
                                     double, double*, Stream);

}  // namespace autospmv::formats
