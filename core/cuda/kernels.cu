#include "core/cuda/kernels.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/compensated.hpp"
#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/fingerprint_mix.hpp"
#include "core/random.hpp"

namespace autospmv::cuda {

namespace {

// Blocks for kernels that walk any number of elements in strides of the grid: enough to fill any device of today.
constexpr int max_blocks = 132 * 16;

unsigned striding_grid(std::int64_t size) {
  return std::min<unsigned>(grid_for(std::min<std::int64_t>(size, std::int64_t{max_blocks} * default_block)),
                            max_blocks);
}

__device__ std::int64_t thread_count() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

template <class T>
__global__ void fill_random_kernel(T* data, std::int64_t size, std::uint64_t seed) {
  for (std::int64_t i = global_thread(); i < size; i += thread_count()) {
    data[i] = static_cast<T>(random_value(seed, static_cast<std::uint64_t>(i)));
  }
}

__global__ void narrow_kernel(const std::int64_t* wide, std::int32_t* narrow, std::int64_t size) {
  for (std::int64_t i = global_thread(); i < size; i += thread_count()) narrow[i] = static_cast<std::int32_t>(wide[i]);
}

__global__ void narrow_columns_kernel(const std::int64_t* wide, std::int32_t* narrow, std::int64_t size) {
  for (std::int64_t i = global_thread(); i < size; i += thread_count()) narrow[i] = narrow_column(wide[i]);
}

// Integer addition commutes, so the sum is the same whatever the order of the atomics.
__device__ void add_to(HashSum sum, unsigned long long* total) {
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) {
    sum.high += __shfl_down_sync(all_lanes, sum.high, lanes);
    sum.low += __shfl_down_sync(all_lanes, sum.low, lanes);
  }
  if (threadIdx.x % warp_size == 0) {
    atomicAdd(total, sum.high);
    atomicAdd(total + 1, sum.low);
  }
}

template <class Offset>
__global__ void hash_offsets_kernel(const Offset* row_ptr, std::int64_t rows, unsigned long long* total) {
  HashSum sum;
  for (std::int64_t i = global_thread(); i <= rows; i += thread_count()) {
    sum += hash_word(static_cast<std::uint64_t>(row_ptr[i]), static_cast<std::uint64_t>(i));
  }
  add_to(sum, total);
}

__global__ void hash_columns_kernel(const std::int32_t* col_idx, std::int64_t nnz, unsigned long long* total) {
  HashSum sum;
  for (std::int64_t k = global_thread(); k < (nnz + 1) / 2; k += thread_count()) {
    sum += hash_word(column_word(col_idx, nnz, k), column_positions + static_cast<std::uint64_t>(k));
  }
  add_to(sum, total);
}

template <class Offset>
__global__ void check_offsets_kernel(const Offset* row_ptr, std::int64_t rows, std::int64_t nnz,
                                     unsigned long long* first) {
  for (std::int64_t i = global_thread(); i < rows; i += thread_count()) {
    if (row_ptr[i] < 0 || row_ptr[i] > row_ptr[i + 1] || row_ptr[i + 1] > nnz) {
      atomicMin(first, static_cast<unsigned long long>(i));
    }
  }
}

__global__ void check_columns_kernel(const std::int32_t* col_idx, std::int64_t nnz, std::int64_t cols,
                                     unsigned long long* first) {
  for (std::int64_t k = global_thread(); k < nnz; k += thread_count()) {
    if (col_idx[k] < 0 || col_idx[k] >= cols) atomicMin(first, static_cast<unsigned long long>(k));
  }
}

// What the kernels of a reference product share.
template <class T, class Offset>
struct ReferenceTask {
  CsrView<T> matrix;
  const Offset* row_ptr;
  T alpha;
  const T* x;
  T beta;
  const T* y0;
  double* product;
  double* scale;

  __device__ void finish(const CompensatedSum& sum, std::int64_t row) const {
    finish_row(sum, alpha, beta, y0, row, product, scale);
  }
};

// The sum of what the threads of a block have, on its first thread; the others get no sum.
__device__ CompensatedSum sum_of_block(const CompensatedSum& own) {
  __shared__ CompensatedSum partial[default_block];
  __syncthreads();  // that of the last call was read
  partial[threadIdx.x] = own;
  for (unsigned threads = blockDim.x / 2; threads > 0; threads /= 2) {
    __syncthreads();
    if (threadIdx.x < threads) partial[threadIdx.x].merge(partial[threadIdx.x + threads]);
  }
  return partial[threadIdx.x];
}

// The sum of the products of nonzeros [first, last), on the first thread of the block.
template <class T>
__device__ CompensatedSum sum_of_products(const CsrView<T>& matrix, const T* x, std::int64_t first, std::int64_t last) {
  CompensatedSum sum;
  for (std::int64_t k = first + threadIdx.x; k < last; k += blockDim.x) {
    sum.add_product(matrix.values[k], x[matrix.col_idx[k]]);
  }
  return sum_of_block(sum);
}

// Nonzeros that one thread adds up at most: each takes about a microsecond.
constexpr std::int64_t most_of_a_thread = 256;
// Blocks that share a longer row.
constexpr int shares_of_a_row = default_block;

// A block of threads a row; rows that are too long for one are listed.
template <class T, class Offset>
__global__ void reference_kernel(ReferenceTask<T, Offset> task, std::int64_t* long_rows, unsigned long long* count) {
  for (std::int64_t row = blockIdx.x; row < task.matrix.rows; row += gridDim.x) {
    const std::int64_t first = task.row_ptr[row];
    const std::int64_t last = task.row_ptr[row + 1];
    if (last - first > most_of_a_thread * blockDim.x) {
      if (threadIdx.x == 0) long_rows[atomicAdd(count, 1ULL)] = row;
      continue;
    }
    const auto sum = sum_of_products(task.matrix, task.x, first, last);
    if (threadIdx.x == 0) task.finish(sum, row);
  }
}

// A block a share of a long row.
template <class T, class Offset>
__global__ void share_long_rows_kernel(ReferenceTask<T, Offset> task, const std::int64_t* long_rows,
                                       CompensatedSum* sums) {
  const std::int64_t row = long_rows[blockIdx.x / shares_of_a_row];
  const std::int64_t share = blockIdx.x % shares_of_a_row;
  const std::int64_t first = task.row_ptr[row];
  const std::int64_t length = task.row_ptr[row + 1] - first;
  const auto sum = sum_of_products(task.matrix, task.x, first + length * share / shares_of_a_row,
                                   first + length * (share + 1) / shares_of_a_row);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// A block a long row, a thread a share.
template <class T, class Offset>
__global__ void join_long_rows_kernel(ReferenceTask<T, Offset> task, const std::int64_t* long_rows,
                                      const CompensatedSum* sums) {
  const auto sum = sum_of_block(sums[static_cast<std::int64_t>(blockIdx.x) * shares_of_a_row + threadIdx.x]);
  if (threadIdx.x == 0) task.finish(sum, long_rows[blockIdx.x]);
}

struct DeviceComparison {
  unsigned long long worst_bits;  // bits of a nonnegative double order like integers
  unsigned long long wrong_rows;
  unsigned long long first_wrong;
};

template <class T, class Offset>
__global__ void compare_kernel(const Offset* row_ptr, std::int64_t rows, const double* product, const double* scale,
                               const T* y, DeviceComparison* result) {
  double worst = 0;
  for (std::int64_t row = global_thread(); row < rows; row += thread_count()) {
    const double error = row_error<T>(y[row], product[row], scale[row], row_ptr[row + 1] - row_ptr[row]);
    worst = error > worst ? error : worst;
    if (!(error <= 1)) {
      atomicAdd(&result->wrong_rows, 1ULL);
      atomicMin(&result->first_wrong, static_cast<unsigned long long>(row));
    }
  }
  if (worst > 0) atomicMax(&result->worst_bits, static_cast<unsigned long long>(__double_as_longlong(worst)));
}

__global__ void count_different_kernel(const std::uint8_t* a, const std::uint8_t* b, std::int64_t bytes,
                                       unsigned long long* different) {
  for (std::int64_t i = global_thread(); i < bytes; i += thread_count()) {
    if (a[i] != b[i]) atomicAdd(different, 1ULL);
  }
}

}  // namespace

bool equal_bytes(const void* a, const void* b, std::size_t bytes, Place place) {
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  Array<unsigned long long> different(1, place);
  fill_bytes(different.data(), 0, sizeof(unsigned long long), place, stream);
  const auto size = static_cast<std::int64_t>(bytes);
  count_different_kernel<<<striding_grid(size), default_block, 0, stream.handle>>>(
      static_cast<const std::uint8_t*>(a), static_cast<const std::uint8_t*>(b), size, different.data());
  check_launch();
  return different.to_vector().front() == 0;
}

template <class T>
void fill_random(T* data, std::int64_t size, std::uint64_t seed, Place place, Stream stream) {
  const DeviceScope scope(place);
  fill_random_kernel<<<striding_grid(size), default_block, 0, stream.handle>>>(data, size, seed);
  check_launch();
}

void narrow_offsets(const std::int64_t* wide, std::int32_t* narrow, std::int64_t size, Stream stream) {
  narrow_kernel<<<striding_grid(size), default_block, 0, stream.handle>>>(wide, narrow, size);
  check_launch();
}

void narrow_columns(const std::int64_t* wide, std::int32_t* narrow, std::int64_t size, Stream stream) {
  narrow_columns_kernel<<<striding_grid(size), default_block, 0, stream.handle>>>(wide, narrow, size);
  check_launch();
}

Fingerprint fingerprint_of(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                           const std::int32_t* col_idx, Place place) {
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  Array<unsigned long long> total(2, place);
  fill_bytes(total.data(), 0, 2 * sizeof(unsigned long long), place, stream);
  std::visit(
      [&](const auto* offsets) {
        hash_offsets_kernel<<<striding_grid(rows + 1), default_block, 0, stream.handle>>>(offsets, rows, total.data());
      },
      row_ptr);
  hash_columns_kernel<<<striding_grid((nnz + 1) / 2), default_block, 0, stream.handle>>>(col_idx, nnz, total.data());
  check_launch();
  const auto sums = total.to_vector();
  auto sum = hash_dimensions(rows, cols, nnz);
  sum += HashSum{sums[0], sums[1]};
  return finish(sum);
}

PatternFault find_fault(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                        const std::int32_t* col_idx, Place place) {
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  const std::array<unsigned long long, 2> none = {PatternFault::none, PatternFault::none};
  Array<unsigned long long> first(2, place);
  first.assign(none, stream);
  std::visit(
      [&](const auto* offsets) {
        check_offsets_kernel<<<striding_grid(rows), default_block, 0, stream.handle>>>(offsets, rows, nnz,
                                                                                       first.data());
      },
      row_ptr);
  check_columns_kernel<<<striding_grid(nnz), default_block, 0, stream.handle>>>(col_idx, nnz, cols, first.data() + 1);
  check_launch();
  const auto found = first.to_vector();
  return {static_cast<std::int64_t>(found[0]), static_cast<std::int64_t>(found[1])};
}

template <class T>
void reference_product(const CsrView<T>& matrix, T alpha, const T* x, T beta, const T* y0, Reference& reference,
                       Place place) {
  if (matrix.rows == 0) return;
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  const bool short_rows = matrix.nnz / matrix.rows < 2 * warp_size;
  const int block = short_rows ? warp_size : default_block;
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>(matrix.rows, 1 << 20));
  Array<std::int64_t> long_rows(static_cast<std::size_t>(matrix.nnz / (most_of_a_thread * block)), place);
  Array<unsigned long long> count(1, place);
  fill_bytes(count.data(), 0, sizeof(unsigned long long), place, stream);
  std::visit(
      [&](const auto* row_ptr) {
        const ReferenceTask task{matrix, row_ptr, alpha, x, beta, y0, reference.product.data(), reference.scale.data()};
        reference_kernel<<<grid, block, 0, stream.handle>>>(task, long_rows.data(), count.data());
        check_launch();
        const auto rows = static_cast<unsigned>(count.to_vector().front());
        if (rows == 0) return;
        Array<CompensatedSum> sums(static_cast<std::size_t>(rows) * shares_of_a_row, place);
        share_long_rows_kernel<<<rows * shares_of_a_row, default_block, 0, stream.handle>>>(task, long_rows.data(),
                                                                                            sums.data());
        check_launch();
        join_long_rows_kernel<<<rows, shares_of_a_row, 0, stream.handle>>>(task, long_rows.data(), sums.data());
        check_launch();
        synchronize(place, stream);
      },
      matrix.row_ptr);
}

template <class T>
Comparison compare(const CsrView<T>& matrix, const Reference& reference, const T* y, Place place) {
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  const std::array<DeviceComparison, 1> perfect = {{{0, 0, PatternFault::none}}};
  Array<DeviceComparison> result(1, place);
  result.assign(perfect, stream);
  std::visit(
      [&](const auto* row_ptr) {
        compare_kernel<<<striding_grid(matrix.rows), default_block, 0, stream.handle>>>(
            row_ptr, matrix.rows, reference.product.data(), reference.scale.data(), y, result.data());
      },
      matrix.row_ptr);
  check_launch();
  const auto found = result.to_vector().front();
  Comparison comparison;
  comparison.worst_error = std::bit_cast<double>(found.worst_bits);
  comparison.wrong_rows = static_cast<std::int64_t>(found.wrong_rows);
  if (comparison.wrong_rows > 0) comparison.first_wrong = static_cast<std::int64_t>(found.first_wrong);
  return comparison;
}

template void fill_random(float*, std::int64_t, std::uint64_t, Place, Stream);
template void fill_random(double*, std::int64_t, std::uint64_t, Place, Stream);
template void reference_product(const CsrView<float>&, float, const float*, float, const float*, Reference&, Place);
template void reference_product(const CsrView<double>&, double, const double*, double, const double*, Reference&,
                                Place);
template Comparison compare(const CsrView<float>&, const Reference&, const float*, Place);
template Comparison compare(const CsrView<double>&, const Reference&, const double*, Place);

}  // namespace autospmv::cuda
