#include "features/longest_row.hpp"

#include <algorithm>

#include "core/machine/parallel.hpp"
#include "features/cuda/features.hpp"

namespace autospmv {

std::int64_t longest_row(RowOffsets row_ptr, std::int64_t rows, Place place) {
  if (rows == 0) return 0;
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::longest_row(row_ptr, rows, place);
  }
  return with_offsets(row_ptr, [&](const auto* offsets) {
    const auto longest_of = [&](Share share) {
      std::int64_t longest = 0;
      for (auto i = share.first; i < share.last; ++i) {
        longest = std::max<std::int64_t>(longest, offsets[i + 1] - offsets[i]);
      }
      return longest;
    };
    return parallel_reduce(rows, std::int64_t{0}, longest_of,
                           [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  });
}

}  // namespace autospmv
