#include "core/cuda/probe.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "core/cuda/check.hpp"
#include "core/cuda/comparison.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"

namespace autospmv::cuda {

namespace {

constexpr auto guard = static_cast<std::int64_t>(probe_guard);

// What every byte is.
template <class T>
__device__ T of_bytes(int byte) {
  T value;
  memset(&value, byte, sizeof value);
  return value;
}

// Element i of a guarded vector of so many in all.
template <class T>
__device__ T element(const RandomVector& vector, std::int64_t i, std::int64_t size, int guard_byte) {
  if (i < guard || i >= size - guard) return of_bytes<T>(guard_byte);
  return static_cast<T>(vector.at(static_cast<std::uint64_t>(i - guard)));
}

template <class T>
__device__ bool same_bits(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

template <class T>
__global__ void draw_kernel(GuardedVectors<T> vectors, RandomVector x, RandomVector y, bool y_drawn) {
  const auto size = max(vectors.x_size, vectors.y_size);
  for (std::int64_t i = global_thread(); i < size; i += thread_count()) {
    if (i < vectors.x_size) vectors.x[i] = element<T>(x, i, vectors.x_size, not_a_number_byte);
    if (i >= vectors.y_size) continue;
    const bool guards = i < guard || i >= vectors.y_size - guard;
    vectors.y[i] = guards || y_drawn ? element<T>(y, i, vectors.y_size, guard_byte) : of_bytes<T>(not_a_number_byte);
  }
}

struct DeviceFindings {
  DeviceComparison comparison;
  int y_guards_touched = 0;
  int x_touched = 0;
};

template <class T, class Expected>
__global__ void look_kernel(ReferenceView reference, Expected expected, GuardedVectors<T> vectors, RandomVector x,
                            DeviceFindings* findings) {
  DeviceComparison::OfThread found(findings->comparison);
  const auto size = max(reference.size, max(vectors.x_size, 2 * guard));
  for (std::int64_t i = global_thread(); i < size; i += thread_count()) {
    if (i < reference.size) reference.compare(i, expected, vectors.y + guard, found);
    if (i < vectors.x_size && !same_bits(vectors.x[i], element<T>(x, i, vectors.x_size, not_a_number_byte))) {
      findings->x_touched = 1;
    }
    if (i < 2 * guard) {
      const auto at = i < guard ? i : vectors.y_size - 2 * guard + i;
      if (!same_bits(vectors.y[at], of_bytes<T>(guard_byte))) findings->y_guards_touched = 1;
    }
  }
  found.finish();
}

}  // namespace

template <class T>
void draw(const GuardedVectors<T>& vectors, const RandomVector& x, const std::optional<RandomVector>& y, Place place) {
  const DeviceScope scope(place);
  const auto size = std::max(vectors.x_size, vectors.y_size);
  draw_kernel<<<striding_grid(size), default_block, 0, setup_stream(place).handle>>>(
      vectors, x, y.value_or(RandomVector{}), y.has_value());
  check_launch();
}

template <class T>
Findings look(const Reference& reference, const Scaled<T>* scaled, const GuardedVectors<T>& vectors,
              const RandomVector& x, Place place) {
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  const DeviceFindings nothing;
  Array<DeviceFindings> result(1, place);
  copy_bytes(result.data(), &nothing, sizeof nothing, place, stream);
  const ReferenceView view(reference);
  const auto launch = [&](const auto& expected) {
    look_kernel<<<striding_grid(std::max(view.size, vectors.x_size)), default_block, 0, stream.handle>>>(
        view, expected, vectors, x, result.data());
  };
  if (scaled == nullptr) {
    launch(Unscaled{});
  } else {
    with_offsets(scaled->row_ptr, [&]<class Offset>(const Offset* row_ptr) {
      launch(ScaledRows<T, Offset>{*scaled, row_ptr});
    });
  }
  check_launch();
  const auto found = result.to_vector().front();
  return {found.comparison.result(), found.y_guards_touched == 0, found.x_touched == 0};
}

template void draw(const GuardedVectors<float>&, const RandomVector&, const std::optional<RandomVector>&, Place);
template void draw(const GuardedVectors<double>&, const RandomVector&, const std::optional<RandomVector>&, Place);
template Findings look(const Reference&, const Scaled<float>*, const GuardedVectors<float>&, const RandomVector&,
                       Place);
template Findings look(const Reference&, const Scaled<double>*, const GuardedVectors<double>&, const RandomVector&,
                       Place);

}  // namespace autospmv::cuda
