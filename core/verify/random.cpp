#include "core/verify/random.hpp"

#include "core/cuda/kernels.hpp"
#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"

namespace autospmv {

template <class T>
void fill_random(T* data, std::int64_t size, const RandomVector& vector, Place place, Stream stream) {
  on_backend(
      place,
      [&] {
        parallel_for(size, [=](std::int64_t i) { data[i] = static_cast<T>(vector.at(static_cast<std::uint64_t>(i))); });
      },
      [&] { cuda::fill_random(data, size, vector, place, stream); });
}

template void fill_random(float*, std::int64_t, const RandomVector&, Place, Stream);
template void fill_random(double*, std::int64_t, const RandomVector&, Place, Stream);

}  // namespace autospmv
