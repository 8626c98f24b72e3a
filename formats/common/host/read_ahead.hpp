// Entries of a matrix that a product on the host is about to read.
#pragma once

#include <cstdint>

#include "core/machine/simd.hpp"
#include "formats/common/encoding/encoding.hpp"

namespace autospmv::formats {

/// Whether to ask for entries ahead, where a product reads so many bytes of them. A processor that reads arrays in
/// order fetches them ahead by itself, but not past the end of a page, and only so far: of what no cache near it holds,
/// it waits for some. What a cache holds comes soon enough, and to ask for it takes time as well.
inline bool is_read_ahead(std::int64_t bytes) {
  constexpr std::int64_t most_in_caches = std::int64_t{5} << 20;
  return bytes > most_in_caches;
}

/// Asks for what comes a while after `count` elements of an array.
template <class V>
AUTOSPMV_INLINE void read_ahead(const V* first, std::int64_t count) {
  // So many take as long as memory does.
  constexpr std::int64_t entries_ahead = 512;
  constexpr std::int64_t line = 64;
  constexpr std::int64_t size = sizeof(V);
  // Where there is nothing any more, nothing happens.
  const auto* const from = reinterpret_cast<const char*>(first) + entries_ahead * size;
  for (std::int64_t i = 0; i < count * size; i += line) __builtin_prefetch(from + i);
}

/// The same of the slots [slot, slot + count).
template <class T>
AUTOSPMV_INLINE void read_ahead(const FullValues<T>& values, std::int64_t slot, std::int64_t count) {
  read_ahead(values.values + slot, count);
}
template <class T>
AUTOSPMV_INLINE void read_ahead(const NarrowValues<T>& values, std::int64_t slot, std::int64_t count) {
  read_ahead(values.values + slot, count);
}
template <class T>
AUTOSPMV_INLINE void read_ahead(const DictionaryValues<T>& values, std::int64_t slot, std::int64_t count) {
  read_ahead(values.indices + slot, count);
}
template <class T>
AUTOSPMV_INLINE void read_ahead(const OneValue<T>& /*value*/, std::int64_t /*slot*/, std::int64_t /*count*/) {}
AUTOSPMV_INLINE void read_ahead(const FullColumns& columns, std::int64_t slot, std::int64_t count) {
  read_ahead(columns.columns + slot, count);
}

}  // namespace autospmv::formats
