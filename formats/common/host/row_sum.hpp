// The product of one row on the host.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/machine/simd.hpp"

namespace autospmv::formats {

/// Keeps a loop over k < length one of scalar loads. From products of float compilers make vectors, element by element,
/// only to add their elements up one after another. A length that is known leaves no loop.
template <class T>
AUTOSPMV_INLINE void stay_scalar([[maybe_unused]] std::int64_t& k, [[maybe_unused]] std::int64_t length) {
#if defined(__GNUC__)
  if constexpr (std::is_same_v<T, float>) {
    if (!__builtin_constant_p(length)) asm("" : "+r"(k));
  }
#endif
}

// The sum of product(0) ... product(length - 1) in `Lanes` partial sums: a single one would wait for its own last
// addition at every nonzero. From an array of them the compiler makes vectors and gathers, which pay for long rows
// only; two and four are spelled out, so that they stay scalar loads.
template <int Lanes, class T, class Product>
AUTOSPMV_INLINE T row_sum(std::int64_t length, const Product& product) {
  T sum = 0;
  std::int64_t k = 0;
  if constexpr (Lanes == 2) {
    T other = 0;
    for (; k + 2 <= length; k += 2) {
      stay_scalar<T>(k, length);
      sum += product(k);
      other += product(k + 1);
    }
    sum += other;
  } else if constexpr (Lanes == 4) {
    T second = 0;
    T third = 0;
    T fourth = 0;
    for (; k + 4 <= length; k += 4) {
      stay_scalar<T>(k, length);
      sum += product(k);
      second += product(k + 1);
      third += product(k + 2);
      fourth += product(k + 3);
    }
    sum = (sum + second) + (third + fourth);
  } else if constexpr (Lanes > 4) {
    T partial[Lanes] = {};
    for (; k + Lanes <= length; k += Lanes) {
      for (int lane = 0; lane < Lanes; ++lane) partial[lane] += product(k + lane);
    }
    for (int width = Lanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) partial[lane] += partial[lane + width];
    }
    sum = partial[0];
  }
  for (; k < length; ++k) {
    stay_scalar<T>(k, length);
    sum += product(k);
  }
  return sum;
}

}  // namespace autospmv::formats
