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
        return cuda::offsets_from_counts(counts.data(), static_cast<std::int64_t>(counts.size()), counts.place(),
                                         stream);
      });
}

}  // namespace autospmv
