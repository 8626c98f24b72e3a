// Slots that are written in the bits that are kept: what to say of those that need more, and how they take other
// values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/machine/array.hpp"
#include "formats/common/encoding/encoding.hpp"

namespace autospmv::formats {

/// Whether columns and values take no more bits than they were to.
enum class Fit : std::uint8_t { all, not_columns, not_values };

/// Takes other values of the same matrix: fill(columns, values, stream) writes every slot, of the columns only where
/// there is an array for them. False where they need more bits.
template <class T, class Fill>
[[nodiscard]] bool refill_slots(EncodedValues<T>& values, const EncodedColumns& columns, std::int64_t slots,
                                Place place, Stream stream, const Fill& fill) {
  const auto count = static_cast<std::size_t>(slots);
  // To encode values, it must be known which slots are padding; otherwise columns stay as they are.
  const bool in_full = columns.bits == full_column_bits;
  Array<std::int32_t> again;
  if (!in_full && !values.in_full()) again = Array<std::int32_t>(count, place);
  const auto* known = in_full ? columns.full.data() : again.data();
  return refill_values(values, count, known, place, stream, [&](Array<T>& to, Stream on) { fill(again, to, on); });
}

}  // namespace autospmv::formats
