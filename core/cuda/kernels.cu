#include "core/cuda/kernels.hpp"

#include <algorithm>
#include <array>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/matrix/fingerprint_mix.hpp"
#include "core/verify/random.hpp"

namespace autospmv::cuda {

namespace {

template <class T>
__global__ void fill_random_kernel(T* data, std::int64_t size, RandomVector vector) {
  for (std::int64_t i = global_thread(); i < size; i += thread_count()) {
    data[i] = static_cast<T>(vector.at(static_cast<std::uint64_t>(i)));
  }
}

__global__ void narrow_kernel(const std::int64_t* wide, std::int32_t* narrow, std::int64_t size) {
  for (std::int64_t i = global_thread(); i < size; i += thread_count()) narrow[i] = static_cast<std::int32_t>(wide[i]);
}

__global__ void narrow_columns_kernel(const std::int64_t* wide, std::int32_t* narrow, std::int64_t size) {
  for (std::int64_t i = global_thread(); i < size; i += thread_count()) narrow[i] = narrow_column(wide[i]);
}

// Integer addition commutes, so the sum is the same whatever the order of the atomics.
__device__ void add_to(const HashSum& sum, unsigned long long* total) {
  const auto plus = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  const auto high = choose_of_block(sum.high, plus);
  const auto low = choose_of_block(sum.low, plus);
  if (threadIdx.x > 0) return;
  atomicAdd(total, high);
  atomicAdd(total + 1, low);
}

template <class Offset>
__global__ void hash_pattern_kernel(const Offset* row_ptr, std::int64_t rows, const std::int32_t* col_idx,
                                    std::int64_t nnz, unsigned long long* total) {
  HashSum sum;
  for (std::int64_t i = global_thread(); i <= rows; i += thread_count()) {
    sum += hash_word(static_cast<std::uint64_t>(row_ptr[i]), static_cast<std::uint64_t>(i));
  }
  for (std::int64_t k = global_thread(); k < (nnz + 1) / 2; k += thread_count()) {
    sum += hash_word(column_word(col_idx, nnz, k), column_positions + static_cast<std::uint64_t>(k));
  }
  add_to(sum, total);
}

template <class Offset>
__global__ void check_offsets_kernel(const Offset* row_ptr, std::int64_t rows, std::int64_t nnz,
                                     unsigned long long* first, unsigned long long* longest) {
  std::int64_t own = 0;
  for (std::int64_t i = global_thread(); i < rows; i += thread_count()) {
    if (row_ptr[i] < 0 || row_ptr[i] > row_ptr[i + 1] || row_ptr[i + 1] > nnz) {
      atomicMin(first, static_cast<unsigned long long>(i));
    }
    own = max(own, static_cast<std::int64_t>(row_ptr[i + 1] - row_ptr[i]));
  }
  own = choose_of_block(own, [](auto a, auto b) { return max(a, b); });
  if (threadIdx.x == 0) atomicMax(longest, static_cast<unsigned long long>(own));
}

__global__ void check_columns_kernel(const std::int32_t* col_idx, std::int64_t nnz, std::int64_t cols,
                                     unsigned long long* first) {
  for (std::int64_t k = global_thread(); k < nnz; k += thread_count()) {
    if (col_idx[k] < 0 || col_idx[k] >= cols) atomicMin(first, static_cast<unsigned long long>(k));
  }
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
  count_different_kernel<<<striding_grid(size), default_block, 0, InTurn(stream)>>>(
      static_cast<const std::uint8_t*>(a), static_cast<const std::uint8_t*>(b), size, different.data());
  check_launch();
  return different.to_vector().front() == 0;
}

template <class T>
void fill_random(T* data, std::int64_t size, const RandomVector& vector, Place place, Stream stream) {
  const DeviceScope scope(place);
  fill_random_kernel<<<striding_grid(size), default_block, 0, InTurn(stream)>>>(data, size, vector);
  check_launch();
}

void narrow_offsets(const std::int64_t* wide, std::int32_t* narrow, std::int64_t size, Stream stream) {
  narrow_kernel<<<striding_grid(size), default_block, 0, InTurn(stream)>>>(wide, narrow, size);
  check_launch();
}

void narrow_columns(const std::int64_t* wide, std::int32_t* narrow, std::int64_t size, Stream stream) {
  narrow_columns_kernel<<<striding_grid(size), default_block, 0, InTurn(stream)>>>(wide, narrow, size);
  check_launch();
}

Fingerprint fingerprint_of(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                           const std::int32_t* col_idx, Place place) {
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  Array<unsigned long long> total(2, place);
  fill_bytes(total.data(), 0, 2 * sizeof(unsigned long long), place, stream);
  with_offsets(row_ptr, [&](const auto* offsets) {
    hash_pattern_kernel<<<striding_grid(std::max(rows + 1, (nnz + 1) / 2)), default_block, 0, InTurn(stream)>>>(
        offsets, rows, col_idx, nnz, total.data());
  });
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
  const std::array<unsigned long long, 3> none = {PatternFault::none, PatternFault::none, 0};
  Array<unsigned long long> result(none.size(), place);
  result.assign(none, stream);
  with_offsets(row_ptr, [&](const auto* offsets) {
    check_offsets_kernel<<<striding_grid(rows), default_block, 0, InTurn(stream)>>>(offsets, rows, nnz, result.data(),
                                                                                    result.data() + 2);
  });
  check_columns_kernel<<<striding_grid(nnz), default_block, 0, InTurn(stream)>>>(col_idx, nnz, cols, result.data() + 1);
  check_launch();
  const auto found = result.to_vector();
  return {static_cast<std::int64_t>(found[0]), static_cast<std::int64_t>(found[1]),
          static_cast<std::int64_t>(found[2])};
}

template void fill_random(float*, std::int64_t, const RandomVector&, Place, Stream);
template void fill_random(double*, std::int64_t, const RandomVector&, Place, Stream);

}  // namespace autospmv::cuda
