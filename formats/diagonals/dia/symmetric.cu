#include "formats/diagonals/dia/symmetric.hpp"

#include "core/cuda/early.cuh"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/dispatch.hpp"
#include "formats/diagonals/device.cuh"

namespace autospmv::formats::dia::device {

namespace {

// Values that are read again by the rows that they belong to as well: they stay in the caches.
template <class T>
struct SlotsReadTwice {
  const T* values;

  template <int Rows>
  __device__ __forceinline__ void load(std::int64_t slot, T (&value)[Rows]) const {
    load_neighbours(values + slot, value, [](const auto* word) { return load_x(word); });
  }
  __device__ __forceinline__ T load(std::int64_t slot) const { return load_x(values + slot); }
};

// One stored diagonal at the rows of a thread, and its reflection.
template <int Rows, class T>
struct Pair {
  std::int64_t offset = 0;
  T above[Rows] = {};
  T below[Rows] = {};

  template <class Slots>
  __device__ __forceinline__ void load(const Slots& upper, const Slots& lower, std::int64_t first_slot,
                                       std::int64_t row) {
    upper.load(first_slot + row, above);
    if (offset == 0) return;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const auto mate = row + r - offset;
      if (mate >= 0) below[r] = lower.load(first_slot + mate);
    }
  }

  __device__ __forceinline__ void add_to(T (&sum)[Rows], const T* x, std::int64_t row) const {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (!is_absent(above[r])) sum[r] += above[r] * load_x(x + row + r + offset);
      if (!is_absent(below[r])) sum[r] += below[r] * load_x(x + row + r - offset);
    }
  }
};

template <int Rows, class T>
__global__ void multiply_kernel(HalfView<T> half, T alpha, const T* x, T beta, T* __restrict__ y) {
  // Diagonals whose loads are under way together.
  constexpr int in_flight = Rows < 4 ? 4 : 2;
  const auto row = cuda::global_thread() * Rows;
  const auto& shape = half.shape;
  cuda::await_before();
  if (row >= shape.rows) return;
  const SlotsReadTwice<T> upper{half.upper};
  const SlotsReadTwice<T> lower{*half.lower};
  T sum[Rows] = {};
  for (std::int32_t j = 0; j < shape.diagonals; j += in_flight) {
    Pair<Rows, T> pair[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (j + u < shape.diagonals) {
        pair[u].offset = __ldg(shape.offsets + j + u);
        pair[u].load(upper, lower, (j + u) * shape.hack, row);
      }
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) pair[u].add_to(sum, x, row);
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (row + r < shape.rows) store_row(y, row + r, alpha, sum[r], beta);
  }
}

template <class T, class Offset>
__global__ void sample_mates_kernel(CsrView<T> matrix, const Offset* row_ptr, Faults* faults) {
  if (!lacks_mate(matrix, row_ptr, threadIdx.x)) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&faults->wrong), 1ULL);
}

}  // namespace

template <class T>
void sample_mates(const CsrView<T>& matrix, Faults* faults, Stream stream) {
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    sample_mates_kernel<<<1, static_cast<unsigned>(mates_sampled), 0, stream.handle>>>(matrix, row_ptr, faults);
  });
  cuda::check_launch();
}

template <class T>
void multiply(const HalfView<T>& half, const DiagonalLayout& layout, T alpha, const T* x, T beta, T* y, Stream stream) {
  dispatch<1, 2, 4>(layout.rows, [&](auto rows) {
    const auto grid = cuda::grid_for((half.shape.rows + rows.value - 1) / rows.value, layout.block);
    cuda::launch_early(multiply_kernel<rows.value, T>, grid, layout.block, 0, stream, half, alpha, x, beta, y);
  });
}

template void sample_mates(const CsrView<float>&, Faults*, Stream);
template void sample_mates(const CsrView<double>&, Faults*, Stream);
template void multiply(const HalfView<float>&, const DiagonalLayout&, float, const float*, float, float*, Stream);
template void multiply(const HalfView<double>&, const DiagonalLayout&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::dia::device
