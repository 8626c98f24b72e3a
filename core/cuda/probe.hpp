// The CUDA side of core/verify/probe.hpp: one kernel before a product and one after it.
#pragma once

#include <optional>

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

template <class T>
void draw(const GuardedVectors<T>& vectors, const RandomVector& x, const std::optional<RandomVector>& y, Place place);

/// As Probe::look().
template <class T>
Findings look(const Reference& reference, const Scaled<T>* scaled, const GuardedVectors<T>& vectors,
              const RandomVector& x, Place place);

}  // namespace autospmv::cuda
