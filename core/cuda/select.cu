#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_select.cuh>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/cub_scratch.cuh"
#include "core/cuda/runtime.hpp"

namespace autospmv::cuda {

template <class V>
V read(const V* in, Stream stream) {
  V value{};
  copy(&value, in, sizeof(V), stream);
  synchronize_stream(stream);
  return value;
}

std::int64_t flagged_positions(const std::uint8_t* flags, std::int64_t size, std::int32_t* out, Place place,
                               Stream stream) {
  Array<std::int64_t> count(1, place);
  const thrust::counting_iterator<std::int32_t> positions(0);
  with_scratch(place, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceSelect::Flagged(scratch, bytes, positions, flags, out, count.data(), size, stream.handle);
  });
  return read(count.data(), stream);
}

template std::int32_t read(const std::int32_t*, Stream);
template std::int64_t read(const std::int64_t*, Stream);

}  // namespace autospmv::cuda
