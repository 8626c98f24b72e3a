// Writers, by value in a kernel: what a conversion stores a slot with, in as few bytes as are kept in the end, so that
// neither columns nor values are written in full first. The counterparts of the readers in encoding.hpp.
#pragma once

#include <cstdint>
#include <limits>

#include "core/cuda/threads.cuh"
#include "core/machine/array.hpp"
#include "core/search.hpp"
#include "features/tally.hpp"
#include "formats/common/encoding/convert.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/encoding/slots.hpp"

namespace autospmv::formats::device {

/// What did not fit while slots were written.
struct Misfits {
  std::int32_t columns = 0;
  std::int32_t values = 0;
};

/// What was found once slots were written; waits for it.
inline Fit fit_of(const Array<Misfits>& misfits) {
  const auto found = misfits.to_vector().front();
  return found.values != 0 ? Fit::not_values : found.columns != 0 ? Fit::not_columns : Fit::all;
}

template <class V>
struct FullWriter {
  V* to;

  __device__ void put_two(std::int64_t slot, V first, V second) const {
    *reinterpret_cast<Two<V>*>(to + slot) = {first, second};
  }
};

/// Where there is nothing to store: one value, or columns that are there already.
struct NoWriter {
  template <class V>
  __device__ void put_two(std::int64_t /*slot*/, V /*first*/, V /*second*/) const {}
};

struct NarrowWriter {
  float* to;
  Misfits* misfits;

  __device__ void put_two(std::int64_t slot, double first, double second) const {
    if (!survives_float(first) || !survives_float(second)) misfits->values = 1;
    *reinterpret_cast<Two<float>*>(to + slot) = {static_cast<float>(first), static_cast<float>(second)};
  }
};

/// Every value is in the dictionary, if there is one.
template <class T>
struct DictionaryWriter {
  std::uint8_t* to;
  const T* table;
  const std::int32_t* entries;
  Misfits* misfits;

  [[nodiscard]] __device__ std::uint8_t index_of(T value, int count) const {
    const auto bits = bits_of(value);
    const auto at = partition_point(0, count - 1, [&](int entry) { return bits_of(load_x(table + entry)) < bits; });
    return static_cast<std::uint8_t>(at);
  }
  __device__ void put_two(std::int64_t slot, T first, T second) const {
    const int count = load_x(entries);
    if (count == 0) misfits->values = 1;
    *reinterpret_cast<Two<std::uint8_t>*>(to + slot) = {index_of(first, count), index_of(second, count)};
  }
};

/// A warp writes a unit, whose smallest column it finds first.
template <class Distance>
struct NearWriter {
  Distance* to;
  std::int32_t* bases;
  Misfits* misfits;
  unsigned base = 0;

  /// `least` is the smallest column that the lane will write, as an unsigned number.
  __device__ void open(std::int64_t unit, unsigned least) {
    base = cuda::least_of_warp(least);
    if (threadIdx.x % cuda::warp_size == 0) bases[unit] = static_cast<std::int32_t>(base);
  }
  [[nodiscard]] __device__ Distance distance_of(std::int32_t column) const {
    constexpr auto padding = std::numeric_limits<Distance>::max();
    if (column < 0) return padding;
    const unsigned distance = static_cast<unsigned>(column) - base;
    if (distance >= padding) misfits->columns = 1;
    return static_cast<Distance>(distance);
  }
  __device__ void put_two(std::int64_t slot, std::int32_t first, std::int32_t second) const {
    *reinterpret_cast<Two<Distance>*>(to + slot) = {distance_of(first), distance_of(second)};
  }
};

template <class Writer>
inline constexpr bool finds_base = requires(Writer writer) {
  writer.open(0, 0U);
};
/// That of a unit without columns.
inline constexpr unsigned no_column = 0x7fffffffU;

/// Calls body(columns, values) with the writers of slots that are not encoded, of the columns only where there is an
/// array for them.
template <class T, class Body>
void with_full_writers(Array<std::int32_t>& columns, Array<T>& values, const Body& body) {
  const FullWriter<T> to_values{values.data()};
  if (columns.empty()) return body(NoWriter{}, to_values);
  body(FullWriter<std::int32_t>{columns.data()}, to_values);
}

/// Makes room for so many slots of so many bits, and calls body(writer) for the values of the matrix; false, or a
/// misfit, where they need more bits.
template <class T, class Body>
[[nodiscard]] bool with_value_writer(EncodedValues<T>& encoded, const CsrView<T>& matrix, std::int64_t slots, int bits,
                                     Misfits* misfits, Place place, Stream stream, const Body& body) {
  const auto count = static_cast<std::size_t>(slots);
  if (bits == 0) {
    if (!encode_values_of(matrix, encoded, bits, place, stream)) return false;
    body(NoWriter{});
    return true;
  }
  encoded = {};
  encoded.bits = bits;
  if (bits == 8) {
    const std::span values(matrix.values, static_cast<std::size_t>(matrix.nnz));
    auto dictionary = cuda_steps::make_dictionary(values, nullptr, place, stream);
    encoded.table = std::move(dictionary.table);
    encoded.indices = Array<std::uint8_t>(count, place);
    body(DictionaryWriter<T>{encoded.indices.data(), encoded.table.data(), dictionary.entries.data(), misfits});
    return true;
  }
  if constexpr (full_value_bits < T >> 32) {
    if (bits == 32) {
      encoded.narrow = Array<float>(count, place);
      body(NarrowWriter{encoded.narrow.data(), misfits});
      return true;
    }
  }
  encoded.full = Array<T>(count, place);
  body(FullWriter<T>{encoded.full.data()});
  return true;
}

/// The same for columns in so many units.
template <class Body>
void with_column_writer(EncodedColumns& encoded, std::int64_t slots, std::int64_t units, int bits, Misfits* misfits,
                        Place place, const Body& body) {
  const auto count = static_cast<std::size_t>(slots);
  encoded = {};
  encoded.bits = bits;
  if (bits < full_column_bits) encoded.bases = Array<std::int32_t>(static_cast<std::size_t>(units), place);
  if (bits == 16) {
    encoded.words = Array<std::uint16_t>(count, place);
    return body(NearWriter<std::uint16_t>{encoded.words.data(), encoded.bases.data(), misfits});
  }
  if (bits == 8) {
    encoded.octets = Array<std::uint8_t>(count, place);
    return body(NearWriter<std::uint8_t>{encoded.octets.data(), encoded.bases.data(), misfits});
  }
  encoded.full = Array<std::int32_t>(count, place);
  body(FullWriter<std::int32_t>{encoded.full.data()});
}

}  // namespace autospmv::formats::device
