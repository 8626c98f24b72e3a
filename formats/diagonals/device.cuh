// Device-side pieces of everything that stores diagonals.
#pragma once

#include <cstdint>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/diagonals/convert.hpp"

namespace autospmv::formats {

/// Values as they are, each read once a product.
template <class T>
struct PlainSlots {
  const T* values;
  CachePolicy policy;

  /// The slots of the neighbouring rows of one thread.
  template <int Rows>
  __device__ __forceinline__ void load(std::int64_t slot, T (&value)[Rows]) const {
    load_neighbours(values + slot, value, [this](const auto* word) { return load_stream(word, policy); });
  }
};

}  // namespace autospmv::formats
