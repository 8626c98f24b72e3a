#include "core/random.hpp"

#include "core/cuda/kernels.hpp"
#include "core/parallel.hpp"

namespace autospmv {

template <class T>
void fill_random(T* data, std::int64_t size, std::uint64_t seed, Place place, Stream stream) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      cuda::fill_random(data, size, seed, place, stream);
      return;
    }
  }
  parallel_for(size,
               [=](std::int64_t i) { data[i] = static_cast<T>(random_value(seed, static_cast<std::uint64_t>(i))); });
}

template void fill_random(float*, std::int64_t, std::uint64_t, Place, Stream);
template void fill_random(double*, std::int64_t, std::uint64_t, Place, Stream);

}  // namespace autospmv
