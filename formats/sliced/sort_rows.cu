#include <bit>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/sliced/convert.hpp"

namespace autospmv::formats::cuda_steps {

namespace {

// Keys that sort by window, then by decreasing length, for which length_bits are enough.
template <class Key, class Offset>
__global__ void sort_keys_kernel(const Offset* row_ptr, std::int64_t rows, std::int64_t window, int length_bits,
                                 Key* keys, std::int32_t* order) {
  const auto row = cuda::global_thread();
  if (row >= rows) return;
  const auto length = static_cast<Key>(row_ptr[row + 1] - row_ptr[row]);
  const Key longest = (Key{1} << length_bits) - 1;
  keys[row] = static_cast<Key>(row / window) << length_bits | (longest - length);
  order[row] = static_cast<std::int32_t>(row);
}

}  // namespace

template <class T>
Array<std::int32_t> sort_rows(const CsrView<T>& matrix, std::int64_t window, Place place, Stream stream) {
  const auto rows = static_cast<std::size_t>(matrix.rows);
  Array<std::int32_t> order(rows, place);
  if (rows == 0) return order;
  const int length_bits = std::bit_width(static_cast<std::uint64_t>(matrix.nnz));
  const int window_bits = std::bit_width(static_cast<std::uint64_t>((matrix.rows - 1) / window));
  const auto sort_by = [&](auto keys) {
    with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
      sort_keys_kernel<<<cuda::grid_for(matrix.rows), cuda::default_block, 0, cuda::InTurn(stream)>>>(
          row_ptr, matrix.rows, window, length_bits, keys.data(), order.data());
    });
    cuda::check_launch();
    cuda::sort_pairs(keys, order, window_bits + length_bits, stream);
  };
  // The sort passes over all keys for every few bits of them, so bits that all share are left out.
  if (window_bits + length_bits < 32) {
    sort_by(Array<std::uint32_t>(rows, place));
  } else {
    sort_by(Array<std::uint64_t>(rows, place));
  }
  return order;
}

template Array<std::int32_t> sort_rows(const CsrView<float>&, std::int64_t, Place, Stream);
template Array<std::int32_t> sort_rows(const CsrView<double>&, std::int64_t, Place, Stream);

}  // namespace autospmv::formats::cuda_steps
