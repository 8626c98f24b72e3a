// Neighbouring elements that the host adds and multiplies at once.
#pragma once

#include <cstdint>
#include <cstring>

#include "formats/common/simd.hpp"

namespace autospmv::formats {

template <class T>
struct Pack {
  static constexpr int size = 32 / sizeof(T);
  typedef T Vector __attribute__((vector_size(32)));

  Vector elements;

  AUTOSPMV_INLINE void load(const T* from) { std::memcpy(&elements, from, sizeof elements); }
  // Spelled out, so that these stay scalar loads: the processor's gathers are slower.
  AUTOSPMV_INLINE void gather(const T* x, const std::int32_t* at) {
    if constexpr (size == 4) {
      elements = Vector{x[at[0]], x[at[1]], x[at[2]], x[at[3]]};
    } else {
      elements = Vector{x[at[0]], x[at[1]], x[at[2]], x[at[3]], x[at[4]], x[at[5]], x[at[6]], x[at[7]]};
    }
  }
};

}  // namespace autospmv::formats
