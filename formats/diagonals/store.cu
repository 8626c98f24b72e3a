#include <algorithm>
#include <climits>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/kernel.cuh"
#include "formats/common/predict/rules.hpp"
#include "formats/diagonals/convert.hpp"

namespace autospmv::formats::cuda_steps {

namespace {

constexpr int store_rows = static_cast<int>(hack_unit);

// One more than there are rows, so that lanes that look at one row of neighbouring diagonals look into different banks.
constexpr int tile_stride = store_rows + 1;

// A tile of so many diagonals is all that a block needs of most matrices, and leaves room for others on a
// multiprocessor.
constexpr int most_tile_diagonals = 128;
constexpr int most_threads = 512;
constexpr int loads_of_thread = 4;  // that are under way together
constexpr double nonzeros_of_thread = 12;

// Stores what a slot holds for a nonzero; whether another was there.
template <class T>
__device__ bool exchange(T* slot, T value) {
  using Word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
  const auto present = as_present(value);
  const auto before = atomicExch(reinterpret_cast<Word*>(slot), static_cast<Word>(pattern_of(present)));
  return before != 0;
}

// The sum over a block, right in its first thread.
__device__ unsigned long long sum_block(unsigned long long count) {
  __shared__ unsigned long long of_warp[most_warps];
  return sum_threads(count, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), of_warp);
}

// A block takes as many rows as the smallest hack has, which lie side by side on every diagonal. It puts their nonzeros
// in their places in shared memory, for `tile_diagonals` diagonals at a time, and writes those out as they lie: so
// neighbouring lanes read neighbouring nonzeros, write neighbouring slots, and write every slot there is. All nonzeros
// are read again each time.
template <Check What, class T, class Offset>
__global__ void store_kernel(CsrView<T> matrix, const Offset* row_ptr, StoreSlots<T> to, int tile_diagonals,
                             Faults* total) {
  extern __shared__ unsigned char shared[];
  T* const tile = reinterpret_cast<T*>(shared);
  __shared__ std::int32_t offsets[most_tile_diagonals];
  __shared__ std::int64_t starts[store_rows + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int lane = thread % cuda::warp_size;
  const int warp = thread / cuda::warp_size;
  const auto top = static_cast<std::int64_t>(blockIdx.x) * store_rows;
  const auto at = to.shape.at(top);
  for (int i = thread; i <= store_rows; i += threads) {
    starts[i] = row_ptr[min(static_cast<long long>(top + i), static_cast<long long>(matrix.rows))];
  }
  __syncthreads();
  // Each warp takes neighbouring nonzeros, so that few rows lie between those of a lane.
  const int threads_log2 = 31 - __clz(threads);
  const auto share = (((starts[store_rows] - starts[0]) >> threads_log2) + 1) * cuda::warp_size;
  const auto share_first = starts[0] + warp * share;
  const auto share_last = min(static_cast<long long>(starts[store_rows]), static_cast<long long>(share_first + share));
  Faults faults;
  for (std::int32_t base = 0; base == 0 || base < at.count; base += tile_diagonals) {
    const int diagonals = min(tile_diagonals, at.count - base);
    unsigned half = 1;
    while (2 * half < diagonals) half *= 2;
    for (unsigned d = thread; d < 2 * half; d += threads) offsets[d] = d < diagonals ? at.offsets[base + d] : INT_MAX;
    for (int i = thread; i < diagonals * tile_stride; i += threads) tile[i] = T{0};
    __syncthreads();
    const auto put = [&](int row, std::int32_t column, T value) {
      const auto offset = static_cast<std::int32_t>(column - (top + row));
      const std::int32_t* at_or_before = offsets;
      for (unsigned step = half; step > 0; step >>= 1U) {
        if (at_or_before[step] <= offset) at_or_before += step;
      }
      // Below `least`, or of another tile.
      if (*at_or_before != offset) return;
      T* slot = tile + (at_or_before - offsets) * tile_stride + row;
      if constexpr (What == Check::duplicates) {
        if (exchange(slot, value)) ++faults.wrong;
      } else {
        *slot = as_present(value);
      }
    };
    int row = 0;
    for (auto first = share_first; first < share_last; first += loads_of_thread * cuda::warp_size) {
      std::int32_t column[loads_of_thread] = {};
      T value[loads_of_thread];
#pragma unroll
      for (int i = 0; i < loads_of_thread; ++i) {
        const auto k = first + i * cuda::warp_size + lane;
        if (k < share_last) {
          column[i] = load_stream(matrix.col_idx + k);
          value[i] = load_stream(matrix.values + k);
        }
      }
      // The column before the first of a step: all others lie in the lane before.
      std::int32_t last_before = What == Check::mates && lane == 0 && first > 0 ? matrix.col_idx[first - 1] : 0;
#pragma unroll
      for (int i = 0; i < loads_of_thread; ++i) {
        const auto k = first + i * cuda::warp_size + lane;
        const bool there = k < share_last;
        while (there && k >= starts[row + 1]) ++row;
        if constexpr (What == Check::mates) {
          auto before = __shfl_up_sync(cuda::all_lanes, column[i], 1);
          if (lane == 0) before = last_before;
          last_before = __shfl_sync(cuda::all_lanes, column[i], cuda::warp_size - 1);
          if (there && base == 0) compare_mates(top + row, k == starts[row] ? -1 : before, column[i], value[i], faults);
        }
        if (there) put(row, column[i], value[i]);
      }
    }
    __syncthreads();
    T* const slots = to.values + at.slot + base * to.shape.hack;
    for (int d = warp; d < diagonals; d += threads / cuda::warp_size) {
      slots[d * to.shape.hack + lane] = tile[d * tile_stride + lane];
    }
    __syncthreads();
  }
  if constexpr (What != Check::none) {
    const auto wrong = sum_block(static_cast<unsigned long long>(faults.wrong));
    const auto mismatch = sum_block(faults.mismatch);
    if (threadIdx.x > 0) return;
    if (wrong != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&total->wrong), wrong);
    if (mismatch != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&total->mismatch), mismatch);
  }
}

template <Check What, class T>
void launch_store(const CsrView<T>& matrix, const StoreSlots<T>& to, Faults* faults, Stream stream) {
  const auto& shape = to.shape;
  const auto hacks = (shape.rows + shape.hack - 1) / shape.hack;
  // Some hacks have more diagonals than others.
  const double diagonals = 1.25 * static_cast<double>(shape.diagonals) / static_cast<double>(hacks) + 8;
  const auto tile_diagonals = static_cast<int>(std::min<double>(diagonals, most_tile_diagonals));
  const auto tile_bytes = static_cast<std::size_t>(tile_diagonals * tile_stride) * sizeof(T);
  const double nonzeros = store_rows * static_cast<double>(matrix.nnz) / static_cast<double>(shape.rows);
  const auto threads = static_cast<int>(
      std::max<std::int64_t>(cuda::warp_size, power_of_two_above(nonzeros / nonzeros_of_thread, most_threads)));
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    store_kernel<What><<<cuda::grid_for(hacks * shape.hack, store_rows), threads, tile_bytes, cuda::InTurn(stream)>>>(
        matrix, row_ptr, to, tile_diagonals, faults);
  });
  cuda::check_launch();
}

}  // namespace

template <class T>
void store(const CsrView<T>& matrix, const StoreSlots<T>& to, Faults* faults, Stream stream) {
  if (to.shape.rows == 0) return;
  switch (to.check) {
    case Check::none:
      return launch_store<Check::none>(matrix, to, faults, stream);
    case Check::duplicates:
      return launch_store<Check::duplicates>(matrix, to, faults, stream);
    case Check::mates:
      return launch_store<Check::mates>(matrix, to, faults, stream);
  }
}

template void store(const CsrView<float>&, const StoreSlots<float>&, Faults*, Stream);
template void store(const CsrView<double>&, const StoreSlots<double>&, Faults*, Stream);

}  // namespace autospmv::formats::cuda_steps
