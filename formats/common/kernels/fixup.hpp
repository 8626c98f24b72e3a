// What the parameter "fixup" of formats that cut nonzeros in equal shares (formats/common/kernels/equal_shares.hpp) may
// be, and what it costs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "formats/common/kernels/equal_shares.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

inline std::vector<std::int64_t> all_fixups() { return {1, 2, 3}; }

inline bool deterministic_fixup(const Params& params, const Device& device) {
  return device.backend == Backend::host || params.find("fixup") != static_cast<std::int64_t>(Fixup::atomics);
}

/// What is worth trying: one kernel where launches are what takes the time. One that is deterministic is always there.
inline std::vector<std::int64_t> fixups_for(const Features& features) {
  constexpr std::int64_t launch_bound_below = 50'000;  // nonzeros
  if (features.nnz < launch_bound_below) return {3, 1};
  return {1, 2};
}

/// Rows of more than so many nonzeros, from the histogram.
inline double rows_longer_than(const Features& features, std::int64_t length) {
  double rows = 0;
  for (int bin = 1; bin < npr_bins; ++bin) {
    if ((std::int64_t{1} << (bin - 1)) > length) {
      rows += static_cast<double>(features.npr_histogram[static_cast<std::size_t>(bin)]);
    }
  }
  return std::max(rows, features.npr_max > length ? 1.0 : 0.0);
}

/// Adds launches and imbalance of `crossings` rows that are cut.
inline void add_fixup(const Features& features, const Cut& cut, double crossings, Cost& cost) {
  if (crossings == 0) return;
  const double nnz = std::max(1.0, static_cast<double>(features.nnz));
  if (cut.fixup != Fixup::last_block) cost.launches += 1;
  if (cut.fixup == Fixup::atomics) {
    // Additions to one element of y wait for each other, about 1 ns each; so many nonzeros are streamed meanwhile.
    constexpr double streamed_meanwhile = 300;
    const double additions = static_cast<double>(features.npr_max) / static_cast<double>(cut.share);
    cost.imbalance = std::max(cost.imbalance, additions * streamed_meanwhile / nnz);
  }
  if (cut.fixup == Fixup::last_block) {
    // One block takes 256 rows at a time, each time as long as these are streamed by all.
    constexpr double rows_at_once = 256;
    constexpr double streamed_meanwhile = 500'000;
    const double rounds = std::max(0.0, crossings / rows_at_once - 1);
    cost.imbalance += rounds * streamed_meanwhile / nnz;
  }
}

}  // namespace autospmv::formats
