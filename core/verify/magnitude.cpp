#include "core/verify/magnitude.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cuda/reference.hpp"
#include "core/machine/parallel.hpp"

namespace autospmv {

template <class T>
double largest_magnitude(const T* values, std::int64_t size, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::largest_magnitude(values, size, place);
  }
  const auto larger = [](double a, double b) { return std::max(a, b); };
  return parallel_reduce(
      size, 0.0,
      [&](Share share) {
        double largest = 0;
#pragma omp simd reduction(max : largest)
        for (std::int64_t k = share.first; k < share.last; ++k) {
          const double magnitude = std::fabs(static_cast<double>(values[k]));
          // Neither an infinity nor what is not a number.
          largest = magnitude <= std::numeric_limits<double>::max() && magnitude > largest ? magnitude : largest;
        }
        return largest;
      },
      larger);
}

template double largest_magnitude(const float*, std::int64_t, Place);
template double largest_magnitude(const double*, std::int64_t, Place);

}  // namespace autospmv
