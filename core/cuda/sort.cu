#include <utility>

#include <cub/device/device_radix_sort.cuh>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/cub_scratch.cuh"

namespace autospmv::cuda {

template <class K, class V>
void sort_pairs(Array<K>& keys, Array<V>& values, int key_bits, Stream stream) {
  const auto size = static_cast<std::int64_t>(keys.size());
  if (size == 0) return;
  Array<K> sorted_keys(keys.size(), keys.place());
  Array<V> sorted_values(values.size(), values.place());
  with_scratch(keys.place(), [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys.data(), sorted_keys.data(), values.data(),
                                           sorted_values.data(), size, 0, key_bits, stream.handle);
  });
  keys = std::move(sorted_keys);
  values = std::move(sorted_values);
}

template void sort_pairs(Array<std::uint64_t>&, Array<std::int32_t>&, int, Stream);
template void sort_pairs(Array<std::uint32_t>&, Array<std::int32_t>&, int, Stream);
template void sort_pairs(Array<std::uint32_t>&, Array<std::uint32_t>&, int, Stream);

}  // namespace autospmv::cuda
