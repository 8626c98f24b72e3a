// Neighbouring elements that the host adds and multiplies at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/machine/simd.hpp"

namespace autospmv::formats {

/// As many as fill a register of 32 bytes, unless said otherwise: 4 or 8.
template <class T, int Size = 32 / sizeof(T)>
struct Pack {
  static constexpr int size = Size;
  typedef T Vector __attribute__((vector_size(Size * sizeof(T))));
  using Word = std::conditional_t<sizeof(T) == sizeof(float), std::int32_t, std::int64_t>;
  typedef Word Counts __attribute__((vector_size(Size * sizeof(T))));  ///< one for each element

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

  /// Makes zeros of all but the first `count`, whatever they are: infinities and NaNs too.
  AUTOSPMV_INLINE void keep(std::int64_t count) {
    Bits kept;
    std::memcpy(&kept, ones_and_zeros.data() + Size - count, sizeof kept);
    elements = (Vector)((Bits)elements & kept);
  }

  /// The same of all but those of which something is left.
  AUTOSPMV_INLINE void keep_where(const Counts& left) { elements = (Vector)((Bits)elements & (left > 0)); }

  [[nodiscard]] AUTOSPMV_INLINE T sum() const {
    T sums[Size];
    std::memcpy(sums, &elements, sizeof elements);
    for (int width = Size / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
    }
    return sums[0];
  }

 private:
  using Bits = Counts;

  // As many of each as a pack has.
  static constexpr auto ones_and_zeros = [] {
    std::array<Word, 2 * Size> words{};
    for (std::size_t i = 0; i < Size; ++i) words[i] = -1;
    return words;
  }();
};

}  // namespace autospmv::formats
