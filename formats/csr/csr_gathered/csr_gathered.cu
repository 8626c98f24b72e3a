#include "formats/csr/csr_gathered/csr_gathered.hpp"

#include <bit>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/machine/array.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/common/operators.hpp"
#include "formats/common/streams/scratch.hpp"

namespace autospmv::formats::csr_gathered::device {

namespace {

// Independent loads of a thread.
constexpr int unroll = 4;

template <class T>
__global__ void gather_kernel(FullColumns columns, std::int64_t nnz, const T* __restrict__ x,
                              T* __restrict__ gathered) {
  const int block = static_cast<int>(blockDim.x);
  const auto first = static_cast<std::int64_t>(blockIdx.x) * block * unroll + threadIdx.x;
  std::int32_t column[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) column[u] = first + u * block < nnz ? columns.at(first + u * block) : -1;
  T element[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) element[u] = column[u] >= 0 ? load_x(x + column[u]) : T{0};
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (column[u] >= 0) gathered[first + u * block] = element[u];
  }
}

__global__ void compare_kernel(const std::int32_t* columns, std::int64_t nnz, int* differs) {
  const auto k = cuda::global_thread();
  if (k < nnz && columns[k] != k) *differs = 1;
}

template <class T>
bool is_gathered(const CsrView<T>& matrix, Place place) {
  if (matrix.cols != matrix.nnz || matrix.nnz == 0) return false;
  constexpr int block = 256;
  auto differs = Array<int>::copy_of(std::vector<int>{0}, place);
  compare_kernel<<<cuda::grid_for(matrix.nnz, block), block, 0, cuda::InTurn(setup_stream(place))>>>(
      matrix.col_idx, matrix.nnz, differs.data());
  cuda::check_launch();
  return differs.to_vector().front() == 0;
}

template <class T, class Offset>
__global__ void multiply_kernel(std::int64_t rows, const Offset* row_ptr, FullValues<T> values, const T* gathered,
                                int log_threads, T alpha, T beta, T* y) {
  const auto thread = cuda::global_thread();
  const auto row = thread >> log_threads;
  const int threads = 1 << log_threads;
  const int lane = static_cast<int>(threadIdx.x) & (threads - 1);
  const bool inside = row < rows;
  const std::int64_t last = inside ? row_ptr[row + 1] : 0;
  std::int64_t k = (inside ? row_ptr[row] : 0) + lane;
  T sum = 0;
  for (; k + (unroll - 1) * threads < last; k += unroll * threads) {
    T value[unroll];
    T element[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      value[u] = values.at(k + u * threads);
      element[u] = load_stream(gathered + k + u * threads);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += value[u] * element[u];
  }
  for (; k < last; k += threads) sum += values.at(k) * load_stream(gathered + k);
  sum = sum_lanes(sum, threads);
  if (inside && lane == 0) store_row(y, row, alpha, sum, beta);
}

template <class T>
class CsrGatheredOperator final : public CsrOperator<T> {
 public:
  CsrGatheredOperator(const CsrView<T>& matrix, const Shape& shape, Place place)
      : CsrOperator<T>(matrix, place),
        shape_(shape),
        is_gathered_(is_gathered(matrix, place)),
        gathered_(place, [size = static_cast<std::size_t>(is_gathered_ ? 0 : matrix.nnz), place] {
          return Array<T>(size, place);
        }) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    if (this->matrix_.rows == 0) return;
    if (is_gathered_) return multiply(x, alpha, beta, y, stream);
    gathered_.use(stream, [&](Array<T>& gathered) {
      gather(x, gathered, stream);
      multiply(gathered.data(), alpha, beta, y, stream);
    });
  }

  [[nodiscard]] std::int64_t bytes() const override { return gathered_.bytes(); }

 private:
  void gather(const T* x, Array<T>& gathered, Stream stream) const {
    if (this->matrix_.nnz == 0) return;
    const auto grid = cuda::grid_for((this->matrix_.nnz + unroll - 1) / unroll, shape_.block);
    gather_kernel<<<grid, shape_.block, 0, cuda::InTurn(stream)>>>(FullColumns{this->matrix_.col_idx, policy()},
                                                                   this->matrix_.nnz, x, gathered.data());
    cuda::check_launch();
  }

  void multiply(const T* gathered, T alpha, T beta, T* y, Stream stream) const {
    const auto grid = cuda::grid_for(this->matrix_.rows * shape_.threads, shape_.block);
    const int log_threads = std::countr_zero(static_cast<unsigned>(shape_.threads));
    with_offsets(this->matrix_.row_ptr, [&](const auto* row_ptr) {
      multiply_kernel<<<grid, shape_.block, 0, cuda::InTurn(stream)>>>(this->matrix_.rows, row_ptr,
                                                                       FullValues<T>{this->matrix_.values, policy()},
                                                                       gathered, log_threads, alpha, beta, y);
    });
    cuda::check_launch();
  }

  // The gathered elements want room as vectors do.
  [[nodiscard]] CachePolicy policy() const {
    return policy_for<T>(this->matrix_.bytes(), this->matrix_.rows, this->matrix_.cols + this->matrix_.nnz);
  }

  Shape shape_;
  bool is_gathered_;
  Scratch<Array<T>> gathered_;
};

}  // namespace

template <class T>
std::unique_ptr<Operator<T>> make_operator(const CsrView<T>& matrix, const Shape& shape, Place place) {
  const DeviceScope scope(place);
  return std::make_unique<CsrGatheredOperator<T>>(matrix, shape, place);
}

template std::unique_ptr<Operator<float>> make_operator(const CsrView<float>&, const Shape&, Place);
template std::unique_ptr<Operator<double>> make_operator(const CsrView<double>&, const Shape&, Place);

}  // namespace autospmv::formats::csr_gathered::device
