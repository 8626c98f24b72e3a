#include <bit>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/search.hpp"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/dispatch.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/csr/csr_padded/csr_padded.hpp"

namespace autospmv::formats::csr_padded::device {

namespace {

template <class Offset>
__global__ void units_kernel(const Offset* row_ptr, std::int64_t rows, int pad, std::int32_t* units) {
  const auto row = cuda::global_thread();
  if (row > rows) return;
  const std::int64_t length = row < rows ? static_cast<std::int64_t>(row_ptr[row + 1] - row_ptr[row]) : 0;
  units[row] = static_cast<std::int32_t>((length + pad - 1) / pad);
}

// Slots of a warp, 32 at a time: long rows are shared like short ones, and one search serves them all.
constexpr int slots_of_warp = 256;

template <class T, class Offset>
__global__ void fill_kernel(CsrView<T> matrix, const Offset* row_ptr, const std::int32_t* units, int log_pad,
                            std::int64_t slots, std::int32_t* columns, T* values) {
  const auto first = cuda::global_thread() / cuda::warp_size * slots_of_warp;
  if (first >= slots) return;
  auto row = part_of(units, matrix.rows, first >> log_pad);
#pragma unroll
  for (int step = 0; step < slots_of_warp; step += cuda::warp_size) {
    const auto slot = first + step + threadIdx.x % cuda::warp_size;
    if (slot >= slots) return;
    row = part_near(units, row, matrix.rows, slot >> log_pad);
    const auto k = row_ptr[row] + (slot - (static_cast<std::int64_t>(units[row]) << log_pad));
    const bool inside = k < row_ptr[row + 1];
    columns[slot] = inside ? matrix.col_idx[k] : -1;
    values[slot] = inside ? matrix.values[k] : T{0};
  }
}

// The sum over Loads x Load slots, `step` apart; all loads before the first of them is used.
template <int Loads, int Load, class T>
__device__ __forceinline__ T sum_slots(const std::int32_t* columns, const T* values, CachePolicy policy,
                                       std::int64_t slot, int step, const T* x) {
  const auto load = [&](const auto* word) { return load_stream(word, policy); };
  std::int32_t column[Loads][Load];
  T value[Loads][Load];
#pragma unroll
  for (int u = 0; u < Loads; ++u) {
    load_neighbours(columns + slot + u * step, column[u], load);
    load_neighbours(values + slot + u * step, value[u], load);
  }
  T element[Loads][Load];
#pragma unroll
  for (int u = 0; u < Loads; ++u) {
#pragma unroll
    for (int i = 0; i < Load; ++i) element[u][i] = column[u][i] >= 0 ? load_x(x + column[u][i]) : T{0};
  }
  T sum = 0;
#pragma unroll
  for (int u = 0; u < Loads; ++u) {
#pragma unroll
    for (int i = 0; i < Load; ++i) sum += value[u][i] * element[u][i];
  }
  return sum;
}

template <int Load, class T>
__global__ void multiply_kernel(std::int64_t rows, const std::int32_t* units, int log_pad, const std::int32_t* columns,
                                const T* values, CachePolicy policy, int log_threads, T alpha, const T* x, T beta,
                                T* __restrict__ y) {
  constexpr int loads = Load == 1 ? 4 : 2;
  const auto thread = cuda::global_thread();
  const auto row = thread >> log_threads;
  const int lane = static_cast<int>(threadIdx.x) & ((1 << log_threads) - 1);
  const bool inside = row < rows;
  const auto last = inside ? static_cast<std::int64_t>(units[row + 1]) << log_pad : 0;
  auto slot = (inside ? static_cast<std::int64_t>(units[row]) << log_pad : 0) + lane * Load;
  const int step = Load << log_threads;
  cuda::await_before();
  T sum = 0;
  // A row is a multiple of Load slots, so that no load passes its end.
  for (; slot + (loads - 1) * step < last; slot += loads * step) {
    sum += sum_slots<loads, Load>(columns, values, policy, slot, step, x);
  }
  for (; slot < last; slot += step) sum += sum_slots<1, Load>(columns, values, policy, slot, step, x);
  sum = sum_lanes(sum, 1 << log_threads);
  if (inside && lane == 0) store_row(y, row, alpha, sum, beta);
}

int log_of(int power_of_two) { return std::countr_zero(static_cast<unsigned>(power_of_two)); }

}  // namespace

template <class T>
std::int64_t count_units(const CsrView<T>& matrix, PaddedCsr<T>& padded, Place place, Stream stream) {
  padded.units = Array<std::int32_t>(static_cast<std::size_t>(matrix.rows) + 1, place);
  auto* units = padded.units.data();
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    units_kernel<<<cuda::grid_for(matrix.rows + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        row_ptr, matrix.rows, padded.pad, units);
  });
  cuda::check_launch();
  cuda::exclusive_scan(units, units, matrix.rows + 1, place, stream);
  return cuda::read(static_cast<const std::int32_t*>(units) + matrix.rows, stream);
}

template <class T>
void fill(const CsrView<T>& matrix, PaddedCsr<T>& padded, Stream stream) {
  const auto slots = padded.slots();
  if (slots == 0) return;
  const auto warps = (slots + slots_of_warp - 1) / slots_of_warp;
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    fill_kernel<<<cuda::grid_for(warps * cuda::warp_size), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        matrix, row_ptr, padded.units.data(), log_of(padded.pad), slots, padded.columns.data(), padded.values.data());
  });
  cuda::check_launch();
}

template <class T>
void multiply(const PaddedCsr<T>& padded, const Shape& shape, T alpha, const T* x, T beta, T* y, Stream stream) {
  if (padded.rows == 0) return;
  dispatch<1, 4>(shape.load, [&](auto load) {
    cuda::launch_early(
        multiply_kernel<load.value, T>, cuda::grid_for(padded.rows * shape.threads, shape.block), shape.block, 0,
        stream, padded.rows, padded.units.data(), log_of(padded.pad), padded.columns.data(), padded.values.data(),
        policy_for<T>(padded.bytes(), padded.rows, padded.cols), log_of(shape.threads), alpha, x, beta, y);
  });
}

#define AUTOSPMV_CSR_PADDED(T)                                                        \
  template std::int64_t count_units(const CsrView<T>&, PaddedCsr<T>&, Place, Stream); \
  template void fill(const CsrView<T>&, PaddedCsr<T>&, Stream);                       \
  template void multiply(const PaddedCsr<T>&, const Shape&, T, const T*, T, T*, Stream);
AUTOSPMV_CSR_PADDED(float)
AUTOSPMV_CSR_PADDED(double)
#undef AUTOSPMV_CSR_PADDED

}  // namespace autospmv::formats::csr_padded::device
