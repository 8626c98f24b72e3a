// Scans, sorts and selections on the device, compiled once here so that a format's kernels compile fast, in a file for
// each: CUDA loads all kernels of a file before the first of them runs. All run in the order of the stream and take
// their scratch memory from the pool.
#pragma once

#include <cstdint>

#include "autospmv/stream.hpp"
#include "core/machine/array.hpp"

namespace autospmv::cuda {

/// out[i] = in[0] + ... + in[i - 1], for size elements; in and out may be the same.
template <class V>
void exclusive_scan(const V* in, V* out, std::int64_t size, Place place, Stream stream);

/// Counts, and room for one more number after the last, `size` of them in all, become offsets: each the sum of the
/// counts before it. Returns the sum of all, which may exceed 32 bits; waits for the stream.
std::int64_t offsets_from_counts(std::int32_t* counts, std::int64_t size, Place place, Stream stream);

/// Sorts the pairs by key, stably; only the lowest `key_bits` bits of the keys count.
template <class K, class V>
void sort_pairs(Array<K>& keys, Array<V>& values, int key_bits, Stream stream);

/// Writes the positions of the nonzero flags to `out`, in order, and returns how many; waits for the stream.
std::int64_t flagged_positions(const std::uint8_t* flags, std::int64_t size, std::int32_t* out, Place place,
                               Stream stream);

/// Reads one element of device memory; waits for the stream.
template <class V>
V read(const V* in, Stream stream);

}  // namespace autospmv::cuda
