#include "core/random.hpp"

#include "core/cuda/kernels.hpp"
#include "core/parallel.hpp"

namespace autospmv {

template <class T>
void fill_random(T* data, std::int64_t size, const RandomVector& vector, Place place, Stream stream) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      cuda::fill_random(data, size, vector, place, stream);
      return;
    }
  }
  parallel_for(size, [=](std::int64_t i) { data[i] = static_cast<T>(vector.at(static_cast<std::uint64_t>(i))); });
}

template void fill_random(float*, std::int64_t, const RandomVector&, Place, Stream);
template void fill_random(double*, std::int64_t, const RandomVector&, Place, Stream);

}  // namespace autospmv
