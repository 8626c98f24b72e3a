#include "formats/common/encoding/encoding.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>

#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "features/tally.hpp"
#include "features/value_set.hpp"
#include "formats/common/encoding/convert.hpp"

namespace autospmv::formats {

namespace host {

template <class T>
DistinctValues distinct_values(std::span<const T> values, const std::int32_t* columns) {
  const auto size = static_cast<std::int64_t>(values.size());
  const auto read = [&](Share share) {
    ValueSet distinct;
    for (auto slot = share.first; slot < share.last && !distinct.over_cap(); ++slot) {
      const bool stored = columns == nullptr || columns[slot] >= 0;
      if (stored) distinct.insert(bits_of(values[static_cast<std::size_t>(slot)]));
    }
    return distinct;
  };
  const auto unite = [](ValueSet a, const ValueSet& b) {
    a.unite(b);
    return a;
  };
  const auto set = parallel_reduce(size, ValueSet{}, read, unite);
  return {set.patterns(), set.over_cap(), set.has_zero()};
}

bool narrow(std::span<const double> values, Array<float>& narrowed) {
  std::atomic<bool> exact{true};
  parallel_for(static_cast<std::int64_t>(values.size()), [&](std::int64_t i) {
    const auto slot = static_cast<std::size_t>(i);
    if (!survives_float(values[slot])) exact.store(false, std::memory_order_relaxed);
    narrowed[slot] = static_cast<float>(values[slot]);
  });
  return exact;
}

template <class T>
void index(std::span<const T> values, const std::vector<T>& dictionary, Array<std::uint8_t>& indices) {
  // Sorted by pattern from the first entry on.
  const auto less = [](T a, T b) { return bits_of(a) < bits_of(b); };
  parallel_for(static_cast<std::int64_t>(values.size()), [&](std::int64_t i) {
    const auto slot = static_cast<std::size_t>(i);
    const auto at = std::lower_bound(dictionary.begin(), dictionary.end(), values[slot], less);
    indices[slot] = static_cast<std::uint8_t>(at - dictionary.begin());
  });
}

}  // namespace host

namespace {

// Sorted by pattern from +0.0 on; empty where there are too many.
template <class T>
std::vector<T> dictionary_of(DistinctValues distinct) {
  if (distinct.too_many || distinct.patterns.size() > static_cast<std::size_t>(largest_dictionary)) return {};
  std::sort(distinct.patterns.begin(), distinct.patterns.end());
  std::vector<T> dictionary{T{0}};
  for (const auto pattern : distinct.patterns) dictionary.push_back(value_of_bits<T>(pattern));
  return dictionary;
}

// Values that lie at a place, those of slots whose column is negative left out.
template <class T>
struct Slots {
  std::span<const T> values;
  const std::int32_t* columns;
  Place place;
};

// Where they lie decides which of two functions runs; the steps are the same.
template <class T>
DistinctValues distinct_values(const Slots<T>& slots, [[maybe_unused]] Stream stream) {
  return on_backend(
      slots.place, [&] { return host::distinct_values(slots.values, slots.columns); },
      [&] { return cuda_steps::distinct_values(slots.values, slots.columns, slots.place, stream); });
}

// Pageable memory has been read when this returns.
template <class T>
void store(Array<T>& table, const std::vector<T>& values, Place place, Stream stream) {
  table = Array<T>(values.size(), place);
  table.assign(values, stream);
}

template <class T>
bool encode_constant(EncodedValues<T>& encoded, const Slots<T>& slots, Stream stream) {
  const auto distinct = distinct_values(slots, stream);
  const auto count = distinct.patterns.size() + (distinct.zero ? 1 : 0);
  if (distinct.too_many || count > 1) return false;
  const auto pattern = distinct.patterns.empty() ? std::uint64_t{0} : distinct.patterns.front();
  store(encoded.table, {value_of_bits<T>(pattern)}, slots.place, stream);
  return true;
}

template <class T>
bool encode_dictionary_on_host(EncodedValues<T>& encoded, const Slots<T>& slots) {
  auto dictionary = dictionary_of<T>(host::distinct_values(slots.values, slots.columns));
  if (dictionary.empty()) return false;
  host::index(slots.values, dictionary, encoded.indices);
  // Other values may need more of them, in the same place.
  dictionary.resize(static_cast<std::size_t>(largest_dictionary) + 1);
  store(encoded.table, dictionary, slots.place, {});
  return true;
}

template <class T>
bool encode_dictionary(EncodedValues<T>& encoded, const Slots<T>& slots, [[maybe_unused]] Stream stream) {
  encoded.indices = Array<std::uint8_t>(slots.values.size(), slots.place);
  return on_backend(
      slots.place, [&] { return encode_dictionary_on_host(encoded, slots); },
      [&] {
        auto dictionary = cuda_steps::make_dictionary(slots.values, slots.columns, slots.place, stream);
        const bool fits = cuda_steps::index(slots.values, dictionary, encoded.indices, stream);
        encoded.table = std::move(dictionary.table);
        return fits;
      });
}

bool encode_narrow(EncodedValues<double>& encoded, const Slots<double>& slots, [[maybe_unused]] Stream stream) {
  encoded.narrow = Array<float>(slots.values.size(), slots.place);
  return on_backend(
      slots.place, [&] { return host::narrow(slots.values, encoded.narrow); },
      [&] { return cuda_steps::narrow(slots.values, encoded.narrow, stream); });
}

// False, with nothing stored, where that would lose any.
template <class T>
bool encode_as(EncodedValues<T>& encoded, const Slots<T>& slots, int bits, Stream stream) {
  encoded = {};
  encoded.bits = bits;
  bool fits = false;
  if (bits == 0) fits = encode_constant(encoded, slots, stream);
  if (bits == 8) fits = encode_dictionary(encoded, slots, stream);
  if constexpr (full_value_bits < T >> 32) {
    if (bits == 32) fits = encode_narrow(encoded, slots, stream);
  }
  if (!fits) encoded = {};
  return fits;
}

template <class Distance>
bool shorten(const Array<std::int32_t>& columns, const SlotUnits& units, Array<Distance>& distances,
             Array<std::int32_t>& bases, [[maybe_unused]] Stream stream) {
  if constexpr (built_with_cuda) {
    if (columns.place().backend == Backend::host) return false;
    distances = Array<Distance>(columns.size(), columns.place());
    bases = Array<std::int32_t>(static_cast<std::size_t>(units.count), columns.place());
    return cuda_steps::shorten(columns, units, distances, bases, stream);
  }
  return false;
}

bool store_by_chunk(const Array<std::int32_t>& columns, Array<ChunkHead>& heads, Array<std::uint8_t>& octets,
                    [[maybe_unused]] Stream stream) {
  if constexpr (built_with_cuda) {
    return columns.place().backend == Backend::cuda && cuda_steps::store_by_chunk(columns, heads, octets, stream);
  }
  return false;
}

}  // namespace

template <class T>
bool encode(EncodedValues<T>& encoded, Array<T> values, int bits, const std::int32_t* columns, Stream stream) {
  if (bits == full_value_bits<T>) {
    encoded = {};
    encoded.full = std::move(values);
    return true;
  }
  return encode_as(encoded, Slots<T>{values.span(), columns, values.place()}, bits, stream);
}

template <class T>
bool encode_values_of(const CsrView<T>& matrix, EncodedValues<T>& encoded, int bits, Place place, Stream stream) {
  if (bits == full_value_bits<T>) return true;
  const std::span values(matrix.values, static_cast<std::size_t>(matrix.nnz));
  return encode_as(encoded, Slots<T>{values, nullptr, place}, bits, stream);
}

template <class T>
bool encode_one_value(EncodedValues<T>& encoded, const CsrView<T>& matrix) {
  const T one = matrix.nnz > 0 ? matrix.values[0] : T{0};
  const std::span values(matrix.values, static_cast<std::size_t>(matrix.nnz));
  const auto is_one = [&](Share share) {
    return are_all(
        values.subspan(static_cast<std::size_t>(share.first), static_cast<std::size_t>(share.last - share.first)), one);
  };
  if (parallel_reduce(matrix.nnz, 1, is_one, std::bit_and<>()) == 0) return false;
  encoded = {};
  encoded.bits = 0;
  store(encoded.table, {one}, Place{}, {});
  return true;
}

template <class T>
bool replace_values(EncodedValues<T>& encoded, Array<T> values, const std::int32_t* columns, Stream stream) {
  const auto place = values.place();
  EncodedValues<T> fresh;
  if (!encode(fresh, std::move(values), encoded.bits, columns, stream)) return false;
  const auto copy = [&](auto& to, const auto& from) {
    copy_bytes(to.data(), from.data(), static_cast<std::size_t>(from.bytes()), place, stream);
  };
  copy(encoded.full, fresh.full);
  copy(encoded.narrow, fresh.narrow);
  copy(encoded.indices, fresh.indices);
  copy(encoded.table, fresh.table);
  return true;
}

Refusal refuse_encoding(int value_bits) {
  return {"values: more than " + std::to_string(value_bits) + " bits are needed"};
}

std::optional<Refusal> refuse_column_bits(std::int64_t span, std::int64_t bits) {
  if (bits >= 32 || bits == columns_by_chunk || span <= largest_distance(bits)) return std::nullopt;
  return Refusal{"columns: they span " + std::to_string(span) + ", more than " + std::to_string(bits) + " bits hold"};
}

Refusal refuse_columns(const std::string& unit, std::int64_t bits) {
  if (bits == columns_by_chunk) return {"columns: chunks of them take more octets than can be counted"};
  return {"columns: a " + unit + " spans more than " + std::to_string(bits) + " bits"};
}

std::vector<std::int64_t> column_bits_for(std::int64_t span) {
  for (const std::int64_t bits : {8, 16}) {
    if (!refuse_column_bits(span, bits)) return {bits, 32};
  }
  return {32};
}

bool encode(EncodedColumns& encoded, Array<std::int32_t> columns, int bits, const SlotUnits& units, Stream stream) {
  encoded = {};
  bool fits = false;
  if (bits == 16) fits = shorten(columns, units, encoded.words, encoded.bases, stream);
  if (bits == 8) fits = shorten(columns, units, encoded.octets, encoded.bases, stream);
  if (bits == columns_by_chunk) fits = store_by_chunk(columns, encoded.heads, encoded.octets, stream);
  if (fits) {
    encoded.bits = bits;
    return true;
  }
  encoded = {};
  encoded.full = std::move(columns);
  return bits == 32;
}

#define AUTOSPMV_ENCODING(T)                                                                \
  template bool encode_values_of(const CsrView<T>&, EncodedValues<T>&, int, Place, Stream); \
  template bool encode(EncodedValues<T>&, Array<T>, int, const std::int32_t*, Stream);      \
  template bool encode_one_value(EncodedValues<T>&, const CsrView<T>&);                     \
  template bool replace_values(EncodedValues<T>&, Array<T>, const std::int32_t*, Stream);
AUTOSPMV_ENCODING(float)
AUTOSPMV_ENCODING(double)
#undef AUTOSPMV_ENCODING

}  // namespace autospmv::formats
