#include "formats/diagonals/dia/symmetric.hpp"

#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/dispatch.hpp"
#include "formats/diagonals/device.cuh"

namespace autospmv::formats::dia::device {

namespace {

// One stored diagonal at the rows of a thread, and its reflection. Values stay in the caches for the rows that they
// belong to as well. Elements of x are asked for with them, before it is known whether there is a nonzero to multiply
// them: in a matrix that is stored like this, mostly there is.
template <int Rows, class T>
struct Pair {
  T above[Rows] = {};
  T below[Rows] = {};
  T right[Rows] = {};
  T left[Rows] = {};

  // All of the warp's rows have an element of x on both sides, or it has to be asked of each. At the main diagonal, the
  // reflection is the diagonal itself.
  template <bool inside>
  __device__ __forceinline__ void load(const T* upper, const T* lower, const T* x, std::int32_t offset,
                                       std::int32_t row, std::int32_t rows) {
    const T* const right_of = x + offset;
    const T* const left_of = x - offset;
    const T* const mates = lower - offset;
    constexpr int warp = cuda::warp_size;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (inside || row + r * warp < rows - offset) {
        above[r] = load_x(upper + r * warp);
        right[r] = load_x(right_of + r * warp);
      }
      if (inside || (offset > 0 && row + r * warp < rows && row + r * warp >= offset)) {
        below[r] = load_x(mates + r * warp);
        left[r] = load_x(left_of + r * warp);
      }
    }
  }

  __device__ __forceinline__ void add_to(T (&sum)[Rows]) const {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (!is_absent(above[r])) sum[r] += above[r] * right[r];
      if (!is_absent(below[r])) sum[r] += below[r] * left[r];
    }
  }
};

template <int Rows, class T>
__global__ void multiply_kernel(HalfView<T> half, T alpha, const T* x, T beta, T* __restrict__ y) {
  // Diagonals whose loads are under way together.
  constexpr int in_flight = 4 / Rows;
  const auto& shape = half.shape;
  const auto first_row = first_row_of_warp<Rows>();
  cuda::await_before();
  if (first_row >= shape.rows) return;
  const auto rows = static_cast<std::int32_t>(shape.rows);
  const auto first = static_cast<std::int32_t>(first_row);
  const auto row = first + static_cast<std::int32_t>(threadIdx.x) % cuda::warp_size;
  const T* upper = half.upper + row;
  const T* lower = *half.lower + row;
  const T* const x_of_row = x + row;
  T sum[Rows] = {};
  for (std::int32_t j = 0; j < shape.diagonals; j += in_flight) {
    std::int32_t offset[in_flight];
    Pair<Rows, T> pair[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) offset[u] = j + u < shape.diagonals ? __ldg(shape.offsets + j + u) : rows;
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (offset[u] > 0 && first >= offset[u] && first + rows_of_warp<Rows> <= rows - offset[u]) {
        pair[u].template load<true>(upper, lower, x_of_row, offset[u], row, rows);
      } else {
        pair[u].template load<false>(upper, lower, x_of_row, offset[u], row, rows);
      }
      upper += shape.hack;
      lower += shape.hack;
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) pair[u].add_to(sum);
  }
  store_rows(y, row, rows, alpha, sum, beta);
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
    sample_mates_kernel<<<1, static_cast<unsigned>(mates_sampled), 0, cuda::InTurn(stream)>>>(matrix, row_ptr, faults);
  });
  cuda::check_launch();
}

template <class T>
void multiply(const HalfView<T>& half, const DiagonalLayout& layout, T alpha, const T* x, T beta, T* y, Stream stream) {
  dispatch<1, 2, 4>(layout.rows, [&](auto rows) {
    const auto grid = grid_of_rows<rows.value>(half.shape.rows, layout.block);
    cuda::launch_early(multiply_kernel<rows.value, T>, grid, layout.block, 0, stream, half, alpha, x, beta, y);
  });
}

template void sample_mates(const CsrView<float>&, Faults*, Stream);
template void sample_mates(const CsrView<double>&, Faults*, Stream);
template void multiply(const HalfView<float>&, const DiagonalLayout&, float, const float*, float, float*, Stream);
template void multiply(const HalfView<double>&, const DiagonalLayout&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::dia::device
