#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "formats/common/dispatch.hpp"
#include "formats/common/kernel.cuh"
#include "formats/hyb/hyb.hpp"

namespace autospmv::formats::hyb::device {

namespace {

constexpr unsigned all_lanes = 0xffffffffU;

template <class Offset>
__global__ void count_kernel(const Offset* row_ptr, std::int64_t rows, std::int64_t width, std::int64_t* counts) {
  const auto row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row > rows) return;
  const std::int64_t past = row < rows ? static_cast<std::int64_t>(row_ptr[row + 1] - row_ptr[row]) - width : 0;
  counts[row] = past > 0 ? past : 0;
}

// A warp a row: the rows that have a rest are the long ones.
template <class T, class Offset>
__global__ void fill_kernel(CsrView<T> matrix, const Offset* row_ptr, std::int64_t width,
                            const std::int64_t* first_of_row, std::int32_t* rows, std::int32_t* columns, T* values) {
  const auto row = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / cuda::warp_size;
  if (row >= matrix.rows) return;
  const auto first = first_of_row[row];
  const auto entries = first_of_row[row + 1] - first;
  const std::int64_t source = row_ptr[row] + width;
  for (std::int64_t i = threadIdx.x % cuda::warp_size; i < entries; i += cuda::warp_size) {
    rows[first + i] = static_cast<std::int32_t>(row);
    columns[first + i] = matrix.col_idx[source + i];
    values[first + i] = matrix.values[source + i];
  }
}

// Inclusive sums over neighbouring lanes of the same row; `heads` has a bit for every lane that begins a row.
template <class T>
__device__ __forceinline__ T segmented_sum(T sum, unsigned heads, int lane) {
  const unsigned heads_so_far = heads & (0xffffffffU >> (cuda::warp_size - 1 - lane));
  const int distance_to_head = lane - (cuda::warp_size - 1 - __clz(static_cast<int>(heads_so_far)));
#pragma unroll
  for (int distance = 1; distance < cuda::warp_size; distance *= 2) {
    const T before = __shfl_up_sync(all_lanes, sum, static_cast<unsigned>(distance));
    if (distance <= distance_to_head) sum += before;
  }
  return sum;
}

// A warp takes Steps x 32 neighbouring entries, 32 at a time, all loads before the first sum. A row that goes on into
// the next 32 is carried along, so that a long row costs one atomic a warp.
template <int Steps, class T, class Values>
__global__ void add_kernel(const std::int32_t* __restrict__ rows, const std::int32_t* __restrict__ columns,
                           Values values, std::int64_t entries, T alpha, const T* __restrict__ x, T* __restrict__ y) {
  const auto warp = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / cuda::warp_size;
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  const auto begin = warp * (Steps * cuda::warp_size);
  if (begin >= entries) return;
  values.open();
  std::int32_t row[Steps];
  T product[Steps];
#pragma unroll
  for (int step = 0; step < Steps; ++step) {
    const auto entry = begin + step * cuda::warp_size + lane;
    const bool inside = entry < entries;
    // Lanes past the end belong to no row; they differ from every row, so they end the one before them.
    row[step] = inside ? load_stream(rows + entry) : -1;
    product[step] = inside ? values.at(entry) * load_x(x + load_stream(columns + entry)) : T{0};
  }
  std::int32_t carried_row = -1;
  T carried = 0;
#pragma unroll
  for (int step = 0; step < Steps; ++step) {
    if (lane == 0 && carried_row >= 0) {
      if (carried_row == row[step]) {
        product[step] += carried;
      } else {
        atomicAdd(y + carried_row, alpha * carried);
      }
    }
    const auto previous = __shfl_up_sync(all_lanes, row[step], 1);
    const unsigned heads = __ballot_sync(all_lanes, lane == 0 || previous != row[step]);
    const T sum = segmented_sum(product[step], heads, lane);
    const bool ends = lane < cuda::warp_size - 1 && (heads >> (lane + 1) & 1U) != 0;
    if (ends && row[step] >= 0) atomicAdd(y + row[step], alpha * sum);
    carried_row = __shfl_sync(all_lanes, row[step], cuda::warp_size - 1);
    carried = __shfl_sync(all_lanes, sum, cuda::warp_size - 1);
  }
  if (lane == 0 && carried_row >= 0) atomicAdd(y + carried_row, alpha * carried);
}

}  // namespace

template <class T>
std::int64_t count(const CsrView<T>& matrix, std::int64_t width, CooRest<T>& rest, Place place, Stream stream) {
  rest.first_of_row = Array<std::int64_t>(static_cast<std::size_t>(matrix.rows) + 1, place);
  auto* counts = rest.first_of_row.data();
  std::visit(
      [&](const auto* row_ptr) {
        count_kernel<<<cuda::grid_for(matrix.rows + 1), cuda::default_block, 0, stream.handle>>>(row_ptr, matrix.rows,
                                                                                                 width, counts);
      },
      matrix.row_ptr);
  cuda::check_launch();
  cuda::exclusive_scan(counts, counts, matrix.rows + 1, place, stream);
  return cuda::read(static_cast<const std::int64_t*>(counts) + matrix.rows, stream);
}

template <class T>
void fill(const CsrView<T>& matrix, std::int64_t width, CooRest<T>& rest, Array<T>& values, Stream stream) {
  if (rest.entries() == 0) return;
  std::visit(
      [&](const auto* row_ptr) {
        fill_kernel<<<cuda::grid_for(matrix.rows * cuda::warp_size), cuda::default_block, 0, stream.handle>>>(
            matrix, row_ptr, width, rest.first_of_row.data(), rest.rows.data(), rest.columns.data(), values.data());
      },
      matrix.row_ptr);
  cuda::check_launch();
}

template <class T>
void add(const CooRest<T>& rest, T alpha, const T* x, T* y, int steps, Stream stream) {
  dispatch<1, 2, 4, 8>(steps, [&](auto count) {
    const auto warp_entries = count.value * cuda::warp_size;
    const auto warps = (rest.entries() + warp_entries - 1) / warp_entries;
    const auto grid = cuda::grid_for(warps * cuda::warp_size);
    with_values(rest.values, [&](auto values) {
      add_kernel<count.value><<<grid, cuda::default_block, 0, stream.handle>>>(rest.rows.data(), rest.columns.data(),
                                                                               values, rest.entries(), alpha, x, y);
    });
  });
  cuda::check_launch();
}

#define AUTOSPMV_HYB(T)                                                                     \
  template std::int64_t count(const CsrView<T>&, std::int64_t, CooRest<T>&, Place, Stream); \
  template void fill(const CsrView<T>&, std::int64_t, CooRest<T>&, Array<T>&, Stream);      \
  template void add(const CooRest<T>&, T, const T*, T*, int, Stream);
AUTOSPMV_HYB(float)
AUTOSPMV_HYB(double)
#undef AUTOSPMV_HYB

}  // namespace autospmv::formats::hyb::device
