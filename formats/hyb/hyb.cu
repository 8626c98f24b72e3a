#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "formats/hyb/hyb.hpp"

namespace autospmv::formats::hyb::device {

namespace {

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

#define AUTOSPMV_HYB(T)                                                                     \
  template std::int64_t count(const CsrView<T>&, std::int64_t, CooRest<T>&, Place, Stream); \
  template void fill(const CsrView<T>&, std::int64_t, CooRest<T>&, Array<T>&, Stream);
AUTOSPMV_HYB(float)
AUTOSPMV_HYB(double)
#undef AUTOSPMV_HYB

}  // namespace autospmv::formats::hyb::device
