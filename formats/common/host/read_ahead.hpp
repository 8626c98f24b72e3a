// Entries of a matrix that a product on the host is about to read.
#pragma once

#include <cstdint>

#include "core/machine/simd.hpp"
#include "formats/common/encoding/encoding.hpp"

namespace autospmv::formats {

/// How many entries ahead of those that it multiplies a product asks for, where it reads so many bytes; 0: none. A
/// processor that reads arrays in order fetches them ahead by itself, but not past the end of a page, only so far, and
/// into a cache that is not the nearest. What memory brings takes longer than what the last cache does; what the cache
/// of a core holds comes soon enough, floats from any cache too, and to ask takes time as well.
template <class T>
std::int64_t entries_ahead(std::int64_t bytes) {
  constexpr std::int64_t most_in_cache_of_core = std::int64_t{1} << 20;
  constexpr std::int64_t most_in_caches = std::int64_t{5} << 20;
  if (bytes > most_in_caches) return 512;
  return bytes > most_in_cache_of_core && sizeof(T) == sizeof(double) ? 128 : 0;
}

/// Asks for `count` elements of an array, so many ahead of these.
template <class V>
AUTOSPMV_INLINE void read_ahead(const V* first, std::int64_t count, std::int64_t ahead) {
  constexpr std::int64_t line = 64;
  constexpr std::int64_t size = sizeof(V);
  // Where there is nothing any more, nothing happens.
  const auto* const from = reinterpret_cast<const char*>(first) + ahead * size;
  for (std::int64_t i = 0; i < count * size; i += line) __builtin_prefetch(from + i);
}

/// The same of the slots [slot, slot + count).
template <class T>
AUTOSPMV_INLINE void read_ahead(const FullValues<T>& values, std::int64_t slot, std::int64_t count,
                                std::int64_t ahead) {
  read_ahead(values.values + slot, count, ahead);
}
template <class T>
AUTOSPMV_INLINE void read_ahead(const NarrowValues<T>& values, std::int64_t slot, std::int64_t count,
                                std::int64_t ahead) {
  read_ahead(values.values + slot, count, ahead);
}
template <class T>
AUTOSPMV_INLINE void read_ahead(const DictionaryValues<T>& values, std::int64_t slot, std::int64_t count,
                                std::int64_t ahead) {
  read_ahead(values.indices + slot, count, ahead);
}
template <class T>
AUTOSPMV_INLINE void read_ahead(const OneValue<T>& /*value*/, std::int64_t /*slot*/, std::int64_t /*count*/,
                                std::int64_t /*ahead*/) {}
AUTOSPMV_INLINE void read_ahead(const FullColumns& columns, std::int64_t slot, std::int64_t count, std::int64_t ahead) {
  read_ahead(columns.columns + slot, count, ahead);
}

}  // namespace autospmv::formats
