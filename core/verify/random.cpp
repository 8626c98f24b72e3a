#include "core/verify/random.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>

#include "core/cuda/kernels.hpp"
#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"

namespace autospmv {

// One loop a kind of vector: classes cost a second hash and a division an element.
template <class T>
void draw_elements(const RandomVector& vector, std::int64_t first, std::int64_t count, T* elements) {
  if (vector.classes > 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      elements[i] = static_cast<T>(vector.at(static_cast<std::uint64_t>(first + i)));
    }
    return;
  }
  const auto seed = vector.seed;
  const double scale = vector.scale;
  for (std::int64_t i = 0; i < count; ++i) {
    elements[i] = static_cast<T>(scale * random_value(seed, static_cast<std::uint64_t>(first + i)));
  }
}

template <class T>
bool is_random(const T* data, std::int64_t size, const RandomVector& vector) {
  std::atomic<bool> same{true};
  parallel_region(size, [&](int thread, int threads) {
    const auto share = share_of(size, thread, threads);
    std::array<T, 512> drawn;
    for (auto first = share.first; first < share.last; first += std::ssize(drawn)) {
      const auto count = std::min<std::int64_t>(std::ssize(drawn), share.last - first);
      draw_elements(vector, first, count, drawn.data());
      if (std::memcmp(data + first, drawn.data(), static_cast<std::size_t>(count) * sizeof(T)) != 0) {
        same.store(false, std::memory_order_relaxed);
      }
    }
  });
  return same;
}

template <class T>
void fill_random(T* data, std::int64_t size, const RandomVector& vector, Place place, Stream stream) {
  on_backend(
      place,
      [&] {
        parallel_region(size, [&](int thread, int threads) {
          const auto share = share_of(size, thread, threads);
          draw_elements(vector, share.first, share.last - share.first, data + share.first);
        });
      },
      [&] { cuda::fill_random(data, size, vector, place, stream); });
}

template void draw_elements(const RandomVector&, std::int64_t, std::int64_t, float*);
template void draw_elements(const RandomVector&, std::int64_t, std::int64_t, double*);
template bool is_random(const float*, std::int64_t, const RandomVector&);
template bool is_random(const double*, std::int64_t, const RandomVector&);
template void fill_random(float*, std::int64_t, const RandomVector&, Place, Stream);
template void fill_random(double*, std::int64_t, const RandomVector&, Place, Stream);

}  // namespace autospmv
