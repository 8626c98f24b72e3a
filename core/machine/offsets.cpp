#include "core/machine/offsets.hpp"

#include "core/cuda/algorithms.hpp"
#include "core/machine/on_backend.hpp"

namespace autospmv {

namespace {

std::int64_t offsets_on_host(Array<std::int32_t>& counts) {
  std::int64_t total = 0;
  for (auto& count : counts.span().first(counts.size() - 1)) {
    const std::int64_t here = count;
    count = static_cast<std::int32_t>(total);
    total += here;
  }
  counts[counts.size() - 1] = static_cast<std::int32_t>(total);
  return total;
}

}  // namespace

std::int64_t offsets_from_counts(Array<std::int32_t>& counts, [[maybe_unused]] Stream stream) {
  return on_backend(
      counts.place(), [&] { return offsets_on_host(counts); },
      [&] {
        // Summed in 64 bits first: the offsets themselves could overflow without a sign of it.
        const auto size = static_cast<std::int64_t>(counts.size());
        const auto total = cuda::sum_wide(counts.data(), size - 1, counts.place(), stream);
        cuda::exclusive_scan(counts.data(), counts.data(), size, counts.place(), stream);
        return total;
      });
}

}  // namespace autospmv
