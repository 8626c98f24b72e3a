// The CUDA side of core/verify/probe.hpp: one kernel before the first product and one after each.
#pragma once

#include <cstddef>
#include <vector>

#include "core/machine/array.hpp"
#include "core/verify/probe.hpp"
#include "core/verify/random.hpp"

namespace autospmv::cuda {

/// The vectors with their guards, of probe_guard elements at either end.
template <class T>
struct GuardedVectors {
  T* x;
  std::int64_t x_size;
  T* y;
  std::int64_t y_size;
};

/// What looks have found, in the memory of a device: at most so many, one after another.
inline constexpr std::size_t most_looks = 16;
Array<std::byte> make_looks(Place place);

/// Before the look `at`, which has found nothing yet.
template <class T>
void draw(const GuardedVectors<T>& vectors, const Drawn& drawn, Array<std::byte>& looks, std::size_t at);

/// As Probe::look(): what was drawn, and what is drawn next, before the look after it.
template <class T>
void look(const Reference& reference, const Scaled<T>* scaled, const GuardedVectors<T>& vectors, const Drawn& drawn,
          const Drawn& next, Array<std::byte>& looks, std::size_t at);

/// What the first so many have found; waits for them.
std::vector<Findings> found_by(const Array<std::byte>& looks, std::size_t count);

}  // namespace autospmv::cuda
