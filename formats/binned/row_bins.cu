#include <algorithm>
#include <bit>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/binned/row_bins.hpp"

namespace autospmv::formats::cuda_steps {

namespace {

struct Floors {
  int bins;
  std::int64_t values[most_bins];
};

template <class Offset>
__global__ void keys_kernel(const __grid_constant__ Floors floors, const Offset* row_ptr, std::int64_t rows,
                            std::int64_t items, int log_granularity, std::uint32_t* keys, std::int32_t* order) {
  const auto item = cuda::global_thread();
  if (item >= items) return;
  const auto length = mean_length(row_ptr, rows, item, log_granularity);
  keys[item] = static_cast<std::uint32_t>(bin_of(floors.values, floors.bins, length));
  order[item] = static_cast<std::int32_t>(item);
}

// Every position where a bin or several begin says so; the last one past all items closes those that are left.
__global__ void bounds_kernel(const std::uint32_t* keys, std::int64_t items, int bins, std::int64_t* first) {
  const auto position = cuda::global_thread();
  if (position > items) return;
  const int before = position == 0 ? -1 : static_cast<int>(keys[position - 1]);
  const int here = position == items ? bins : static_cast<int>(keys[position]);
  for (int bin = before + 1; bin <= here; ++bin) first[bin] = position;
}

}  // namespace

RowBins bin_rows(const RowOffsets& row_ptr, std::int64_t rows, const std::vector<std::int64_t>& floors,
                 int log_granularity, Place place) {
  const auto stream = setup_stream(place);
  const std::int64_t items = (rows + (std::int64_t{1} << log_granularity) - 1) >> log_granularity;
  Floors by_value{static_cast<int>(floors.size()), {}};
  std::copy(floors.begin(), floors.end(), by_value.values);
  Array<std::uint32_t> keys(static_cast<std::size_t>(items), place);
  RowBins result{Array<std::int32_t>(static_cast<std::size_t>(items), place), {}};
  with_offsets(row_ptr, [&](const auto* offsets) {
    keys_kernel<<<cuda::grid_for(items), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        by_value, offsets, rows, items, log_granularity, keys.data(), result.order.data());
  });
  cuda::check_launch();
  cuda::sort_pairs(keys, result.order, std::max(1, static_cast<int>(std::bit_width(floors.size() - 1))), stream);
  Array<std::int64_t> first(floors.size() + 1, place);
  bounds_kernel<<<cuda::grid_for(items + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      keys.data(), items, by_value.bins, first.data());
  cuda::check_launch();
  result.first = first.to_vector();
  return result;
}

}  // namespace autospmv::formats::cuda_steps
