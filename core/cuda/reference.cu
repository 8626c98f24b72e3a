#include "core/cuda/reference.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/cuda/check.hpp"
#include "core/cuda/comparison.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/verify/compensated.hpp"

namespace autospmv::cuda {

namespace {

// What the kernels of a reference product share.
template <class T, class Offset>
struct ReferenceTask {
  CsrView<T> matrix;
  const Offset* row_ptr;
  const LongRow* rows;  // nullptr: all
  std::int64_t size;
  T alpha;
  const T* x;
  T beta;
  const T* y0;
  ReferenceArrays reference;

  __device__ LongRow row(std::int64_t i) const { return rows == nullptr ? any_row(row_ptr, i) : rows[i]; }
  __device__ void finish(const CompensatedSum& sum, std::int64_t i) const {
    finish_row(sum, alpha, beta, y0, row(i), i, reference);
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

// The sum of the products of every `step`-th nonzero from `first` on and before `last`.
template <class T>
__device__ CompensatedSum sum_of_every(int step, const CsrView<T>& matrix, const T* x, std::int64_t first,
                                       std::int64_t last) {
  // Loaded before the first is added: one after the other, each would take about a microsecond.
  constexpr int at_once = 4;
  CompensatedSum sum;
  for (; first < last; first += at_once * step) {
    T values[at_once];
    T factors[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const auto k = first + i * step;
      values[i] = k < last ? matrix.values[k] : T{0};
      factors[i] = k < last ? x[matrix.col_idx[k]] : T{0};
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) sum.add_product(values[i], factors[i]);
  }
  return sum;
}

// The sum of the products of nonzeros [first, last), on the first thread of the block.
template <class T>
__device__ CompensatedSum sum_of_products(const CsrView<T>& matrix, const T* x, std::int64_t first, std::int64_t last) {
  return sum_of_block(sum_of_every(static_cast<int>(blockDim.x), matrix, x, first + threadIdx.x, last));
}

// Nonzeros that one thread adds up at most, of a row of its own and of one that a warp or a block shares.
constexpr std::int64_t most_alone = 32;
constexpr std::int64_t most_of_a_thread = 128;
// Blocks that share a longer row.
constexpr int shares_of_a_row = default_block;

// The sum of what so many neighbouring lanes have, a power of two, in all of them.
__device__ CompensatedSum sum_of_lanes(CompensatedSum sum, int lanes) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    CompensatedSum other;
    other.sum = __shfl_xor_sync(all_lanes, sum.sum, distance);
    other.error = __shfl_xor_sync(all_lanes, sum.error, distance);
    other.special = __shfl_xor_sync(all_lanes, sum.special, distance);
    other.magnitude = __shfl_xor_sync(all_lanes, sum.magnitude, distance);
    other.square = __shfl_xor_sync(all_lanes, sum.square, distance);
    other.terms = __shfl_xor_sync(all_lanes, sum.terms, distance);
    sum.merge(other);
  }
  return sum;
}

// So many lanes a row, a power of two, for many short rows. The longer ones are the warp's, one after another; rows
// that are too long for that are listed.
template <class T, class Offset>
__global__ void reference_of_short_rows_kernel(ReferenceTask<T, Offset> task, int lanes, std::int64_t* shared_rows,
                                               unsigned long long* count) {
  const auto i = global_thread() / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const auto sum_of_row = [&](const LongRow& row, int step, int from) {
    const auto first = row.first + from;
    return sum_of_lanes(sum_of_every(step, task.matrix, task.x, first, row.first + row.length), step);
  };
  const auto row = i < task.size ? task.row(i) : LongRow{};
  const bool is_long = row.length > most_alone * lanes;
  const auto sum = sum_of_row(is_long ? LongRow{} : row, lanes, lane);
  if (lane == 0 && i < task.size && !is_long) task.finish(sum, i);
  const int lane_of_warp = static_cast<int>(threadIdx.x) % warp_size;
  for (unsigned left = __ballot_sync(all_lanes, lane == 0 && is_long); left != 0; left &= left - 1) {
    const auto at = __shfl_sync(all_lanes, i, __ffs(static_cast<int>(left)) - 1);
    const auto long_row = task.row(at);
    if (long_row.length > most_of_a_thread * warp_size) {
      if (lane_of_warp == 0) shared_rows[atomicAdd(count, 1ULL)] = at;
      continue;
    }
    const auto sum_of_long = sum_of_row(long_row, warp_size, lane_of_warp);
    if (lane_of_warp == 0) task.finish(sum_of_long, at);
  }
}

// A block of threads a row; rows that are too long for one are listed.
template <class T, class Offset>
__global__ void reference_kernel(ReferenceTask<T, Offset> task, std::int64_t* shared_rows, unsigned long long* count) {
  for (std::int64_t i = blockIdx.x; i < task.size; i += gridDim.x) {
    const auto row = task.row(i);
    if (row.length > most_of_a_thread * blockDim.x) {
      if (threadIdx.x == 0) shared_rows[atomicAdd(count, 1ULL)] = i;
      continue;
    }
    const auto sum = sum_of_products(task.matrix, task.x, row.first, row.first + row.length);
    if (threadIdx.x == 0) task.finish(sum, i);
  }
}

// A block a share of a row.
template <class T, class Offset>
__global__ void share_rows_kernel(ReferenceTask<T, Offset> task, const std::int64_t* shared_rows,
                                  CompensatedSum* sums) {
  const auto row = task.row(shared_rows[blockIdx.x / shares_of_a_row]);
  const std::int64_t share = blockIdx.x % shares_of_a_row;
  const auto sum = sum_of_products(task.matrix, task.x, row.first + row.length * share / shares_of_a_row,
                                   row.first + row.length * (share + 1) / shares_of_a_row);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// A block a row, a thread a share.
template <class T, class Offset>
__global__ void join_rows_kernel(ReferenceTask<T, Offset> task, const std::int64_t* shared_rows,
                                 const CompensatedSum* sums) {
  const auto sum = sum_of_block(sums[static_cast<std::int64_t>(blockIdx.x) * shares_of_a_row + threadIdx.x]);
  if (threadIdx.x == 0) task.finish(sum, shared_rows[blockIdx.x]);
}

template <class T>
__global__ void compare_kernel(ReferenceView reference, const T* y, DeviceComparison* result) {
  DeviceComparison::OfThread found(*result);
  for (std::int64_t i = global_thread(); i < reference.size; i += thread_count()) {
    const auto row = reference.rows == nullptr ? i : reference.rows[i];
    reference.compare(i, row, Unscaled{}, y[row], found);
  }
  found.finish();
}

template <class Offset>
__global__ void list_long_rows_kernel(const Offset* row_ptr, std::int64_t rows, std::int64_t least, LongRow* found,
                                      unsigned long long* count) {
  for (std::int64_t i = global_thread(); i < rows; i += thread_count()) {
    auto row = any_row(row_ptr, i);
    if (row.length <= least) continue;
    row.repeats = 1;
    found[atomicAdd(count, 1ULL)] = row;
  }
}

// A block a row.
__global__ void check_order_kernel(LongRow* rows, const std::int32_t* col_idx) {
  auto& row = rows[blockIdx.x];
  const auto* columns = col_idx + row.first;
  for (std::int64_t k = 1 + threadIdx.x; k < row.length; k += blockDim.x) {
    if (columns[k] <= columns[k - 1]) row.repeats = 0;
  }
}

template <class T>
__global__ void largest_magnitude_kernel(const T* values, std::int64_t size, unsigned long long* largest_bits) {
  double largest = 0;
  for (std::int64_t k = global_thread(); k < size; k += thread_count()) {
    const double magnitude = fabs(static_cast<double>(values[k]));
    if (isfinite(magnitude) && magnitude > largest) largest = magnitude;
  }
  atomic_max_of_block(*largest_bits, largest);
}

// A number on the device, 0 to begin with.
Array<unsigned long long> make_counter(Place place, Stream stream) {
  Array<unsigned long long> counter(1, place);
  fill_bytes(counter.data(), 0, sizeof(unsigned long long), place, stream);
  return counter;
}

}  // namespace

template <class T>
void reference_product(const CsrView<T>& matrix, T alpha, const T* x, T beta, const T* y0, Reference& reference,
                       Place place, const Array<LongRow>& rows, std::int64_t longest) {
  const auto size = static_cast<std::int64_t>(reference.product.size());
  if (size == 0) return;
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  constexpr std::int64_t nonzeros_of_a_lane = 4;
  const auto mean = matrix.nnz / matrix.rows;
  const bool short_rows = rows.empty() && mean < most_alone * warp_size;
  const auto lanes =
      std::bit_ceil(static_cast<unsigned>(std::clamp<std::int64_t>(mean / nonzeros_of_a_lane, 1, warp_size)));
  const auto most_of_a_row = most_of_a_thread * (short_rows ? warp_size : default_block);
  const bool may_share = longest > most_of_a_row;
  Array<std::int64_t> shared_rows(may_share ? static_cast<std::size_t>(matrix.nnz / most_of_a_row) : 0, place);
  auto count = may_share ? make_counter(place, stream) : Array<unsigned long long>();
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    const ReferenceTask task{matrix, row_ptr, rows.data(), size, alpha, x, beta, y0, ReferenceArrays(reference)};
    if (short_rows) {
      reference_of_short_rows_kernel<<<grid_for(size * lanes), default_block, 0, InTurn(stream)>>>(
          task, static_cast<int>(lanes), shared_rows.data(), count.data());
    } else {
      const auto grid = static_cast<unsigned>(std::min<std::int64_t>(size, 1 << 20));
      reference_kernel<<<grid, default_block, 0, InTurn(stream)>>>(task, shared_rows.data(), count.data());
    }
    check_launch();
    if (!may_share) return;
    const auto shared = static_cast<unsigned>(count.to_vector().front());
    if (shared == 0) return;
    Array<CompensatedSum> sums(static_cast<std::size_t>(shared) * shares_of_a_row, place);
    share_rows_kernel<<<shared * shares_of_a_row, default_block, 0, InTurn(stream)>>>(task, shared_rows.data(),
                                                                                      sums.data());
    check_launch();
    join_rows_kernel<<<shared, shares_of_a_row, 0, InTurn(stream)>>>(task, shared_rows.data(), sums.data());
    check_launch();
  });
}

template <class T>
Comparison compare(const Reference& reference, const T* y, Place place) {
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  const std::array<DeviceComparison, 1> perfect{};
  Array<DeviceComparison> result(1, place);
  result.assign(perfect, stream);
  const ReferenceView view(reference);
  compare_kernel<<<striding_grid(view.size), default_block, 0, InTurn(stream)>>>(view, y, result.data());
  check_launch();
  return result.to_vector().front().result();
}

template <class T>
std::vector<LongRow> find_long_rows(const CsrView<T>& matrix, std::int64_t least, Place place) {
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  Array<LongRow> found(static_cast<std::size_t>(matrix.nnz / (least + 1)), place);
  auto count = make_counter(place, stream);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    list_long_rows_kernel<<<striding_grid(matrix.rows), default_block, 0, InTurn(stream)>>>(row_ptr, matrix.rows, least,
                                                                                            found.data(), count.data());
  });
  check_launch();
  const auto size = count.to_vector().front();
  if (size == 0) return {};
  check_order_kernel<<<static_cast<unsigned>(size), default_block, 0, InTurn(stream)>>>(found.data(), matrix.col_idx);
  check_launch();
  std::vector<LongRow> rows(size);
  copy_bytes(rows.data(), found.data(), size * sizeof(LongRow), place, stream);
  synchronize(place, stream);
  std::sort(rows.begin(), rows.end(), [](const LongRow& a, const LongRow& b) { return a.row < b.row; });
  return rows;
}

template <class T>
double largest_magnitude(const T* values, std::int64_t size, Place place) {
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  auto largest = make_counter(place, stream);
  largest_magnitude_kernel<<<striding_grid(size), default_block, 0, InTurn(stream)>>>(values, size, largest.data());
  check_launch();
  return std::bit_cast<double>(largest.to_vector().front());
}

template void reference_product(const CsrView<float>&, float, const float*, float, const float*, Reference&, Place,
                                const Array<LongRow>&, std::int64_t);
template void reference_product(const CsrView<double>&, double, const double*, double, const double*, Reference&, Place,
                                const Array<LongRow>&, std::int64_t);
template Comparison compare(const Reference&, const float*, Place);
template Comparison compare(const Reference&, const double*, Place);
template std::vector<LongRow> find_long_rows(const CsrView<float>&, std::int64_t, Place);
template std::vector<LongRow> find_long_rows(const CsrView<double>&, std::int64_t, Place);
template double largest_magnitude(const float*, std::int64_t, Place);
template double largest_magnitude(const double*, std::int64_t, Place);

}  // namespace autospmv::cuda
