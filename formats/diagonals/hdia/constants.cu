#include <bit>
#include <cstring>
#include <optional>
#include <type_traits>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
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

  // A slot of each lane; the lanes of those that are not absent.
  __device__ unsigned add(T slot) {
    const auto bits = __ballot_sync(all_lanes, static_cast<int>(!is_absent(slot)));
    if (bits == 0) return 0;
    if (!found) value = __shfl_sync(all_lanes, slot, __ffs(static_cast<int>(bits)) - 1);
    found = true;
    const bool differs = !is_absent(slot) && (pattern_of(slot) != pattern_of(value) || !isfinite(slot));
    constant = constant && __any_sync(all_lanes, static_cast<int>(differs)) == 0;
    return bits;
  }
};

// What a look at all nonzeros finds.
struct Found {
  std::int32_t full;  // diagonals of several values
  std::int32_t with_duplicates;
};

// What the warps of a block say of a diagonal's nonzeros.
template <class T>
struct ValueOfHack {
  using Word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;

  Word pattern;  // 0: of none yet
  bool several;

  __device__ void add(T value, bool alike) {
    const auto mine = static_cast<Word>(pattern_of(value));
    const auto before = alike ? atomicCAS(&pattern, Word{0}, mine) : Word{0};
    if (!alike || (before != 0 && before != mine)) several = true;
  }
  [[nodiscard]] __device__ T value() const { return std::bit_cast<T>(static_cast<BitsOf<T>>(pattern)); }
};

// A block a hack, a thread a row, which has its nonzeros in the order of the hack's diagonals: those of a warp on one
// of them are compared by themselves.
template <class T, class Offset>
__global__ void __launch_bounds__(largest_hack)
    find_kernel(CsrView<T> matrix, const Offset* row_ptr, const std::int32_t* first, const std::int32_t* offsets,
                HackDiagonal<T>* diagonals, std::uint32_t* words, std::uint8_t* full, Found* found) {
  constexpr int most_at_once = 64;
  __shared__ ValueOfHack<T> common[most_at_once];
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int lane = thread % warp_size;
  const std::int64_t begin = first[blockIdx.x];
  const auto count = static_cast<std::int32_t>(first[blockIdx.x + 1] - begin);
  const auto hack_words = threads / static_cast<int>(word_rows);
  RowOffsetsInOrder<Offset> row(matrix.col_idx, row_ptr, cuda::global_thread(), matrix.rows);
  std::int64_t met = 0;
  for (std::int32_t base = 0; base < count; base += most_at_once) {
    const auto here = min(most_at_once, count - base);
    const auto begin_here = begin + base;
    for (int d = thread; d < here; d += threads) common[d] = {0, false};
    __syncthreads();
    for (int d = 0; d < here; ++d) {
      T slot = 0;  // absent
      if (row.next() == offsets[begin_here + d]) {
        slot = as_present(matrix.values[row.at()]);
        row.pass();
        ++met;
      }
      CommonValue<T> of_warp;
      const auto bits = of_warp.add(slot);
      if (lane > 0) continue;
      words[(begin_here + d) * hack_words + thread / warp_size] = bits;
      if (of_warp.found) common[d].add(of_warp.value, of_warp.constant);
    }
    __syncthreads();
    for (int d = thread; d < here; d += threads) {
      const auto& of_hack = common[d];
      diagonals[begin_here + d] = {of_hack.several ? T{0} : of_hack.value(), offsets[begin_here + d],
                                   of_hack.several ? 0 : -1};
      full[begin_here + d] = of_hack.several ? 1 : 0;
      if (of_hack.several) atomicAdd(&found->full, 1);
    }
    __syncthreads();
  }
  // Of several at one place only one was met.
  if (met != row.size()) found->with_duplicates = 1;
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

// A diagonal at the rows of a warp.
template <int Rows, class T>
struct Run {
  HackDiagonal<T> diagonal{.constant = 0, .offset = 0, .full = -1};
  std::uint32_t bits[Rows] = {};

  __device__ __forceinline__ void load(const HackDiagonal<T>* diagonal_at, const std::uint32_t* bits_at) {
    diagonal = load_diagonal(diagonal_at);
    load_neighbours(bits_at, bits, [](const auto* word) { return load_x(word); });
  }

  [[nodiscard]] __device__ __forceinline__ bool in_full() const { return diagonal.full >= 0; }

  // Where there is a nonzero, and nowhere else: that is known as soon as the offset is. Of the others, 0.
  __device__ __forceinline__ void load_elements(const T* x_at_row, std::uint32_t lane_bit, T (&element)[Rows]) const {
    const T* at = x_at_row + diagonal.offset;
    // Computed once, not anew for each load under its condition.
    asm("" : "+l"(at));
#pragma unroll
    for (int r = 0; r < Rows; ++r) element[r] = (bits[r] & lane_bit) != 0 ? load_x(at + r * word_rows) : T{0};
  }
};

template <int Rows, class T>
__global__ void multiply_kernel(ConstantsView<T> view, CachePolicy policy, T alpha, const T* x, T beta,
                                T* __restrict__ y) {
  // Diagonals whose loads are under way together.
  constexpr int in_flight = 8 / Rows;
  const auto first_row = first_row_of_warp<Rows>();
  if (first_row >= view.rows) return cuda::await_before();
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const auto lane_bit = std::uint32_t{1} << lane;
  // Both fit into 32 bits, in which a division is cheap.
  const auto h = static_cast<std::uint32_t>(first_row) / static_cast<std::uint32_t>(view.hack);
  const auto within = static_cast<int>(first_row - h * view.hack);
  const auto hack_words = static_cast<int>(view.hack / word_rows);
  const auto row = first_row + lane;
  const T* const x_at_row = x + row;
  const std::int32_t last = __ldg(view.first + h + 1);
  const std::int32_t begin = __ldg(view.first + h);
  cuda::await_before();
  const HackDiagonal<T>* const diagonals = view.diagonals + begin;
  const std::uint32_t* const words = view.words + std::int64_t{begin} * hack_words + within / word_rows;
  const int count = last - begin;
  T sum[Rows] = {};
  bool some_full = false;
  for (int first = 0; first < count; first += in_flight) {
    Run<Rows, T> run[in_flight];
    T element[in_flight][Rows];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (first + u < count) run[u].load(diagonals + first + u, words + (first + u) * hack_words);
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      run[u].load_elements(x_at_row, run[u].in_full() ? 0 : lane_bit, element[u]);
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      some_full = some_full || run[u].in_full();
#pragma unroll
      for (int r = 0; r < Rows; ++r) sum[r] += run[u].diagonal.constant * element[u][r];
    }
  }
  for (int d = some_full ? 0 : count; d < count; ++d) {
    Run<Rows, T> run;
    run.load(diagonals + d, words + d * hack_words);
    if (!run.in_full()) continue;
    T element[Rows];
    run.load_elements(x_at_row, lane_bit, element);
    const T* slots = view.slots + std::int64_t{run.diagonal.full} * view.hack + within + lane;
#pragma unroll
    for (int r = 0; r < Rows; ++r) sum[r] += load_stream(slots + r * word_rows, policy) * element[r];
  }
  store_rows(y, row, view.rows, alpha, sum, beta);
}

}  // namespace

template <class T>
std::optional<std::int64_t> find_constants(const CsrView<T>& matrix, Constants<T>& constants, Stream stream) {
  const auto count = count_of(constants);
  if (count == 0) return 0;
  const auto& places = constants.places;
  const auto place = places.offsets.place();
  Array<std::uint8_t> full(constants.diagonals.size(), place);
  Array<Found> on_device(1, place);
  fill_bytes(on_device.data(), 0, sizeof(Found), place, stream);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    find_kernel<<<static_cast<unsigned>(places.hacks), static_cast<unsigned>(places.hack), 0, cuda::InTurn(stream)>>>(
        matrix, row_ptr, places.first.data(), places.offsets.data(), constants.diagonals.data(), constants.words.data(),
        full.data(), on_device.data());
  });
  cuda::check_launch();
  Found found{};
  copy_bytes(&found, on_device.data(), sizeof found, place, stream);
  synchronize(place, stream);
  if (found.with_duplicates != 0) return std::nullopt;
  if (found.full == 0) return 0;
  Array<std::int32_t> positions(full.size(), place);
  (void)cuda::flagged_positions(full.data(), count, positions.data(), place, stream);
  number_kernel<<<cuda::grid_for(found.full), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      found.full, positions.data(), constants.diagonals.data());
  cuda::check_launch();
  return found.full;
}

template <class T>
bool take_values(const Array<T>& values, Constants<T>& constants, Stream stream) {
  const auto count = count_of(constants);
  if (count == 0) return true;
  Array<int> broken(1, values.place());
  fill_bytes(broken.data(), 0, sizeof(int), values.place(), stream);
  take_kernel<<<cuda::grid_for(count * warp_size), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      count, constants.places.hack, values.data(), constants.diagonals.data(), constants.slots.data(), broken.data());
  cuda::check_launch();
  return cuda::read(broken.data(), stream) == 0;
}

template <class T>
void multiply(const Constants<T>& constants, const DiagonalLayout& layout, T alpha, const T* x, T beta, T* y,
              Stream stream) {
  const auto& places = constants.places;
  const auto policy = policy_for<T>(constants.bytes(), places.rows, places.cols);
  dispatch<1, 2, 4, 8>(layout.rows, [&](auto rows) {
    cuda::launch_early(multiply_kernel<rows.value, T>, grid_of_rows<rows.value>(places.rows, layout.block),
                       layout.block, 0, stream, constants.view(), policy, alpha, x, beta, y);
  });
}

#define AUTOSPMV_CONSTANTS(T)                                                                    \
  template std::optional<std::int64_t> find_constants(const CsrView<T>&, Constants<T>&, Stream); \
  template bool take_values(const Array<T>&, Constants<T>&, Stream);                             \
  template void multiply(const Constants<T>&, const DiagonalLayout&, T, const T*, T, T*, Stream);
AUTOSPMV_CONSTANTS(float)
AUTOSPMV_CONSTANTS(double)
#undef AUTOSPMV_CONSTANTS

}  // namespace autospmv::formats::hdia::device
