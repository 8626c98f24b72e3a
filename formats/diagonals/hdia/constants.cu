#include <cstring>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/dispatch.hpp"
#include "formats/diagonals/device.cuh"
#include "formats/diagonals/hdia/constants.hpp"

namespace autospmv::formats::hdia::device {

namespace {

using cuda::all_lanes;
using cuda::warp_size;

static_assert(word_rows == warp_size);

template <class T>
std::int64_t count_of(const Constants<T>& constants) {
  return static_cast<std::int64_t>(constants.diagonals.size());
}

// What a warp finds out about the slots of a diagonal, the same in all lanes.
template <class T>
struct CommonValue {
  T value = 0;
  bool found = false;
  bool constant = true;

  // A slot of each lane; returns which of them hold a nonzero.
  __device__ std::uint32_t add(T slot) {
    const auto bits = __ballot_sync(all_lanes, static_cast<int>(!is_absent(slot)));
    if (bits == 0) return bits;
    if (!found) value = __shfl_sync(all_lanes, slot, __ffs(static_cast<int>(bits)) - 1);
    found = true;
    const bool differs = !is_absent(slot) && pattern_of(slot) != pattern_of(value);
    constant = constant && __any_sync(all_lanes, static_cast<int>(differs)) == 0;
    return bits;
  }
};

// A warp a diagonal.
template <class T>
__global__ void find_kernel(std::int64_t count, std::int64_t hack, const T* values, const std::int32_t* offsets,
                            HackDiagonal<T>* diagonals, std::uint32_t* words, std::uint8_t* full) {
  const auto d = cuda::global_thread() / warp_size;
  if (d >= count) return;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  CommonValue<T> common;
  for (std::int64_t w = 0; w < hack / word_rows; ++w) {
    const auto bits = common.add(values[d * hack + w * word_rows + lane]);
    if (lane == 0) words[d * (hack / word_rows) + w] = bits;
  }
  if (lane > 0) return;
  diagonals[d] = {common.constant ? common.value : T{0}, offsets[d], common.constant ? -1 : 0};
  full[d] = common.constant ? 0 : 1;
}

template <class T>
__global__ void number_kernel(std::int64_t count, const std::int32_t* positions, HackDiagonal<T>* diagonals) {
  const auto i = cuda::global_thread();
  if (i < count) diagonals[positions[i]].full = static_cast<std::int32_t>(i);
}

// A warp a diagonal.
template <class T>
__global__ void take_kernel(std::int64_t count, std::int64_t hack, const T* values, HackDiagonal<T>* diagonals,
                            T* slots, int* broken) {
  const auto d = cuda::global_thread() / warp_size;
  if (d >= count) return;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const std::int64_t full = diagonals[d].full;
  CommonValue<T> common;
  for (std::int64_t i = lane; i < hack; i += warp_size) {
    const T slot = values[d * hack + i];
    if (full >= 0) {
      slots[full * hack + i] = slot;
    } else {
      common.add(slot);
    }
  }
  if (full >= 0 || lane > 0) return;
  diagonals[d].constant = common.value;
  if (!common.constant) *broken = 1;
}

template <class T>
__device__ __forceinline__ HackDiagonal<T> load_diagonal(const HackDiagonal<T>* address) {
  static_assert(sizeof(HackDiagonal<T>) == sizeof(int4));
  const int4 word = load_x(reinterpret_cast<const int4*>(address));
  HackDiagonal<T> diagonal;
  std::memcpy(&diagonal, &word, sizeof diagonal);
  return diagonal;
}

// The rows of a thread lie in one hack and share a word. Elements of x are asked for before it is known whether there
// is a nonzero to multiply them: nearly always there is.
template <int Rows, class T>
__global__ void multiply_kernel(ConstantsView<T> view, CachePolicy policy, T alpha, const T* x, T beta,
                                T* __restrict__ y) {
  constexpr int in_flight = Rows == 4 ? 4 : 8;
  const auto row = cuda::global_thread() * Rows;
  if (row >= view.rows) return cuda::await_before();
  // Both fit into 32 bits, in which a division is cheap.
  const std::int64_t h = static_cast<std::uint32_t>(row) / static_cast<std::uint32_t>(view.hack);
  const std::int64_t within = row - h * view.hack;
  const std::int64_t hack_words = view.hack / word_rows;
  const int bit = static_cast<int>(row % word_rows);
  const PlainSlots<T> slots{view.slots, policy};
  T sum[Rows] = {};
  const std::int32_t last = __ldg(view.first + h + 1);
  const std::int32_t begin = __ldg(view.first + h);
  cuda::await_before();
  for (std::int64_t first = begin; first < last; first += in_flight) {
    HackDiagonal<T> diagonal[in_flight] = {};
    std::uint32_t bits[in_flight];
    T element[in_flight][Rows];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      bits[u] = 0;
      if (first + u < last) {
        diagonal[u] = load_diagonal(view.diagonals + first + u);
        bits[u] = __ldg(view.words + (first + u) * hack_words + within / word_rows) >> bit;
      }
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const auto column = static_cast<std::uint64_t>(row + r + diagonal[u].offset);
        const bool there = first + u < last && column < static_cast<std::uint64_t>(view.cols);
        element[u][r] = there ? load_x(x + column) : T{0};
      }
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (first + u >= last) break;
      T value[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) value[r] = diagonal[u].constant;
      if (diagonal[u].full >= 0) slots.load(diagonal[u].full * view.hack + within, value);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if ((bits[u] >> r & 1U) != 0) sum[r] += value[r] * element[u][r];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (row + r < view.rows) store_row(y, row + r, alpha, sum[r], beta);
  }
}

}  // namespace

template <class T>
std::int64_t find_constants(const Array<T>& values, Constants<T>& constants, Stream stream) {
  const auto count = count_of(constants);
  if (count == 0) return 0;
  const auto place = values.place();
  Array<std::uint8_t> full(constants.diagonals.size(), place);
  find_kernel<<<cuda::grid_for(count * warp_size), cuda::default_block, 0, stream.handle>>>(
      count, constants.places.hack, values.data(), constants.places.offsets.data(), constants.diagonals.data(),
      constants.words.data(), full.data());
  cuda::check_launch();
  Array<std::int32_t> positions(full.size(), place);
  const auto found = cuda::flagged_positions(full.data(), count, positions.data(), place, stream);
  if (found == 0) return 0;
  number_kernel<<<cuda::grid_for(found), cuda::default_block, 0, stream.handle>>>(found, positions.data(),
                                                                                  constants.diagonals.data());
  cuda::check_launch();
  return found;
}

template <class T>
bool take_values(const Array<T>& values, Constants<T>& constants, Stream stream) {
  const auto count = count_of(constants);
  if (count == 0) return true;
  Array<int> broken(1, values.place());
  fill_bytes(broken.data(), 0, sizeof(int), values.place(), stream);
  take_kernel<<<cuda::grid_for(count * warp_size), cuda::default_block, 0, stream.handle>>>(
      count, constants.places.hack, values.data(), constants.diagonals.data(), constants.slots.data(), broken.data());
  cuda::check_launch();
  return cuda::read(broken.data(), stream) == 0;
}

template <class T>
void multiply(const Constants<T>& constants, const DiagonalLayout& layout, T alpha, const T* x, T beta, T* y,
              Stream stream) {
  const auto& places = constants.places;
  const auto policy = policy_for<T>(constants.bytes(), places.rows, places.cols);
  dispatch<1, 2, 4>(layout.rows, [&](auto rows) {
    const auto grid = cuda::grid_for((places.rows + rows.value - 1) / rows.value, layout.block);
    cuda::launch_early(multiply_kernel<rows.value, T>, grid, layout.block, 0, stream, constants.view(), policy, alpha,
                       x, beta, y);
  });
}

#define AUTOSPMV_CONSTANTS(T)                                                   \
  template std::int64_t find_constants(const Array<T>&, Constants<T>&, Stream); \
  template bool take_values(const Array<T>&, Constants<T>&, Stream);            \
  template void multiply(const Constants<T>&, const DiagonalLayout&, T, const T*, T, T*, Stream);
AUTOSPMV_CONSTANTS(float)
AUTOSPMV_CONSTANTS(double)
#undef AUTOSPMV_CONSTANTS

}  // namespace autospmv::formats::hdia::device
