#include <array>
#include <optional>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/binned/children_dynamic.hpp"
#include "formats/binned/device.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/streams/fork_join.hpp"

namespace autospmv::formats::cuda_steps {

namespace {

constexpr int most_block = 512;

// Kernels of bins that may run side by side.
constexpr int branches_at_once = 8;

// A block belongs to one bin, so its threads agree on how many of them a row has. That one block a multiprocessor is
// enough is said for the compiler, which would spare registers by waiting for one load before the next.
template <class T, class Offset, class Values>
__global__ void __launch_bounds__(most_block, 1)
    multiply_kernel(const __grid_constant__ BinTable table, BinnedView<Offset> rows, Values values, CachePolicy policy,
                    T alpha, const T* x, T beta, T* __restrict__ y) {
  __shared__ T of_warp[most_warps];
  const auto seat = table.seat_of(blockIdx.x, static_cast<int>(threadIdx.x));
  cuda::await_before();
  const std::int64_t row = seat.inside ? rows.row_at(seat.position) : rows.rows;
  const bool inside = row < rows.rows;
  const std::int64_t first = inside ? rows.first_entry(seat.position, row) : 0;
  const std::int64_t last = inside ? rows.last_entry(seat.position, row) : 0;
  values.open(policy);
  const int in_block = 1 << min(seat.log_threads, table.log_block);
  T sum = batched_sum(FullColumns{rows.columns, policy}, values, first, last, static_cast<int>(seat.lane),
                      1 << seat.log_threads, x);
  sum = sum_threads(sum, static_cast<int>(threadIdx.x) & (in_block - 1), in_block, of_warp);
  if (!inside || (static_cast<int>(threadIdx.x) & (in_block - 1)) != 0) return;
  if (seat.log_threads > table.log_block) {
    atomicAdd(y + row, alpha * sum);
  } else {
    store_row(y, row, alpha, sum, beta);
  }
}

// y = beta y for the rows at the first positions.
template <class T, class Offset>
__global__ void scale_rows_kernel(BinnedView<Offset> rows, std::int64_t first, std::int64_t last, T beta, T* y) {
  const auto position = first + cuda::global_thread();
  cuda::await_before();
  if (position >= last) return;
  const auto row = rows.row_at(position);
  if (row < rows.rows) y[row] = beta == T{0} ? T{0} : beta * y[row];
}

template <class Offset>
__global__ void lengths_kernel(const Offset* row_ptr, const std::int32_t* order, std::int64_t rows, Offset* lengths) {
  const auto position = cuda::global_thread();
  if (position > rows) return;
  lengths[position] = position < rows ? row_ptr[order[position] + 1] - row_ptr[order[position]] : 0;
}

// The threads of the product, which suit rows of their lengths here as well.
template <class Offset, class V>
__global__ void copy_rows_kernel(const __grid_constant__ BinTable table, const Offset* source,
                                 const std::int32_t* order, const Offset* target, const V* from, V* to) {
  const auto seat = table.seat_of(blockIdx.x, static_cast<int>(threadIdx.x));
  if (!seat.inside) return;
  const auto row = order[seat.position];
  const std::int64_t begin = source[row];
  const std::int64_t length = static_cast<std::int64_t>(source[row + 1]) - begin;
  const std::int64_t start = target[seat.position];
  // Loads do not wait for stores, nor for each other.
  constexpr int at_once = 8;
  const auto stride = std::int64_t{1} << seat.log_threads;
  for (std::int64_t first = seat.lane; first < length; first += at_once * stride) {
    V copied[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) copied[i] = from[begin + min(first + i * stride, length - 1)];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (first + i * stride < length) to[start + first + i * stride] = copied[i];
    }
  }
}

template <class T>
class CudaBinnedRows final : public BinnedRowsOperator<T> {
 public:
  CudaBinnedRows(const CsrView<T>& matrix, RowBins rows, BinnedShape shape, Place place)
      : BinnedRowsOperator<T>(matrix, std::move(rows), std::move(shape), place) {
    const auto& bins = this->shape_.bins;
    const int count = static_cast<int>(bins.size());
    all_ = table_of(bins.data(), count, this->shape_.block);
    const int first = this->shape_.dynamic_bins;
    if (this->shape_.fused && first < count) {
      tables_.push_back(table_of(bins.data() + first, count - first, this->shape_.block));
    }
    for (int bin = first; !this->shape_.fused && bin < count; ++bin) {
      tables_.push_back(table_of(bins.data() + bin, 1, this->shape_.block));
    }
    if (branches() > 1) fork_.emplace(std::min(branches(), branches_at_once), place);
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    // Beside other kernels of a replayed graph, one that launches others never came to an end.
    if (has_children() && is_capturing(this->place_, stream)) {
      throw Unsupported(
          "a product by kernels that launch kernels cannot be captured into a CUDA graph: make the plan with the limit "
          "capture");
    }
    const auto& matrix = this->matrix_;
    const auto policy = policy_for<T>(matrix.bytes(), matrix.rows, matrix.cols);
    const auto multiply_branch = [&](int branch, Stream on) {
      this->with_view([&](const auto& view, const auto& values) {
        const int tables = static_cast<int>(tables_.size());
        if (branch == tables) {
          const auto rows = this->shape_.bins[static_cast<std::size_t>(this->shape_.dynamic_bins) - 1].last;
          multiply_dynamic(view, values, policy, rows, alpha, x, beta, y, on);
        } else {
          // The longest rows first; with children, in the order of SURAA's Algorithm 1.
          const int table = has_children() ? tables - 1 - branch : branch;
          multiply(tables_[static_cast<std::size_t>(table)], view, values, policy, alpha, x, beta, y, on);
        }
      });
    };
    if (fork_) {
      fork_->run(branches(), stream, multiply_branch);
    } else if (branches() == 1) {
      multiply_branch(0, stream);
    }
  }

 private:
  bool has_children() const { return this->shape_.dynamic_bins > 0; }
  int branches() const { return static_cast<int>(tables_.size()) + (has_children() ? 1 : 0); }

  template <class Offset, class Values>
  void multiply(const BinTable& table, const BinnedView<Offset>& view, const Values& values, CachePolicy policy,
                T alpha, const T* x, T beta, T* y, Stream stream) const {
    // The longest rows come first, so those that blocks share do.
    std::int64_t shared_end = table.bins[0].first;
    for (int bin = 0; bin < table.count; ++bin) {
      if (table.bins[bin].log_threads > table.log_block) shared_end = table.bins[bin].last;
    }
    const std::int64_t shared = shared_end - table.bins[0].first;
    if (shared > 0 && beta != T{1}) {
      cuda::launch_early(scale_rows_kernel<T, Offset>, cuda::grid_for(shared), cuda::default_block, 0, stream, view,
                         table.bins[0].first, shared_end, beta, y);
    }
    const int block = this->shape_.block;
    cuda::launch_early(multiply_kernel<T, Offset, Values>, cuda::grid_for(table.blocks * block, block), block, 0,
                       stream, table, view, values, policy, alpha, x, beta, y);
  }

  void store_rows(Stream stream) override {
    const auto rows = this->matrix_.rows;
    with_offsets(this->matrix_.row_ptr, [&]<class Offset>(const Offset* source) {
      Offset* row_ptr = std::get<Array<Offset>>(this->row_ptr_).data();
      lengths_kernel<<<cuda::grid_for(rows + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
          source, this->order_.data(), rows, row_ptr);
      cuda::check_launch();
      cuda::exclusive_scan(row_ptr, row_ptr, rows + 1, this->place_, stream);
    });
    copy_rows(this->matrix_.col_idx, this->columns_.data(), stream);
  }

  void store_values(T* values, Stream stream) const override { copy_rows(this->matrix_.values, values, stream); }

  template <class V>
  void copy_rows(const V* from, V* to, Stream stream) const {
    if (all_.blocks == 0) return;
    const int block = this->shape_.block;
    with_offsets(this->matrix_.row_ptr, [&]<class Offset>(const Offset* source) {
      const Offset* target = std::get<Array<Offset>>(this->row_ptr_).data();
      copy_rows_kernel<<<cuda::grid_for(all_.blocks * block, block), block, 0, cuda::InTurn(stream)>>>(
          all_, source, this->order_.data(), target, from, to);
    });
    cuda::check_launch();
  }

  BinTable all_;
  std::vector<BinTable> tables_;  // one a launch
  std::optional<ForkJoin> fork_;
};

}  // namespace

template <class T>
std::unique_ptr<BinnedRowsOperator<T>> make_binned_rows(const CsrView<T>& matrix, RowBins rows, BinnedShape shape,
                                                        Place place) {
  return std::make_unique<CudaBinnedRows<T>>(matrix, std::move(rows), std::move(shape), place);
}

template std::unique_ptr<BinnedRowsOperator<float>> make_binned_rows(const CsrView<float>&, RowBins, BinnedShape,
                                                                     Place);
template std::unique_ptr<BinnedRowsOperator<double>> make_binned_rows(const CsrView<double>&, RowBins, BinnedShape,
                                                                      Place);

}  // namespace autospmv::formats::cuda_steps
