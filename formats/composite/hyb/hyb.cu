#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/each_nonzero.cuh"
#include "formats/composite/hyb/hyb.hpp"

namespace autospmv::formats::hyb::device {

namespace {

template <class Offset>
__global__ void count_kernel(const Offset* row_ptr, std::int64_t rows, std::int64_t width, std::int64_t* counts) {
  const auto row = cuda::global_thread();
  if (row > rows) return;
  const std::int64_t past = row < rows ? static_cast<std::int64_t>(row_ptr[row + 1] - row_ptr[row]) - width : 0;
  counts[row] = past > 0 ? past : 0;
}

// Every warp has as many entries as any other, however they are spread over the rows.
template <class T, class Offset>
__global__ void fill_kernel(CsrView<T> matrix, const Offset* row_ptr, std::int64_t width, std::int64_t entries,
                            const std::int64_t* first_of_row, std::int32_t* rows, std::int32_t* columns, T* values) {
  cuda_steps::for_each_nonzero(first_of_row, matrix.rows, entries, [&](std::int64_t row, std::int64_t entry) {
    const std::int64_t source = row_ptr[row] + width + (entry - first_of_row[row]);
    rows[entry] = static_cast<std::int32_t>(row);
    columns[entry] = matrix.col_idx[source];
    values[entry] = matrix.values[source];
  });
}

}  // namespace

template <class T>
std::int64_t count(const CsrView<T>& matrix, std::int64_t width, CooRest<T>& rest, Place place, Stream stream) {
  rest.first_of_row = Array<std::int64_t>(static_cast<std::size_t>(matrix.rows) + 1, place);
  auto* counts = rest.first_of_row.data();
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    count_kernel<<<cuda::grid_for(matrix.rows + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        row_ptr, matrix.rows, width, counts);
  });
  cuda::check_launch();
  cuda::exclusive_scan(counts, counts, matrix.rows + 1, place, stream);
  return cuda::read(static_cast<const std::int64_t*>(counts) + matrix.rows, stream);
}

template <class T>
void fill(const CsrView<T>& matrix, std::int64_t width, CooRest<T>& rest, Array<T>& values, Stream stream) {
  if (rest.entries() == 0) return;
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    fill_kernel<<<cuda_steps::grid_for_nonzeros(rest.entries()), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        matrix, row_ptr, width, rest.entries(), rest.first_of_row.data(), rest.rows.data(), rest.columns.data(),
        values.data());
  });
  cuda::check_launch();
}

template std::int64_t count(const CsrView<float>&, std::int64_t, CooRest<float>&, Place, Stream);
template std::int64_t count(const CsrView<double>&, std::int64_t, CooRest<double>&, Place, Stream);
template void fill(const CsrView<float>&, std::int64_t, CooRest<float>&, Array<float>&, Stream);
template void fill(const CsrView<double>&, std::int64_t, CooRest<double>&, Array<double>&, Stream);

}  // namespace autospmv::formats::hyb::device
