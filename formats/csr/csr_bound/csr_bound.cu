#include <bit>
#include <optional>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/kernels/batches.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/common/operators.hpp"
#include "formats/common/streams/scratch.hpp"
#include "formats/csr/csr_bound/csr_bound.hpp"

namespace autospmv::formats::csr_bound::device {

namespace {

constexpr int most_warps = 1024 / cuda::warp_size;

template <class Offset>
__global__ void bounds_kernel(const Offset* row_ptr, std::int64_t rows, std::int64_t fragments, int length,
                              Bound* bounds) {
  const auto fragment = cuda::global_thread();
  if (fragment < fragments) bounds[fragment] = bound_of(row_ptr, rows, fragments, length, fragment);
}

// The products of `count` nonzeros from `begin` on, by all threads of the block.
template <class T>
__device__ __forceinline__ void multiply_fragment(const FullColumns& columns, const FullValues<T>& values,
                                                  std::int64_t begin, int count, const T* x, T* products) {
  constexpr int unroll = 4;
  const int block = static_cast<int>(blockDim.x);
  for (int first = static_cast<int>(threadIdx.x); first < count; first += unroll * block) {
    std::int32_t column[unroll];
    T value[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const int i = first + u * block;
      column[u] = i < count ? columns.at(begin + i) : -1;
      value[u] = i < count ? values.at(begin + i) : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (column[u] >= 0) products[first + u * block] = value[u] * load_x(x + column[u]);
    }
  }
}

// The binary logarithm of the most threads a row with which the block takes all rows at once.
__device__ __forceinline__ int log_threads_for(std::int64_t rows) {
  int log_threads = 5;
  while (log_threads > 0 && rows << log_threads > blockDim.x) --log_threads;
  return log_threads;
}

// A block a fragment. `parts` has two sums a fragment: of a row that began before it, and of one that goes on after it.
// log_threads < 0: chosen here.
template <bool merging, class T, class Offset>
__global__ void fragments_kernel(CsrView<T> matrix, const Offset* row_ptr, CachePolicy policy, Bounds bounds,
                                 int log_threads, T alpha, const T* __restrict__ x, T beta, T* __restrict__ y,
                                 T* __restrict__ parts) {
  extern __shared__ double memory[];  // one type for all T, as the name is one for all kernels
  T* products = reinterpret_cast<T*>(memory);
  __shared__ T rest[most_warps];
  const std::int64_t fragment = blockIdx.x;
  const Bound bound = bounds.rows[fragment];
  const bool begun = bounds.begun_before(fragment);
  const bool goes_on = bounds.goes_on(fragment);
  // All of it belongs to a row that another block adds up.
  if (!merging && begun && bound.first == bound.last) return;

  const std::int64_t begin = fragment * bounds.length;
  const int count = static_cast<int>(min(static_cast<std::int64_t>(bounds.length), matrix.nnz - begin));
  const FullColumns columns{matrix.col_idx, policy};
  const FullValues<T> values{matrix.values, policy};
  multiply_fragment(columns, values, begin, count, x, products);
  const int thread = static_cast<int>(threadIdx.x);
  const int block = static_cast<int>(blockDim.x);
  if (!merging && goes_on) {
    const std::int64_t last = row_ptr[bound.last + 1];
    const T sum = sum_batches<4, false>(columns, values, begin + count + thread, last, block, x);
    const T of_warp = sum_lanes<cuda::warp_size>(sum);
    if (thread % cuda::warp_size == 0) rest[thread / cuda::warp_size] = of_warp;
  }
  __syncthreads();

  const std::int64_t rows = bound.last - bound.first + std::int64_t{1};
  if (log_threads < 0) log_threads = log_threads_for(rows);
  const int threads = 1 << log_threads;
  const int lane = thread & (threads - 1);
  // All lanes of a warp stay together until they have added up their sums.
  for (std::int64_t next = 0; next < rows; next += block >> log_threads) {
    const std::int64_t at = next + (thread >> log_threads);
    const std::int64_t row = bound.first + at;
    const bool inside = at < rows;
    const int from = inside ? static_cast<int>(max(row_ptr[row] - begin, std::int64_t{0})) : 0;
    const int to = inside ? static_cast<int>(min(row_ptr[row + 1] - begin, static_cast<std::int64_t>(count))) : 0;
    T sum = 0;
    for (int i = from + lane; i < to; i += threads) sum += products[i];
    sum = sum_lanes(sum, threads);
    if (!inside || lane != 0) continue;
    const bool head = begun && at == 0;
    const bool tail = goes_on && at == rows - 1;
    if (merging && (head || tail)) {
      parts[2 * fragment + (head ? 0 : 1)] = sum;
    } else if (!head) {
      if (tail) {
        for (int warp = 0; warp < block / cuda::warp_size; ++warp) sum += rest[warp];
      }
      store_row(y, row, alpha, sum, beta);
    }
  }
}

// Adds up the rows that lie in several fragments, a thread each; those that lie in many, by its warp.
template <class T, class Offset>
__global__ void merge_kernel(const Offset* row_ptr, Bounds bounds, const T* __restrict__ parts, T alpha, T beta,
                             T* __restrict__ y) {
  constexpr int many = 16;
  const auto fragment = cuda::global_thread();
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  std::int32_t row = -1;
  T sum = 0;
  int first = 0;
  int last = 0;
  if (fragment < bounds.fragments && bounds.goes_on(fragment)) {
    const Bound bound = bounds.rows[fragment];
    if (!bounds.begun_before(fragment) || bound.first != bound.last) {
      row = bound.last;
      sum = parts[2 * fragment + 1];
      first = static_cast<int>(fragment) + 1;
      last = static_cast<int>((row_ptr[row + 1] - 1) / bounds.length) + 1;
    }
  }
  const bool is_long = last - first > many;
  if (!is_long) {
    for (int other = first; other < last; ++other) sum += parts[2 * static_cast<std::int64_t>(other)];
  }
  for (unsigned longs = __ballot_sync(cuda::all_lanes, is_long); longs != 0; longs &= longs - 1) {
    const int owner = __ffs(static_cast<int>(longs)) - 1;
    const int end = __shfl_sync(cuda::all_lanes, last, owner);
    T others = 0;
    for (int other = __shfl_sync(cuda::all_lanes, first, owner) + lane; other < end; other += cuda::warp_size) {
      others += parts[2 * static_cast<std::int64_t>(other)];
    }
    others = __shfl_sync(cuda::all_lanes, sum_lanes<cuda::warp_size>(others), 0);
    if (lane == owner) sum += others;
  }
  if (row >= 0) store_row(y, row, alpha, sum, beta);
}

template <class T>
class CsrBoundOperator final : public CsrOperator<T> {
 public:
  CsrBoundOperator(const CsrView<T>& matrix, const Shape& shape, Place place, Stream stream)
      : CsrOperator<T>(matrix, place),
        shape_(shape),
        bounds_(static_cast<std::size_t>(count_fragments(matrix.nnz, shape.length)), place) {
    if (matrix.rows == 0) return;
    // No row goes on from a single fragment.
    const auto parts = 2 * bounds_.size();
    if (shape.merge && bounds_.size() > 1) parts_.emplace(place, [=] { return Array<T>(parts, place); });
    with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
      bounds_kernel<<<cuda::grid_for(fragments()), cuda::default_block, 0, cuda::InTurn(stream)>>>(
          row_ptr, matrix.rows, fragments(), shape.length, bounds_.data());
    });
    cuda::check_launch();
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    if (this->matrix_.rows == 0) return;
    with_offsets(this->matrix_.row_ptr, [&](const auto* row_ptr) {
      if (!parts_) return multiply<false>(row_ptr, nullptr, alpha, x, beta, y, stream);
      parts_->use(stream, [&](Array<T>& parts) {
        multiply<true>(row_ptr, parts.data(), alpha, x, beta, y, stream);
        merge(row_ptr, parts.data(), alpha, beta, y, stream);
      });
    });
  }

  [[nodiscard]] std::int64_t bytes() const override { return bounds_.bytes() + (parts_ ? parts_->bytes() : 0); }

 private:
  [[nodiscard]] std::int64_t fragments() const { return static_cast<std::int64_t>(bounds_.size()); }
  [[nodiscard]] Bounds bounds() const { return {bounds_.data(), fragments(), shape_.length}; }

  template <bool merging, class Offset>
  void multiply(const Offset* row_ptr, T* parts, T alpha, const T* x, T beta, T* y, Stream stream) const {
    const auto grid = cuda::grid_for(fragments() * shape_.block, shape_.block);
    const int log_threads = shape_.threads == 0 ? -1 : std::countr_zero(static_cast<unsigned>(shape_.threads));
    const auto shared_bytes = static_cast<std::size_t>(shape_.length) * sizeof(T);
    fragments_kernel<merging><<<grid, shape_.block, shared_bytes, cuda::InTurn(stream)>>>(
        this->matrix_, row_ptr, policy_for<T>(this->matrix_.bytes(), this->matrix_.rows, this->matrix_.cols), bounds(),
        log_threads, alpha, x, beta, y, parts);
    cuda::check_launch();
  }

  template <class Offset>
  void merge(const Offset* row_ptr, const T* parts, T alpha, T beta, T* y, Stream stream) const {
    merge_kernel<<<cuda::grid_for(fragments()), cuda::default_block, 0, cuda::InTurn(stream)>>>(row_ptr, bounds(),
                                                                                                parts, alpha, beta, y);
    cuda::check_launch();
  }

  Shape shape_;
  Array<Bound> bounds_;
  std::optional<Scratch<Array<T>>> parts_;  // only where there is something to merge
};

}  // namespace

template <class T>
std::unique_ptr<Operator<T>> make_operator(const CsrView<T>& matrix, const Shape& shape, Place place, Stream stream) {
  return std::make_unique<CsrBoundOperator<T>>(matrix, shape, place, stream);
}

template std::unique_ptr<Operator<float>> make_operator(const CsrView<float>&, const Shape&, Place, Stream);
template std::unique_ptr<Operator<double>> make_operator(const CsrView<double>&, const Shape&, Place, Stream);

}  // namespace autospmv::formats::csr_bound::device
