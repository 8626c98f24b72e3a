#include "core/verify/random.hpp"

#include <atomic>
#include <bit>
#include <type_traits>

#include "core/cuda/kernels.hpp"
#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"

namespace autospmv {

namespace {

// One loop a kind of vector: the classes cost a second hash and a division an element. Shares of them, for what is
// called an element at a time is not vectorized.
template <class T, class Body>
void for_each_share_of(const RandomVector& vector, std::int64_t size, const Body& body) {
  parallel_region(size, [&](int thread, int threads) {
    const auto share = share_of(size, thread, threads);
    if (vector.classes > 1) {
      body(share, [&](std::int64_t i) { return static_cast<T>(vector.at(static_cast<std::uint64_t>(i))); });
    } else {
      const auto seed = vector.seed;
      const double scale = vector.scale;
      body(share,
           [=](std::int64_t i) { return static_cast<T>(scale * random_value(seed, static_cast<std::uint64_t>(i))); });
    }
  });
}

}  // namespace

template <class T>
bool is_random(const T* data, std::int64_t size, const RandomVector& vector) {
  std::atomic<bool> same{true};
  for_each_share_of<T>(vector, size, [&](Share share, const auto& element) {
    std::uint64_t differences = 0;
    for (auto i = share.first; i < share.last; ++i) {
      using Bits = std::conditional_t<sizeof(T) == sizeof(float), std::uint32_t, std::uint64_t>;
      differences |= std::bit_cast<Bits>(data[i]) ^ std::bit_cast<Bits>(element(i));
    }
    if (differences != 0) same.store(false, std::memory_order_relaxed);
  });
  return same;
}

template <class T>
void fill_random(T* data, std::int64_t size, const RandomVector& vector, Place place, Stream stream) {
  on_backend(
      place,
      [&] {
        for_each_share_of<T>(vector, size, [=](Share share, const auto& element) {
          for (auto i = share.first; i < share.last; ++i) data[i] = element(i);
        });
      },
      [&] { cuda::fill_random(data, size, vector, place, stream); });
}

template bool is_random(const float*, std::int64_t, const RandomVector&);
template bool is_random(const double*, std::int64_t, const RandomVector&);
template void fill_random(float*, std::int64_t, const RandomVector&, Place, Stream);
template void fill_random(double*, std::int64_t, const RandomVector&, Place, Stream);

}  // namespace autospmv
