// How much of a matrix stays in the L2 from one product to the next.
//
// A product reads its matrix once, from the first entry to the last. If all of its lines are loaded alike and do not
// fit, none of them is left when the next product comes to it: each was pushed out by those behind it. If all are
// marked to be evicted first, x is safe, and as little of the matrix stays; worse, such lines get no room among lines
// of any other kind, so that even a small matrix never settles in a cache that somebody else has filled. Hence a part
// of the lines, spread evenly, is loaded to stay, as much as there is room for, and the rest to be evicted first: the
// next product reads the one from the L2 and the other from memory, both at once.
//
// Source of the terms: NVIDIA, "PTX ISA", createpolicy and cache eviction priority hints.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/cuda/runtime.hpp"
#include "formats/common/kernels/loads.hpp"

namespace autospmv::formats {

/// The share of the L2 that may hold a matrix and its vectors. Less than half: where an L2 has two partitions, each
/// holds a copy of what the multiprocessors next to it read of the other's memory. Reading 35 to 400 MB again and again
/// on an H200, whose L2 has 63 MB, was fastest with 25 to 30 MB marked to stay.
inline constexpr double cache_share = 0.45;

/// For a product that reads so many bytes of a matrix, beside vectors of so many, through an L2 of so many.
inline CachePolicy share_cache(std::int64_t matrix_bytes, std::int64_t vector_bytes, std::int64_t cache_bytes) {
  const double room = cache_share * static_cast<double>(cache_bytes) - static_cast<double>(vector_bytes);
  const double kept = room / static_cast<double>(std::max<std::int64_t>(1, matrix_bytes));
  return CachePolicy::keeping(static_cast<int>(std::clamp(kept, 0.0, 1.0) * CachePolicy::all));
}

/// For a product on the current device that reads so many bytes of a matrix, beside x and y of so many elements of T.
template <class T>
CachePolicy policy_for(std::int64_t matrix_bytes, std::int64_t rows, std::int64_t cols) {
  return share_cache(matrix_bytes, (rows + cols) * static_cast<std::int64_t>(sizeof(T)), cuda::cache_bytes());
}

}  // namespace autospmv::formats
