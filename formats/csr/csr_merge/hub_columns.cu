#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/nonzeros.hpp"
#include "core/cuda/threads.cuh"
#include "formats/csr/csr_merge/hub_columns.hpp"

namespace autospmv::formats::device {

namespace {

// Counts are sorted by so many bits: two passes of a radix sort. Beyond them every column is hot.
constexpr int count_bits = 16;
constexpr std::uint32_t most_counted = (1U << count_bits) - 1;

__global__ void count_kernel(const std::int32_t* columns, std::int64_t nnz, std::uint32_t* counts) {
  const auto k = cuda::global_thread();
  if (k < nnz) atomicAdd(counts + columns[k], 1U);
}

// Keys in the place of the counts: the more often a column occurs, the smaller its key.
__global__ void key_kernel(std::uint32_t* counts, std::int32_t* order, std::int64_t cols) {
  const auto column = cuda::global_thread();
  if (column >= cols) return;
  counts[column] = most_counted - min(counts[column], most_counted);
  order[column] = static_cast<std::int32_t>(column);
}

// Columns that do not occur have the largest key, so they come last.
__global__ void used_kernel(const std::uint32_t* keys, std::int64_t cols, std::int32_t* used) {
  const auto i = cuda::global_thread();
  if (i >= cols || keys[i] == most_counted) return;
  if (i + 1 == cols || keys[i + 1] == most_counted) *used = static_cast<std::int32_t>(i + 1);
}

__global__ void number_kernel(const std::int32_t* order, std::int64_t size, std::int32_t* number) {
  const auto i = cuda::global_thread();
  if (i < size) number[order[i]] = static_cast<std::int32_t>(i);
}

}  // namespace

Array<std::int32_t> columns_by_count(const std::int32_t* columns, std::int64_t nnz, std::int64_t cols, Place place,
                                     Stream stream) {
  if (nnz == 0) return Array<std::int32_t>(0, place);
  Array<std::uint32_t> keys(static_cast<std::size_t>(cols), place);
  Array<std::int32_t> order(static_cast<std::size_t>(cols), place);
  Array<std::int32_t> used(1, place);
  fill_bytes(keys.data(), 0, static_cast<std::size_t>(keys.bytes()), place, stream);
  fill_bytes(used.data(), 0, sizeof(std::int32_t), place, stream);
  const auto grid = cuda::grid_for(cols);
  count_kernel<<<cuda::grid_for(nnz), cuda::default_block, 0, cuda::InTurn(stream)>>>(columns, nnz, keys.data());
  key_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(keys.data(), order.data(), cols);
  cuda::check_launch();
  cuda::sort_pairs(keys, order, count_bits, stream);
  used_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(keys.data(), cols, used.data());
  cuda::check_launch();
  const auto size = cuda::read(static_cast<const std::int32_t*>(used.data()), stream);
  Array<std::int32_t> used_order(static_cast<std::size_t>(size), place);
  copy_bytes(used_order.data(), order.data(), static_cast<std::size_t>(used_order.bytes()), place, stream);
  return used_order;
}

Array<std::int32_t> renumber(const std::int32_t* columns, std::int64_t nnz, std::int64_t cols,
                             const Array<std::int32_t>& order, Stream stream) {
  const auto place = order.place();
  Array<std::int32_t> renumbered(static_cast<std::size_t>(nnz), place);
  if (nnz == 0) return renumbered;
  Array<std::int32_t> number(static_cast<std::size_t>(cols), place);
  const auto size = static_cast<std::int64_t>(order.size());
  number_kernel<<<cuda::grid_for(size), cuda::default_block, 0, cuda::InTurn(stream)>>>(order.data(), size,
                                                                                        number.data());
  cuda::check_launch();
  cuda::gather(static_cast<const std::int32_t*>(number.data()), columns, renumbered.data(), nnz, stream);
  return renumbered;
}

}  // namespace autospmv::formats::device
