#include <cstdint>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/sliced/convert.hpp"
#include "formats/sliced/device.cuh"

namespace autospmv::formats::cuda_steps {

namespace {

// Many rows a slice: a block of threads a slice, so that a single slice of all rows is counted in parallel too.
template <class Offset>
__global__ void count_chunks_kernel(SlicedView sliced, const Offset* row_ptr, int threads, std::int32_t whole,
                                    std::int32_t* chunks) {
  const auto position = cuda::global_thread();
  if (position >= sliced.rows) return;
  const auto row = sliced.row_at(position);
  const auto length =
      min(static_cast<long long>(row_ptr[row + 1] - row_ptr[row]), static_cast<long long>(sliced.width_cap));
  auto count = static_cast<std::int32_t>((length + threads - 1) / threads);
  if (count > whole / 2) count = (count + whole - 1) / whole * whole;
  std::int32_t* of_slice = chunks + position / sliced.slice_rows;
  // Most rows are no longer than one before them: look before taking the atomic.
  if (count > *static_cast<volatile std::int32_t*>(of_slice)) atomicMax(of_slice, count);
}

// Stands for columns that nobody wants.
struct NoColumns {
  struct Slot {
    __device__ void operator=(std::int32_t /*column*/) const {}
  };
  __device__ Slot operator[](std::int64_t /*slot*/) const { return {}; }
};

// The geometry of the product: thread `lane` of a slice owns the slots lane, lane + C T, ...
template <class T, class Offset, class Columns>
__global__ void fill_kernel(CsrView<T> matrix, const Offset* row_ptr, SlicedView sliced, int threads, Columns columns,
                            T* values) {
  const auto thread = cuda::global_thread();
  const auto position = thread / threads;
  if (position >= sliced.slices * sliced.slice_rows) return;
  const auto slice = position / sliced.slice_rows;
  const auto stride = sliced.slice_rows * threads;
  const auto lane = thread - slice * stride;
  const auto first_entry = thread % threads;
  const auto row = position < sliced.rows ? sliced.row_at(position) : -1;
  const std::int64_t first = row >= 0 ? row_ptr[row] : 0;
  std::int64_t length = row >= 0 ? row_ptr[row + 1] - first : 0;
  if (length > sliced.width_cap) length = sliced.width_cap;
  if (sliced.lengths != nullptr && first_entry == 0) sliced.lengths[position] = static_cast<std::int32_t>(length);
  const std::int64_t start = sliced.slice_chunks[slice];
  const std::int64_t chunks = sliced.slice_chunks[slice + 1] - start;
  // The loads of several chunks are under way together: a store would keep the next ones waiting.
  constexpr int in_flight = 4;
  for (std::int64_t chunk = 0; chunk < chunks; chunk += in_flight) {
    std::int32_t column[in_flight];
    T value[in_flight];
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const auto entry = (chunk + i) * threads + first_entry;
      column[i] = entry < length ? matrix.col_idx[first + entry] : -1;
      value[i] = entry < length ? matrix.values[first + entry] : T{0};
    }
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      if (chunk + i >= chunks) break;
      const auto slot = (start + chunk + i) * stride + lane;
      columns[slot] = column[i];
      values[slot] = value[i];
    }
  }
}

}  // namespace

template <class T>
void count_chunks(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Stream stream) {
  fill_bytes(sliced.slice_chunks.data(), 0, static_cast<std::size_t>(sliced.slice_chunks.bytes()),
             sliced.slice_chunks.place(), stream);
  if (matrix.rows == 0) return;
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    count_chunks_kernel<<<cuda::grid_for(matrix.rows), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        view_of(sliced), row_ptr, static_cast<int>(sliced.layout.threads),
        static_cast<std::int32_t>(sliced.layout.whole_chunks), sliced.slice_chunks.data());
  });
  cuda::check_launch();
}

template <class T>
void fill(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream) {
  const auto threads = static_cast<int>(sliced.layout.threads);
  const auto grid = cuda::grid_for(sliced.slices * sliced.slice_rows * threads);
  const auto fill_with = [&](auto to) {
    with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
      fill_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(matrix, row_ptr, view_of(sliced), threads, to,
                                                                          values.data());
    });
    cuda::check_launch();
  };
  if (columns.empty()) {
    fill_with(NoColumns{});
  } else {
    fill_with(columns.data());
  }
}

#define AUTOSPMV_SLICED(T)                                                 \
  template void count_chunks(const CsrView<T>&, SlicedMatrix<T>&, Stream); \
  template void fill(const CsrView<T>&, SlicedMatrix<T>&, Array<std::int32_t>&, Array<T>&, Stream);
AUTOSPMV_SLICED(float)
AUTOSPMV_SLICED(double)
#undef AUTOSPMV_SLICED

}  // namespace autospmv::formats::cuda_steps
