// Numbers that look random and depend on nothing but a seed and a position: the same on host and device, for any
// number of threads.
#pragma once

#include <bit>
#include <cstdint>

#include "autospmv/stream.hpp"
#include "core/machine/device.hpp"
#include "core/machine/host_device.hpp"

namespace autospmv {

/// The finalizer of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
AUTOSPMV_HD constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

AUTOSPMV_HD constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t position) {
  return mix64(mix64(seed + 0x9e3779b97f4a7c15ULL) + (position + 1) * 0x9e3779b97f4a7c15ULL);
}

/// Uniform in [0, 1), 53 random bits.
AUTOSPMV_HD constexpr double random_unit(std::uint64_t seed, std::uint64_t position) {
  // As a signed integer, for which processors have an instruction.
  return static_cast<double>(static_cast<std::int64_t>(random_bits(seed, position) >> 11)) * 0x1p-53;
}

/// Uniform in +-[0.5, 1): full precision, no zero, nothing that underflows in a product. Without a branch, which a
/// processor would guess wrong every other time.
AUTOSPMV_HD constexpr double random_value(std::uint64_t seed, std::uint64_t position) {
  const double magnitude = 0.5 + 0.5 * random_unit(seed, position);
  const std::uint64_t sign = ~random_bits(seed, position) << 63;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | sign);
}

/// A vector of random values times a power of two, or those of one class of its positions, and zeros elsewhere. The
/// classes of one seed are about as large as each other, and each position is in one.
struct RandomVector {
  std::uint64_t seed = 0;
  double scale = 1;
  std::int64_t classes = 1;
  std::int64_t chosen = 0;

  bool operator==(const RandomVector&) const = default;
  [[nodiscard]] AUTOSPMV_HD constexpr double at(std::uint64_t position) const {
    const auto count = static_cast<std::uint64_t>(classes);
    if (count > 1 && random_bits(~seed, position) % count != static_cast<std::uint64_t>(chosen)) return 0;
    return scale * random_value(seed, position);
  }
};

/// Fills `size` elements in the memory of `place`, in the order of the stream.
template <class T>
void fill_random(T* data, std::int64_t size, const RandomVector& vector, Place place, Stream stream);

/// Elements [first, first + count) of the vector, on the host.
template <class T>
void draw_elements(const RandomVector& vector, std::int64_t first, std::int64_t count, T* elements);

/// Whether `size` elements on the host are, bit by bit, what fill_random() would make of them.
template <class T>
bool is_random(const T* data, std::int64_t size, const RandomVector& vector);

template <class T>
void fill_random(T* data, std::int64_t size, std::uint64_t seed, Place place, Stream stream) {
  fill_random(data, size, RandomVector{seed}, place, stream);
}

}  // namespace autospmv
