// How kernels read what they multiply; plain reads on the host.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/machine/host_device.hpp"

namespace autospmv::formats {

/// Which of its lines an L2 should evict first; cache_policy.hpp chooses it. One argument of a kernel, for all of its
/// loads: the compiler does not move loads by one policy ahead of those by another, nor of what waits for these.
struct CachePolicy {
  static constexpr int all = 16;

  /// What createpolicy makes of evict_first, for this many of sixteen lines, and evict_unchanged, for the others: the
  /// number less one in the bits from 52 on. And evict_normal for all lines.
  static constexpr std::uint64_t evict_first = 0x1200'0000'0000'0000;
  static constexpr std::uint64_t evict_normal = 0x1000'0000'0000'0000;

  std::uint64_t bits = evict_normal;

  /// Evicts first all but so many of sixteen lines.
  static constexpr CachePolicy keeping(int lines) {
    if (lines >= all) return {evict_normal};
    return {evict_first | static_cast<std::uint64_t>(all - 1 - lines) << 52};
  }
};

#ifdef __CUDACC__
namespace detail {
template <class Word>
__device__ __forceinline__ Word load_word(const void* address, CachePolicy policy) {
  Word word;
  if constexpr (sizeof(Word) == 16) {
    asm volatile("ld.global.L1::evict_first.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(address), "l"(policy.bits));
  } else if constexpr (sizeof(Word) == 8) {
    asm volatile("ld.global.L1::evict_first.L2::cache_hint.b64 %0, [%1], %2;"
                 : "=l"(word)
                 : "l"(address), "l"(policy.bits));
  } else if constexpr (sizeof(Word) == 4) {
    asm volatile("ld.global.L1::evict_first.L2::cache_hint.b32 %0, [%1], %2;"
                 : "=r"(word)
                 : "l"(address), "l"(policy.bits));
  } else {
    asm volatile("ld.global.L1::evict_first.L2::cache_hint.b16 %0, [%1], %2;"
                 : "=h"(word)
                 : "l"(address), "l"(policy.bits));
  }
  return word;
}

template <class Word>
__device__ __forceinline__ Word load_word(const void* address) {
  Word word;
  if constexpr (sizeof(Word) == 16) {
    asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(address));
  } else if constexpr (sizeof(Word) == 8) {
    asm volatile("ld.global.b64 %0, [%1];" : "=l"(word) : "l"(address));
  } else {
    static_assert(sizeof(Word) == 4);
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(word) : "l"(address));
  }
  return word;
}

template <int bytes>
struct WordOf;
template <>
struct WordOf<16> {
  using type = uint4;
};
template <>
struct WordOf<8> {
  using type = unsigned long long;
};
template <>
struct WordOf<4> {
  using type = unsigned;
};
template <>
struct WordOf<2> {
  using type = unsigned short;
};
}  // namespace detail
#endif

/// What is read once and not again soon: all of it is evicted first.
template <class V>
AUTOSPMV_HD inline V load_stream(const V* address) {
#ifdef __CUDA_ARCH__
  return __ldcs(address);
#else
  return *address;
#endif
}

/// What a product reads of its matrix: once, and the next product again.
template <class V>
AUTOSPMV_HD inline V load_stream(const V* address, [[maybe_unused]] CachePolicy policy) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  V value;
  if constexpr (sizeof(V) == 1) {
    unsigned octet;
    asm volatile("ld.global.L1::evict_first.L2::cache_hint.u8 %0, [%1], %2;"
                 : "=r"(octet)
                 : "l"(address), "l"(policy.bits));
    value = static_cast<V>(octet);
  } else {
    const auto word = detail::load_word<typename detail::WordOf<sizeof(V)>::type>(address, policy);
    std::memcpy(&value, &word, sizeof value);
  }
  return value;
#elif defined(__CUDA_ARCH__)
  if constexpr (sizeof(V) == 1) {
    return __ldcs(address);
  } else {
    const auto word = __ldcs(reinterpret_cast<const typename detail::WordOf<sizeof(V)>::type*>(address));
    V value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
#else
  return *address;
#endif
}

/// x and small tables are read again and again: through the read-only path, where nobody writes them while a kernel
/// runs. Kernels that begin early run while those before them still do, and must not look before they have waited.
template <class V>
AUTOSPMV_HD inline V load_x(const V* address) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const auto word = detail::load_word<typename detail::WordOf<sizeof(V)>::type>(address);
  V value;
  std::memcpy(&value, &word, sizeof value);
  return value;
#elif defined(__CUDA_ARCH__)
  return __ldg(address);
#else
  return *address;
#endif
}

/// An address from which others are counted in 32 bits: the compiler cannot see how it came about, so it does not count
/// them from the beginning of the array in 64 bits.
template <class V>
AUTOSPMV_HD inline const V* rebased(const V* address) {
#ifdef __CUDA_ARCH__
  asm("" : "+l"(address));
#endif
  return address;
}

}  // namespace autospmv::formats
