// The steps of encoding that depend on where the arrays lie.
#pragma once

#include <span>

#include "formats/common/encoding/encoding.hpp"

namespace autospmv::formats {

/// The bit patterns of the values that are not +0.0, in no order.
struct DistinctValues {
  std::vector<std::uint64_t> patterns;  ///< of no use where there are too many
  bool too_many = false;
  bool zero = false;  ///< whether +0.0 is among them
};

// Each encoder returns whether every slot came through.
namespace host {
template <class T>
DistinctValues distinct_values(std::span<const T> values, const std::int32_t* columns);
bool narrow(std::span<const double> values, Array<float>& narrowed);
/// The dictionary is sorted by pattern from +0.0 on; every value is in it.
template <class T>
void index(std::span<const T> values, const std::vector<T>& dictionary, Array<std::uint8_t>& indices);
}  // namespace host

namespace cuda_steps {
template <class T>
DistinctValues distinct_values(std::span<const T> values, const std::int32_t* columns, Place place, Stream stream);
bool narrow(std::span<const double> values, Array<float>& narrowed, Stream stream);
/// In the memory of the device; nobody waits for it.
template <class T>
struct Dictionary {
  Array<T> table;               ///< sorted by pattern from +0.0 on; behind that, room for other values
  Array<std::int32_t> entries;  ///< how many it has; 0 where there are too many values
};
template <class T>
Dictionary<T> make_dictionary(std::span<const T> values, const std::int32_t* columns, Place place, Stream stream);
/// Of values that are all in it, if it has any.
template <class T>
bool index(std::span<const T> values, const Dictionary<T>& dictionary, Array<std::uint8_t>& indices, Stream stream);
template <class Distance>
bool shorten(const Array<std::int32_t>& columns, const SlotUnits& units, Array<Distance>& distances,
             Array<std::int32_t>& bases, Stream stream);
/// False where they need more octets than heads can tell apart.
bool store_by_chunk(const Array<std::int32_t>& columns, Array<ChunkHead>& heads, Array<std::uint8_t>& octets,
                    Stream stream);
}  // namespace cuda_steps

}  // namespace autospmv::formats
