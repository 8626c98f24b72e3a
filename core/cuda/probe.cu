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

struct DeviceFindings {
  DeviceComparison comparison;
  int y_guards_touched = 0;
  int x_touched = 0;
};

DeviceFindings* findings_at(Array<std::byte>& looks, std::size_t at) {
  return reinterpret_cast<DeviceFindings*>(looks.data()) + at;
}

template <class T>
__device__ bool is_guard_of_y(const GuardedVectors<T>& vectors, std::int64_t i) {
  return i < guard || i >= vectors.y_size - guard;
}

template <class T>
__device__ T element_of_x(const GuardedVectors<T>& vectors, const Drawn& drawn, std::int64_t i) {
  return element<T>(drawn.x, i, vectors.x_size, not_a_number_byte);
}

template <class T>
__device__ T element_of_y(const GuardedVectors<T>& vectors, const Drawn& drawn, std::int64_t i) {
  return is_guard_of_y(vectors, i) || drawn.has_y ? element<T>(drawn.y, i, vectors.y_size, guard_byte)
                                                  : of_bytes<T>(not_a_number_byte);
}

template <class T>
__global__ void draw_kernel(GuardedVectors<T> vectors, Drawn drawn, DeviceFindings* findings) {
  if (global_thread() == 0) *findings = {};
  const auto size = max(vectors.x_size, vectors.y_size);
  for (std::int64_t i = global_thread(); i < size; i += thread_count()) {
    if (i < vectors.x_size) vectors.x[i] = element_of_x(vectors, drawn, i);
    if (i < vectors.y_size) vectors.y[i] = element_of_y(vectors, drawn, i);
  }
}

// A thread looks at what it then draws anew.
template <class T, class Expected>
__global__ void look_kernel(ReferenceView reference, Expected expected, GuardedVectors<T> vectors, Drawn drawn,
                            Drawn next, DeviceFindings* findings) {
  if (global_thread() == 0) findings[1] = {};
  DeviceComparison::OfThread found(findings->comparison);
  const auto size = max(vectors.x_size, vectors.y_size);
  for (std::int64_t i = global_thread(); i < size; i += thread_count()) {
    if (i < vectors.x_size) {
      if (!same_bits(vectors.x[i], element_of_x(vectors, drawn, i))) findings->x_touched = 1;
      vectors.x[i] = element_of_x(vectors, next, i);
    }
    if (i >= vectors.y_size) continue;
    if (is_guard_of_y(vectors, i)) {
      if (!same_bits(vectors.y[i], of_bytes<T>(guard_byte))) findings->y_guards_touched = 1;
    } else if (const auto at = reference.element_of(i - guard); at >= 0) {
      reference.compare(at, i - guard, expected, vectors.y[i], found);
    }
    vectors.y[i] = element_of_y(vectors, next, i);
  }
  found.finish();
}

}  // namespace

// One more, which the last look clears.
Array<std::byte> make_looks(Place place) { return {(most_looks + 1) * sizeof(DeviceFindings), place}; }

template <class T>
void draw(const GuardedVectors<T>& vectors, const Drawn& drawn, Array<std::byte>& looks, std::size_t at) {
  const auto place = looks.place();
  const DeviceScope scope(place);
  const auto size = std::max(vectors.x_size, vectors.y_size);
  draw_kernel<<<striding_grid(size), default_block, 0, InTurn(setup_stream(place))>>>(vectors, drawn,
                                                                                      findings_at(looks, at));
  check_launch();
}

template <class T>
void look(const Reference& reference, const Scaled<T>* scaled, const GuardedVectors<T>& vectors, const Drawn& drawn,
          const Drawn& next, Array<std::byte>& looks, std::size_t at) {
  const auto place = looks.place();
  const DeviceScope scope(place);
  const ReferenceView view(reference);
  const auto launch = [&](const auto& expected) {
    look_kernel<<<striding_grid(std::max(vectors.x_size, vectors.y_size)), default_block, 0,
                  InTurn(setup_stream(place))>>>(view, expected, vectors, drawn, next, findings_at(looks, at));
  };
  if (scaled == nullptr) {
    launch(Unscaled{});
  } else {
    with_offsets(scaled->row_ptr, [&]<class Offset>(const Offset* row_ptr) {
      launch(ScaledRows<T, Offset>{*scaled, row_ptr});
    });
  }
  check_launch();
}

std::vector<Findings> found_by(const Array<std::byte>& looks, std::size_t count) {
  const auto place = looks.place();
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  std::vector<DeviceFindings> on_device(count);
  copy_bytes(on_device.data(), looks.data(), count * sizeof(DeviceFindings), place, stream);
  synchronize(place, stream);
  std::vector<Findings> found;
  for (const auto& one : on_device) {
    found.push_back({one.comparison.result(), one.y_guards_touched == 0, one.x_touched == 0});
  }
  return found;
}

#define AUTOSPMV_PROBE(T)                                                                                      \
  template void draw(const GuardedVectors<T>&, const Drawn&, Array<std::byte>&, std::size_t);                  \
  template void look(const Reference&, const Scaled<T>*, const GuardedVectors<T>&, const Drawn&, const Drawn&, \
                     Array<std::byte>&, std::size_t);
AUTOSPMV_PROBE(float)
AUTOSPMV_PROBE(double)
#undef AUTOSPMV_PROBE

}  // namespace autospmv::cuda
