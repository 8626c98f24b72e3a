// Sums of rows by the gathers of processors with AVX-512. They take longer than scalar loads of elements that a near
// cache holds, but name so many of them at once that more are on their way: where each comes from a far cache, that
// decides.
#pragma once

#include <algorithm>
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

/// What a register of 64 bytes holds of T. The first of these are added to sums, as many as `left` has bits.
template <class T>
struct Gathered;

template <>
struct Gathered<double> {
  static constexpr std::int64_t size = 8;
  __m512d sums;

  AUTOSPMV_WITH_GATHERS void clear() { sums = _mm512_setzero_pd(); }
  AUTOSPMV_WITH_GATHERS void add(std::uint32_t left, const double* values, const std::int32_t* columns,
                                 const double* x) {
    const auto mask = static_cast<__mmask8>(left);
    const auto elements =
        _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, _mm256_maskz_loadu_epi32(mask, columns), x, sizeof *x);
    sums = _mm512_fmadd_pd(_mm512_maskz_loadu_pd(mask, values), elements, sums);
  }
};

template <>
struct Gathered<float> {
  static constexpr std::int64_t size = 16;
  __m512 sums;

  AUTOSPMV_WITH_GATHERS void clear() { sums = _mm512_setzero_ps(); }
  AUTOSPMV_WITH_GATHERS void add(std::uint32_t left, const float* values, const std::int32_t* columns, const float* x) {
    const auto mask = static_cast<__mmask16>(left);
    const auto elements =
        _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, _mm512_maskz_loadu_epi32(mask, columns), x, sizeof *x);
    sums = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, values), elements, sums);
  }
};

/// Nothing behind the row is read.
template <class T>
AUTOSPMV_WITH_GATHERS T gathered_row_sum(const T* values, const std::int32_t* columns, std::int64_t length,
                                         const T* x) {
  constexpr auto size = Gathered<T>::size;
  Gathered<T> gathered;
  gathered.clear();
  for (std::int64_t k = 0; k < length; k += size) {
    gathered.add((1U << std::min(size, length - k)) - 1, values + k, columns + k, x);
  }
  std::array<Pack<T>, 2> halves;
  static_assert(sizeof halves == sizeof gathered.sums);
  std::memcpy(&halves, &gathered.sums, sizeof halves);
  return Pack<T>{halves[0].elements + halves[1].elements}.sum();
}

#endif

}  // namespace autospmv::formats
