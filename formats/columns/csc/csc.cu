#include <bit>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/nonzeros.hpp"
#include "core/cuda/threads.cuh"
#include "formats/columns/csc/csc.hpp"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/common/kernels/vectors.hpp"

namespace autospmv::formats::csc::device {

namespace {

constexpr int unroll = 4;

// Threads of a column read neighbouring entries. They share nothing but the element of x, so they may be any number.
template <class T>
__global__ void add_kernel(const std::int64_t* col_ptr, std::int64_t cols, const std::int32_t* __restrict__ rows,
                           const T* __restrict__ values, CachePolicy policy, int log_threads, T alpha,
                           const T* __restrict__ x, T* y) {
  const auto thread = cuda::global_thread();
  const auto column = thread >> log_threads;
  if (column >= cols) return;
  const std::int64_t threads = std::int64_t{1} << log_threads;
  const std::int64_t last = __ldg(col_ptr + column + 1);
  auto entry = __ldg(col_ptr + column) + (thread & (threads - 1));
  if (entry >= last) return;
  const T element = load_x(x + column);
  for (; entry + (unroll - 1) * threads < last; entry += unroll * threads) {
    std::int32_t row[unroll];
    T value[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      row[u] = load_stream(rows + entry + u * threads, policy);
      value[u] = load_stream(values + entry + u * threads, policy);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) atomicAdd(y + row[u], alpha * (value[u] * element));
  }
  for (; entry < last; entry += threads) {
    atomicAdd(y + load_stream(rows + entry, policy), alpha * (load_stream(values + entry, policy) * element));
  }
}

}  // namespace

template <class T>
Panel<T> transpose(const CsrView<T>& matrix, Place place, Stream stream) {
  Panel<T> panel;
  panel.last_row = matrix.rows;
  if (matrix.nnz == 0) return panel;
  const auto entries = static_cast<std::size_t>(matrix.nnz);
  auto sorted = cuda::sort_by_column(matrix.col_idx, matrix.nnz, matrix.cols, place, stream);
  panel.col_ptr = std::move(sorted.first_of);
  panel.source = std::move(sorted.nonzeros);
  Array<std::int32_t> row_of(entries, place);
  cuda::expand_rows(matrix.row_ptr, matrix.rows, matrix.nnz, row_of.data(), stream);
  panel.rows = Array<std::int32_t>(entries, place);
  cuda::gather(static_cast<const std::int32_t*>(row_of.data()), static_cast<const std::uint32_t*>(panel.source.data()),
               panel.rows.data(), matrix.nnz, stream);
  panel.values = Array<T>(entries, place);
  return panel;
}

template <class T>
void multiply(const Panel<T>& panel, int threads, int block, T alpha, const T* x, T beta, T* y, Stream stream) {
  formats::device::scale(beta, y, panel.last_row, stream);
  if (panel.entries() == 0) return;
  const auto cols = static_cast<std::int64_t>(panel.col_ptr.size()) - 1;
  const int log_threads = std::countr_zero(static_cast<unsigned>(threads));
  add_kernel<<<cuda::grid_for(cols * threads, block), block, 0, cuda::InTurn(stream)>>>(
      panel.col_ptr.data(), cols, panel.rows.data(), panel.values.data(),
      policy_for<T>(panel.rows.bytes() + panel.values.bytes(), panel.last_row, cols), log_threads, alpha, x, y);
  cuda::check_launch();
}

template Panel<float> transpose(const CsrView<float>&, Place, Stream);
template Panel<double> transpose(const CsrView<double>&, Place, Stream);
template void multiply(const Panel<float>&, int, int, float, const float*, float, float*, Stream);
template void multiply(const Panel<double>&, int, int, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::csc::device
