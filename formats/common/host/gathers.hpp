// Sums of rows by the gathers of processors with AVX-512. They take longer than scalar loads of elements that a near
// cache holds, but name so many of them at once that more are on their way: where each comes from a far cache, that
// decides.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/machine/instructions.hpp"
#include "formats/common/host/pack.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define AUTOSPMV_GATHERS 1
#define AUTOSPMV_WITH_GATHERS __attribute__((target("avx512f,avx512vl")))
#else
#define AUTOSPMV_GATHERS 0
#define AUTOSPMV_WITH_GATHERS
#endif

namespace autospmv::formats {

/// Whether a device of this name has them, and the host: then gathered_row_sum() may be called.
inline bool has_gathers(std::string_view device) { return AUTOSPMV_GATHERS == 1 && instructions_in(device) == avx512; }
inline bool has_gathers() { return AUTOSPMV_GATHERS == 1 && host_instructions() == avx512; }

#if AUTOSPMV_GATHERS

template <class T, class Register>
AUTOSPMV_WITH_GATHERS AUTOSPMV_INLINE T sum_of_halves(const Register& sums) {
  std::array<Pack<T>, 2> halves;
  static_assert(sizeof halves == sizeof sums);
  std::memcpy(&halves, &sums, sizeof sums);
  return Pack<T>{halves[0].elements + halves[1].elements}.sum();
}

/// Nothing behind the row is read.
AUTOSPMV_WITH_GATHERS inline double gathered_row_sum(const double* values, const std::int32_t* columns,
                                                     std::int64_t length, const double* x) {
  constexpr std::int64_t size = 8;
  constexpr __mmask8 all = 0xff;
  __m512d sums = _mm512_setzero_pd();
  for (std::int64_t k = 0; k < length; k += size) {
    const auto left = length - k < size ? static_cast<__mmask8>((1U << (length - k)) - 1) : all;
    const auto elements =
        _mm512_mask_i32gather_pd(_mm512_setzero_pd(), left, _mm256_maskz_loadu_epi32(left, columns + k), x, sizeof *x);
    sums = _mm512_fmadd_pd(_mm512_maskz_loadu_pd(left, values + k), elements, sums);
  }
  return sum_of_halves<double>(sums);
}

/// The same.
AUTOSPMV_WITH_GATHERS inline float gathered_row_sum(const float* values, const std::int32_t* columns,
                                                    std::int64_t length, const float* x) {
  constexpr std::int64_t size = 16;
  constexpr __mmask16 all = 0xffff;
  __m512 sums = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < length; k += size) {
    const auto left = length - k < size ? static_cast<__mmask16>((1U << (length - k)) - 1) : all;
    const auto elements =
        _mm512_mask_i32gather_ps(_mm512_setzero_ps(), left, _mm512_maskz_loadu_epi32(left, columns + k), x, sizeof *x);
    sums = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(left, values + k), elements, sums);
  }
  return sum_of_halves<float>(sums);
}

#endif

}  // namespace autospmv::formats
