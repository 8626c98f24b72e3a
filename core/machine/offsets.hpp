// Where the parts of an array begin, from how long each is.
#pragma once

#include <cstdint>

#include "autospmv/stream.hpp"
#include "core/machine/array.hpp"

namespace autospmv {

/// Counts, and room for one more number after the last, become offsets: each the sum of the counts before it. Returns
/// the sum of all, which may be past what the offsets can hold: they are of no use then. Waits for the stream where the
/// counts lie on a device.
std::int64_t offsets_from_counts(Array<std::int32_t>& counts, Stream stream);

}  // namespace autospmv
