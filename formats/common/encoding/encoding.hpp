// Encodings: columns and values in fewer bytes than CSR spends on them, given back bit for bit. They know nothing of
// the layout: a format stores one column and one value a slot, in whatever order, and reads them back through the
// readers below.
//
//   value_bits    64, 32 (the width of T)  as they are
//                 32 (of double)           as float, where every value survives double -> float -> double
//                 8                        as an index into a dictionary of up to 255 values; index 0 is +0.0
//                 0                        not at all: every value is the same one
//   column_bits   32                       as they are
//                 16, 8                    as the distance from the smallest column of a unit: of slots that lie
//                                          together
//                 0                        by chunk, of 32 slots that a warp reads at once: as the distance from the
//                                          smallest, in 8, 16 or 32 bits, whichever hold it
//
// Padding is a slot whose column is -1; in the shorter encodings, the largest distance stands for it. Rows that run
// alike, those of a mesh, meet near columns in each chunk, however far apart chunks are. All chunks whose columns count
// up from slot to slot, as those of a diagonal do, have the same distances, which are stored once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"
#include "features/features.hpp"
#include "formats/common/kernels/loads.hpp"
#include "formats/sizes.hpp"

namespace autospmv::formats {

// ---- Values

/// The bits of values in a layout, where 64 stands for those of T.
template <class T>
constexpr int value_bits_of(int bits) {
  return std::min(bits, full_value_bits<T>);
}

/// What to say of values that turn out to need more.
Refusal refuse_encoding(int value_bits);

template <class T>
struct EncodedValues {
  int bits = full_value_bits<T>;
  Array<T> full;
  Array<float> narrow;
  Array<std::uint8_t> indices;
  Array<T> table;  ///< room for the largest dictionary, or the one value

  [[nodiscard]] bool in_full() const { return bits == full_value_bits<T>; }
  [[nodiscard]] std::int64_t bytes() const { return full.bytes() + narrow.bytes() + indices.bytes() + table.bytes(); }
};

/// Stores values in so many bits; false, with nothing stored, where that would lose any. Slots whose column is negative
/// hold no value; without columns, every slot does. Waits for the stream unless the values stay in full.
template <class T>
[[nodiscard]] bool encode(EncodedValues<T>& encoded, Array<T> values, int bits, const std::int32_t* columns,
                          Stream stream);

/// On the host: stores the one value that all entries of the matrix have, which no slot has to be written for; false,
/// with nothing stored, where they have several.
template <class T>
[[nodiscard]] bool encode_one_value(EncodedValues<T>& encoded, const CsrView<T>& matrix);

/// Stores other values for the same slots, in as many bits, where those before them lie; false, with nothing changed,
/// where that would lose any. On the setup stream, in whose order the memory of `values` is released.
template <class T>
[[nodiscard]] bool replace_values(EncodedValues<T>& encoded, Array<T> values, const std::int32_t* columns,
                                  Stream stream);

/// The same in the order of any stream. fill(values, stream) writes all slots: in full, the very array that products
/// read; in fewer bits, one to be encoded, in which case the host waits.
template <class T, class Fill>
[[nodiscard]] bool refill_values(EncodedValues<T>& encoded, std::size_t slots, const std::int32_t* columns, Place place,
                                 Stream stream, const Fill& fill) {
  if (encoded.in_full()) {
    fill(encoded.full, stream);
    return true;
  }
  // Encoding waits anyway; a stream that is being captured must not draw the setup stream into its graph.
  synchronize(place, stream);
  const auto setup = setup_stream(place);
  Array<T> values(slots, place);
  fill(values, setup);
  const bool fits = replace_values(encoded, std::move(values), columns, setup);
  order_after(place, stream, setup);
  return fits;
}

/// Encodes the values of a matrix, whose own array stands for those in full; false where they need more bits. On the
/// setup stream.
template <class T>
[[nodiscard]] bool encode_values_of(const CsrView<T>& matrix, EncodedValues<T>& encoded, int bits, Place place,
                                    Stream stream);

/// Takes other values of the same matrix; false where they need more bits. In the order of any stream.
template <class T>
[[nodiscard]] bool replace_values_of(const CsrView<T>& matrix, EncodedValues<T>& encoded, Place place, Stream stream) {
  if (encoded.in_full()) return true;
  return refill_values(encoded, static_cast<std::size_t>(matrix.nnz), nullptr, place, stream,
                       [&](Array<T>& values, Stream on) {
                         copy_bytes(values.data(), matrix.values, static_cast<std::size_t>(values.bytes()), place, on);
                       });
}

/// Every choice of value_bits.
template <class T>
std::vector<std::int64_t> all_value_bits() {
  if constexpr (full_value_bits < T >> 32) return {0, 8, 32, full_value_bits<T>};
  return {0, 8, 32};
}

// ---- Columns

/// Slots of a chunk, the threads of a warp.
inline constexpr int chunk_slots = 32;

/// Where the distances of a chunk lie, and how. Made for the product, which finds what it needs of a kind in one of the
/// octets of a constant, by a shift that the lowest bits of `place` say.
struct alignas(8) ChunkHead {
  enum Kind : std::uint32_t { octets, words, full };

  std::int32_t first = 0;   ///< the column that distances count from
  std::uint32_t place = 0;  ///< the first octet, a multiple of 32, and 8 times the kind

  /// What all distances may take, so that a lane's are found in 32 bits.
  static constexpr std::int64_t most_octets = (std::int64_t{1} << 32) - 256;

  [[nodiscard]] static AUTOSPMV_HD ChunkHead of(Kind kind, std::int32_t first, std::uint32_t first_octet) {
    return {first, first_octet | kind << 3};
  }
  [[nodiscard]] AUTOSPMV_HD Kind kind() const { return static_cast<Kind>(place >> 3 & 3); }
  [[nodiscard]] AUTOSPMV_HD std::uint32_t first_octet() const { return place & ~31U; }
  /// Octets of a distance.
  [[nodiscard]] static AUTOSPMV_HD std::uint32_t octets_of(Kind kind) { return 1U << kind; }
  /// The distance that stands for padding, and the mask of those that there are: no column is farther than 2^31 - 2.
  [[nodiscard]] static AUTOSPMV_HD std::uint32_t padding_of(Kind kind) {
    return kind == full ? 0x7fffffffU : kind == words ? 0xffffU : 0xffU;
  }
};

struct EncodedColumns {
  int bits = 32;
  Array<std::int32_t> full;
  Array<std::uint16_t> words;
  Array<std::uint8_t> octets;  ///< of 8 bits; or the distances of all chunks, first those that count up
  Array<std::int32_t> bases;   ///< smallest column of each unit
  Array<ChunkHead> heads;      ///< one a chunk

  [[nodiscard]] std::int64_t bytes() const {
    return full.bytes() + words.bytes() + octets.bytes() + bases.bytes() + heads.bytes();
  }
};

/// column_bits of columns that are stored as they are.
inline constexpr std::int64_t full_column_bits = 32;

/// column_bits of columns by chunk.
inline constexpr std::int64_t columns_by_chunk = 0;

/// Bits that the head of a chunk takes for each of its columns on CUDA.
inline constexpr double head_bits_on_cuda = 8.0 * sizeof(ChunkHead) / chunk_slots;

/// The largest distance within a unit that so many bits hold.
inline std::int64_t largest_distance(std::int64_t column_bits) { return (std::int64_t{1} << column_bits) - 2; }

/// Why columns of units that span so many columns cannot be stored in so many bits. By chunk they can, whatever they
/// span.
std::optional<Refusal> refuse_column_bits(std::int64_t span, std::int64_t bits);

/// What to say of columns that could not be encoded: those of a unit lie too far apart.
Refusal refuse_columns(const std::string& unit, std::int64_t bits);

/// The fewest bits for units of such a span, and 32: what is worth trying.
std::vector<std::int64_t> column_bits_for(std::int64_t span);

/// Slots that lie together: unit u holds [offsets[u] width, offsets[u + 1] width), or [u width, (u + 1) width) where
/// there are no offsets.
struct SlotUnits {
  const std::int32_t* offsets = nullptr;
  std::int64_t count = 0;
  std::int64_t width = 1;

  [[nodiscard]] AUTOSPMV_HD std::int64_t first_slot(std::int64_t unit) const {
    return (offsets == nullptr ? unit : offsets[unit]) * width;
  }
};

/// Stores columns in so many bits, less than all on a device only; or in full, and returns false, where a unit's lie
/// too far apart, or chunks are too many to be found. Waits for the stream unless the columns stay in full.
bool encode(EncodedColumns& encoded, Array<std::int32_t> columns, int bits, const SlotUnits& units, Stream stream);

// ---- Readers, by value in a kernel. open() comes first. from(slot) reads the slots from there on, so that a kernel
// counts the slots of its own part in 32 bits. two_at(slot) reads an even slot and the next one at once. Columns by
// chunk are read by whole warps: formats/common/kernels/chunks.cuh.

template <class V>
struct alignas(2 * sizeof(V)) Two {
  V first;
  V second;
};

template <class V>
[[nodiscard]] AUTOSPMV_HD inline Two<V> load_two(const V* values, std::int64_t slot, CachePolicy policy) {
  return load_stream(reinterpret_cast<const Two<V>*>(values + slot), policy);
}

template <class T>
struct FullValues {
  const T* values;
  CachePolicy policy{};

  AUTOSPMV_HD void open(CachePolicy chosen = {}) { policy = chosen; }
  [[nodiscard]] AUTOSPMV_HD FullValues from(std::int64_t slot) const { return {rebased(values + slot), policy}; }
  [[nodiscard]] AUTOSPMV_HD T at(std::int64_t slot) const { return load_stream(values + slot, policy); }
  [[nodiscard]] AUTOSPMV_HD Two<T> two_at(std::int64_t slot) const { return load_two(values, slot, policy); }
};

template <class T>
struct NarrowValues {
  const float* values;
  CachePolicy policy{};

  AUTOSPMV_HD void open(CachePolicy chosen = {}) { policy = chosen; }
  [[nodiscard]] AUTOSPMV_HD NarrowValues from(std::int64_t slot) const { return {rebased(values + slot), policy}; }
  [[nodiscard]] AUTOSPMV_HD T at(std::int64_t slot) const { return static_cast<T>(load_stream(values + slot, policy)); }
  [[nodiscard]] AUTOSPMV_HD Two<T> two_at(std::int64_t slot) const {
    const auto two = load_two(values, slot, policy);
    return {static_cast<T>(two.first), static_cast<T>(two.second)};
  }
};

template <class T>
struct DictionaryValues {
  const std::uint8_t* indices;
  const T* table;
  CachePolicy policy{};

  AUTOSPMV_HD void open(CachePolicy chosen = {}) { policy = chosen; }
  [[nodiscard]] AUTOSPMV_HD DictionaryValues from(std::int64_t slot) const {
    return {rebased(indices + slot), table, policy};
  }
  [[nodiscard]] AUTOSPMV_HD T at(std::int64_t slot) const {
    return load_x(table + load_stream(indices + slot, policy));
  }
  [[nodiscard]] AUTOSPMV_HD Two<T> two_at(std::int64_t slot) const {
    const auto two = load_two(indices, slot, policy);
    return {load_x(table + two.first), load_x(table + two.second)};
  }
};

template <class T>
struct OneValue {
  const T* table;
  T value{};

  // From memory, not with the kernel's arguments: a captured product must see new values.
  AUTOSPMV_HD void open(CachePolicy /*chosen*/ = {}) { value = load_x(table); }
  [[nodiscard]] AUTOSPMV_HD OneValue from(std::int64_t /*slot*/) const { return *this; }
  [[nodiscard]] AUTOSPMV_HD T at(std::int64_t /*slot*/) const { return value; }
  [[nodiscard]] AUTOSPMV_HD Two<T> two_at(std::int64_t /*slot*/) const { return {value, value}; }
};

/// Calls body(reader) with the reader of these values.
template <class T, class Body>
void with_values(const EncodedValues<T>& values, const Body& body) {
  if (values.bits == 0) return body(OneValue<T>{values.table.data()});
  if (values.bits == 8) return body(DictionaryValues<T>{values.indices.data(), values.table.data()});
  if constexpr (full_value_bits < T >> 32) {
    if (values.bits == 32) return body(NarrowValues<T>{values.narrow.data()});
  }
  body(FullValues<T>{values.full.data()});
}

/// Calls body(reader) with the reader of values that were encoded by encode_values_of().
template <class T, class Body>
void with_values_of(const CsrView<T>& matrix, const EncodedValues<T>& encoded, const Body& body) {
  if (encoded.in_full()) return body(FullValues<T>{matrix.values});
  with_values(encoded, body);
}

/// open() is called for every unit before its slots are read.
struct FullColumns {
  const std::int32_t* columns;
  CachePolicy policy{};

  AUTOSPMV_HD void open(std::int64_t /*unit*/, CachePolicy chosen = {}) { policy = chosen; }
  [[nodiscard]] AUTOSPMV_HD FullColumns from(std::int64_t slot) const { return {rebased(columns + slot), policy}; }
  [[nodiscard]] AUTOSPMV_HD std::int32_t at(std::int64_t slot) const { return load_stream(columns + slot, policy); }
  [[nodiscard]] AUTOSPMV_HD Two<std::int32_t> two_at(std::int64_t slot) const {
    return load_two(columns, slot, policy);
  }
};

template <class Distance>
struct NearColumns {
  const Distance* distances;
  const std::int32_t* bases;
  CachePolicy policy{};
  std::int32_t base = 0;

  AUTOSPMV_HD void open(std::int64_t unit, CachePolicy chosen = {}) {
    policy = chosen;
    base = load_x(bases + unit);
  }
  [[nodiscard]] AUTOSPMV_HD std::int32_t at(std::int64_t slot) const {
    return column_at(load_stream(distances + slot, policy));
  }
  [[nodiscard]] AUTOSPMV_HD Two<std::int32_t> two_at(std::int64_t slot) const {
    const auto two = load_two(distances, slot, policy);
    return {column_at(two.first), column_at(two.second)};
  }

 private:
  [[nodiscard]] AUTOSPMV_HD std::int32_t column_at(std::int32_t distance) const {
    constexpr std::int32_t padding = static_cast<Distance>(-1);
    return distance == padding ? -1 : base + distance;
  }
};

/// Calls body(reader) with the reader of columns that are not by chunk.
template <class Body>
void with_columns(const EncodedColumns& columns, const Body& body) {
  if (columns.bits == 8) return body(NearColumns<std::uint8_t>{columns.octets.data(), columns.bases.data()});
  if (columns.bits == 16) return body(NearColumns<std::uint16_t>{columns.words.data(), columns.bases.data()});
  body(FullColumns{columns.full.data()});
}

}  // namespace autospmv::formats
