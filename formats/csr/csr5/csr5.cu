#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/batches.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/equal_shares.cuh"
#include "formats/common/kernels/kernel.cuh"
#include "formats/common/kernels/segmented.cuh"
#include "formats/csr/csr5/csr5.hpp"

namespace autospmv::formats::csr5::device {

namespace {

// Nonzeros of a lane whose loads are all made before the first is used; every sigma is a multiple of it.
constexpr int unroll = 4;

constexpr int transpose_block = 128;

// A warp a tile: each lane searches for its first row and marks where it and those after it begin.
template <class Offset>
__global__ void describe_kernel(FilledRows<Offset> filled, std::int64_t tiles, int sigma, std::int32_t* tile_ptr,
                                std::uint32_t* bit_flags, std::uint16_t* offsets) {
  const auto thread = cuda::global_thread();
  const auto tile = thread / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  if (tile >= tiles) return;
  const auto nonzero = thread * sigma;
  const auto row = filled.beginning_from(nonzero);
  const auto flags = flags_of_lane(filled, row, nonzero, sigma);
  const unsigned flagged = __ballot_sync(cuda::all_lanes, flags != 0);
  const std::int64_t first_row = __shfl_sync(cuda::all_lanes, row, 0);
  if (lane == 0) tile_ptr[tile] = static_cast<std::int32_t>(row);
  bit_flags[thread] = flags;
  offsets[thread] = pack_offsets(row - first_row, seg_offset(flagged, lane));
}

// A warp a tile, through shared memory: a row of it for each lane, one element longer so that neither side collides on
// banks.
template <class V>
__global__ void __launch_bounds__(transpose_block)
    transpose_kernel(const V* __restrict__ nonzeros, V padding, std::int64_t nnz, std::int64_t tiles, int sigma,
                     V* __restrict__ slots) {
  extern __shared__ __align__(16) unsigned char bytes[];
  const int pitch = sigma + 1;
  const int warp = static_cast<int>(threadIdx.x) / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  V* const tile_of_warp = reinterpret_cast<V*>(bytes) + warp * lanes * pitch;
  const auto tile = static_cast<std::int64_t>(blockIdx.x) * (transpose_block / lanes) + warp;
  if (tile >= tiles) return;
  const auto first = tile * lanes * sigma;
  for (int i = lane; i < lanes * sigma; i += lanes) {
    tile_of_warp[i / sigma * pitch + i % sigma] = first + i < nnz ? load_stream(nonzeros + first + i) : padding;
  }
  __syncwarp();
  for (int step = 0; step < sigma; ++step) slots[first + step * lanes + lane] = tile_of_warp[lane * pitch + step];
}

// What a warp reads of a tile beside values.
struct TilesView {
  const std::int32_t* tile_ptr;
  const std::uint32_t* bit_flags;
  const std::uint16_t* offsets;
  const std::int32_t* row_ids;
  const std::int32_t* columns;
  CachePolicy policy;
  int sigma;

  [[nodiscard]] __device__ __forceinline__ std::int32_t row_of(std::int32_t number) const {
    return row_ids == nullptr ? number : __ldg(row_ids + number);
  }
};

// What a lane has added up when it has passed all of its nonzeros.
template <class T>
struct LaneSums {
  T head = 0;  // of the row that began in an earlier lane
  T open = 0;  // of the row that began last in this lane
  bool flagged = false;
  std::int32_t row;  // that row's number
};

template <class T, class Values>
__device__ __forceinline__ LaneSums<T> walk_lane(const TilesView& tiles, const Values& values, std::int64_t slot,
                                                 std::uint32_t flags, std::int32_t row, const T* x,
                                                 const RowSink<T>& sink) {
  LaneSums<T> sums;
  sums.row = row;
  T sum = 0;
  std::int32_t column[unroll];
  T value[unroll];
  const auto load = [&](int step) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) column[u] = load_stream(tiles.columns + slot + (step + u) * lanes, tiles.policy);
#pragma unroll
    for (int u = 0; u < unroll; ++u) value[u] = values.at(slot + (step + u) * lanes);
  };
  load(0);
#pragma unroll 1
  for (int step = 0; step < tiles.sigma; step += unroll) {
    T product[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) product[u] = column[u] >= 0 ? load_x(x + column[u]) : T{0};
#pragma unroll
    for (int u = 0; u < unroll; ++u) product[u] = column[u] >= 0 ? value[u] * product[u] : T{0};
    // The next ones are under way while these are added up.
    if (step + unroll < tiles.sigma) load(step + unroll);
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if ((flags >> (step + u) & 1U) != 0) {
        if (sums.flagged) {
          sink.put(tiles.row_of(sums.row++), sum);
        } else {
          sums.head = sum;
        }
        sums.flagged = true;
        sum = 0;
      }
      sum += product[u];
    }
  }
  (sums.flagged ? sums.open : sums.head) = sum;
  return sums;
}

template <class T, class Values>
__device__ __forceinline__ void multiply_tile(const TilesView& tiles, const Values& values, std::int64_t tile,
                                              const T* x, const RowSink<T>& sink) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::uint32_t flags = load_stream(tiles.bit_flags + tile * lanes + lane, tiles.policy);
  const int offsets = load_stream(tiles.offsets + tile * lanes + lane, tiles.policy);
  const int to_last = offsets % lanes;  // seg_offset
  const auto sums = walk_lane(tiles, values, tile * lanes * tiles.sigma + lane, flags,
                              __ldg(tiles.tile_ptr + tile) + offsets / lanes, x, sink);
  // The heads of lanes that belong to the same row: a new row's follow on every lane in which one begins.
  const unsigned flagged = __ballot_sync(cuda::all_lanes, sums.flagged);
  const T heads = segmented_sum(sums.head, flagged << 1 | 1U, lane);
  const T rest = __shfl_sync(cuda::all_lanes, heads, lane + to_last);
  if (sums.flagged) sink.put(tiles.row_of(sums.row), to_last > 0 ? sums.open + rest : sums.open);
  const int first_flagged = flagged != 0 ? __ffs(static_cast<int>(flagged)) - 1 : lanes - 1;
  if (sink.before >= 0 && lane == first_flagged) sink.put(sink.before, heads);
}

template <class T, class Values>
__global__ void __launch_bounds__(most_block, 1)
    multiply_kernel(TilesView tiles, Values values, SharesView<T> shares, T alpha, const T* x, T beta, T* y) {
  cuda::await_before();
  values.open(tiles.policy);
  for_share_of_warp(shares, alpha, beta, y, [&](std::int64_t tile) {
    multiply_tile(tiles, values, tile, x, RowSink<T>(shares, tile, alpha, beta, y));
  });
}

}  // namespace

template <class T>
void describe(const CsrView<T>& matrix, Fixup fixup, Tiles<T>& tiles, Place place, Stream stream) {
  const Cut cut{.share = tile_size(tiles.sigma), .fixup = fixup};
  tiles.shares = formats::device::cut_equally<T>(matrix.row_ptr, matrix.rows, matrix.nnz, cut, place, stream);
  if (!tiles.shares.empty_rows.empty()) {
    tiles.row_ids = formats::device::find_rows(matrix.row_ptr, matrix.rows, false, place, stream);
  }
  const auto filled = matrix.rows - static_cast<std::int64_t>(tiles.shares.empty_rows.size());
  const auto all = static_cast<std::size_t>(tiles.count * lanes);
  tiles.tile_ptr = Array<std::int32_t>(static_cast<std::size_t>(tiles.count), place);
  tiles.bit_flags = Array<std::uint32_t>(all, place);
  tiles.offsets = Array<std::uint16_t>(all, place);
  if (tiles.count == 0) return;
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    describe_kernel<<<cuda::grid_for(tiles.count * lanes), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        FilledRows{row_ptr, static_cast<const std::int32_t*>(tiles.row_ids.data()), filled}, tiles.count, tiles.sigma,
        tiles.tile_ptr.data(), tiles.bit_flags.data(), tiles.offsets.data());
  });
  cuda::check_launch();
}

template <class V>
void transpose(const V* nonzeros, V padding, std::int64_t nnz, int sigma, Array<V>& slots, Stream stream) {
  if (slots.empty()) return;
  const auto tiles = static_cast<std::int64_t>(slots.size()) / tile_size(sigma);
  const auto shared = static_cast<std::size_t>(transpose_block) * static_cast<std::size_t>(sigma + 1) * sizeof(V);
  transpose_kernel<<<cuda::grid_for(tiles * lanes, transpose_block), transpose_block, shared, cuda::InTurn(stream)>>>(
      nonzeros, padding, nnz, tiles, sigma, slots.data());
  cuda::check_launch();
}

template <class T>
void multiply(const Tiles<T>& tiles, int block, T alpha, const T* x, T beta, T* y, Stream stream) {
  const TilesView view{tiles.tile_ptr.data(),
                       tiles.bit_flags.data(),
                       tiles.offsets.data(),
                       tiles.row_ids.data(),
                       tiles.columns.data(),
                       policy_for<T>(tiles.bytes(), tiles.rows, tiles.cols),
                       tiles.sigma};
  with_values(tiles.values, [&](auto values) {
    multiply_in_shares(tiles.shares, block, alpha, beta, y, stream, [&](const SharesView<T>& shares, unsigned grid) {
      cuda::launch_early(multiply_kernel<T, decltype(values)>, grid, block, 0, stream, view, values, shares, alpha, x,
                         beta, y);
    });
  });
}

#define AUTOSPMV_CSR5(T)                                                      \
  template void describe(const CsrView<T>&, Fixup, Tiles<T>&, Place, Stream); \
  template void transpose(const T*, T, std::int64_t, int, Array<T>&, Stream); \
  template void multiply(const Tiles<T>&, int, T, const T*, T, T*, Stream);
AUTOSPMV_CSR5(float)
AUTOSPMV_CSR5(double)
#undef AUTOSPMV_CSR5
template void transpose(const std::int32_t*, std::int32_t, std::int64_t, int, Array<std::int32_t>&, Stream);

}  // namespace autospmv::formats::csr5::device
