#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "formats/common/kernel.cuh"
#include "formats/dia/dia.hpp"

namespace autospmv::formats::dia::device {

namespace {

constexpr int unroll = 8;

__device__ __forceinline__ bool absent(double value) { return __double_as_longlong(value) == 0; }
__device__ __forceinline__ bool absent(float value) { return __float_as_int(value) == 0; }

template <class T, class Offset>
__global__ void mark_kernel(CsrView<T> matrix, const Offset* row_ptr, std::uint8_t* used) {
  const auto row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= matrix.rows) return;
  for (std::int64_t k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
    std::uint8_t* flag = used + (matrix.col_idx[k] - row + matrix.rows - 1);
    // Few diagonals are written by very many rows: reading first keeps them shared in the caches.
    if (*static_cast<volatile std::uint8_t*>(flag) == 0) *flag = 1;
  }
}

__global__ void index_kernel(const std::int32_t* positions, std::int64_t diagonals, std::int64_t rows,
                             std::int32_t* offsets, std::int32_t* diagonal_of) {
  const auto d = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (d >= diagonals) return;
  diagonal_of[positions[d]] = static_cast<std::int32_t>(d);
  offsets[d] = static_cast<std::int32_t>(positions[d] - rows + 1);
}

// Neighbouring threads write neighbouring slots of the same diagonal wherever rows are alike.
template <class T, class Offset>
__global__ void fill_kernel(CsrView<T> matrix, const Offset* row_ptr, const std::int32_t* diagonal_of,
                            std::int64_t stride, T* values, std::int32_t* collisions) {
  const auto row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= matrix.rows) return;
  for (std::int64_t k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
    const std::int64_t d = diagonal_of[matrix.col_idx[k] - row + matrix.rows - 1];
    // One thread owns the row, so no other writes this slot.
    T* slot = values + d * stride + row;
    if (!absent(*slot)) atomicAdd(collisions, 1);
    *slot = absent(matrix.values[k]) ? -T{0} : matrix.values[k];
  }
}

template <class T>
__global__ void multiply_kernel(const T* __restrict__ values, const std::int32_t* __restrict__ offsets,
                                std::int64_t diagonals, std::int64_t stride, std::int64_t rows, T alpha,
                                const T* __restrict__ x, T beta, T* __restrict__ y) {
  const auto row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  T sum = 0;
  values += row;
  x += row;
  std::int64_t d = 0;
  for (; d + unroll <= diagonals; d += unroll) {
    T value[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) value[u] = load_stream(values + (d + u) * stride);
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (!absent(value[u])) sum += value[u] * load_x(x + __ldg(offsets + d + u));
    }
  }
  // The rest, all loads before the first use here too: a stencil of seven diagonals is nothing but this rest.
  T value[unroll - 1];
#pragma unroll
  for (int u = 0; u < unroll - 1; ++u) value[u] = d + u < diagonals ? load_stream(values + (d + u) * stride) : T{0};
#pragma unroll
  for (int u = 0; u < unroll - 1; ++u) {
    if (!absent(value[u])) sum += value[u] * load_x(x + __ldg(offsets + d + u));
  }
  store_row(y, row, alpha, sum, beta);
}

}  // namespace

template <class T>
void find_diagonals(const CsrView<T>& matrix, DiaMatrix<T>& dia, Place place, Stream stream) {
  const auto range = matrix.rows + matrix.cols;
  Array<std::uint8_t> used(static_cast<std::size_t>(range), place);
  Array<std::int32_t> positions(static_cast<std::size_t>(range), place);
  fill_bytes(used.data(), 0, used.size(), place, stream);
  std::visit(
      [&](const auto* row_ptr) {
        mark_kernel<<<cuda::grid_for(matrix.rows), cuda::default_block, 0, stream.handle>>>(matrix, row_ptr,
                                                                                            used.data());
      },
      matrix.row_ptr);
  cuda::check_launch();
  const auto diagonals = cuda::flagged_positions(used.data(), range, positions.data(), place, stream);
  dia.offsets = Array<std::int32_t>(static_cast<std::size_t>(diagonals), place);
  dia.diagonal_of = Array<std::int32_t>(static_cast<std::size_t>(range), place);
  if (diagonals == 0) return;
  index_kernel<<<cuda::grid_for(diagonals), cuda::default_block, 0, stream.handle>>>(
      positions.data(), diagonals, matrix.rows, dia.offsets.data(), dia.diagonal_of.data());
  cuda::check_launch();
}

template <class T>
void fill(const CsrView<T>& matrix, DiaMatrix<T>& dia, std::int32_t* collisions, Stream stream) {
  fill_bytes(dia.values.data(), 0, static_cast<std::size_t>(dia.values.bytes()), dia.values.place(), stream);
  fill_bytes(collisions, 0, sizeof *collisions, dia.values.place(), stream);
  std::visit(
      [&](const auto* row_ptr) {
        fill_kernel<<<cuda::grid_for(matrix.rows), cuda::default_block, 0, stream.handle>>>(
            matrix, row_ptr, dia.diagonal_of.data(), dia.stride, dia.values.data(), collisions);
      },
      matrix.row_ptr);
  cuda::check_launch();
}

template <class T>
void multiply(const DiaMatrix<T>& dia, T alpha, const T* x, T beta, T* y, Stream stream) {
  multiply_kernel<<<cuda::grid_for(dia.rows, dia.block), dia.block, 0, stream.handle>>>(
      dia.values.data(), dia.offsets.data(), dia.diagonals(), dia.stride, dia.rows, alpha, x, beta, y);
  cuda::check_launch();
}

#define AUTOSPMV_DIA(T)                                                          \
  template void find_diagonals(const CsrView<T>&, DiaMatrix<T>&, Place, Stream); \
  template void fill(const CsrView<T>&, DiaMatrix<T>&, std::int32_t*, Stream);   \
  template void multiply(const DiaMatrix<T>&, T, const T*, T, T*, Stream);
AUTOSPMV_DIA(float)
AUTOSPMV_DIA(double)
#undef AUTOSPMV_DIA

}  // namespace autospmv::formats::dia::device
