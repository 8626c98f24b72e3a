// Neighbouring elements that the host adds and multiplies at once.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/machine/simd.hpp"

namespace autospmv::formats {

template <class T>
struct Pack {
  static constexpr int size = 32 / sizeof(T);
  typedef T Vector __attribute__((vector_size(32)));

  Vector elements;

  AUTOSPMV_INLINE void load(const T* from) { std::memcpy(&elements, from, sizeof elements); }
  AUTOSPMV_INLINE void store(T* to) const { std::memcpy(to, &elements, sizeof elements); }

  // Spelled out, so that elements of x stay scalar loads: the processor's gathers are slower.
  template <class Element>
  AUTOSPMV_INLINE void fill(const Element& at) {
    if constexpr (size == 4) {
      elements = Vector{at(0), at(1), at(2), at(3)};
    } else {
      elements = Vector{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)};
    }
  }
  AUTOSPMV_INLINE void gather(const T* x, const std::int32_t* at) {
    fill([=](int i) AUTOSPMV_INLINE_LAMBDA { return x[at[i]]; });
  }
};

}  // namespace autospmv::formats
