// Slots without a nonzero, where no index marks them: they hold +0.0, bit for bit, and are never multiplied by x, which
// may be infinite there. A stored nonzero that is +0.0 is kept as -0.0, which multiplies alike, except for the sign of
// a result that is zero.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/error.hpp"
#include "core/machine/host_device.hpp"

namespace autospmv::formats {

/// The integer as wide as T, for its bit pattern.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

template <class T>
AUTOSPMV_HD constexpr BitsOf<T> pattern_of(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}

template <class T>
AUTOSPMV_HD constexpr bool is_absent(T value) {
  return pattern_of(value) == 0;
}

/// What a slot holds for a nonzero of this value.
template <class T>
AUTOSPMV_HD constexpr T as_present(T value) {
  return is_absent(value) ? -T{0} : value;
}

/// Where a place of the matrix is a slot.
inline Refusal refuse_duplicates() { return {"duplicates: two nonzeros at one place have one slot between them"}; }

}  // namespace autospmv::formats
