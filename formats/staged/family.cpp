#include "formats/staged/family.hpp"

#include <algorithm>

#include "formats/common/predict/walks.hpp"

namespace autospmv::formats {

// Blocks are given to threads as these become free; too few of them leave some idle.
double row_block_imbalance(double blocks, const Device& device) {
  return std::max(1.0, device.multiprocessors / std::max(1.0, blocks));
}

Walk walk_of_row_blocks(const Features& features, const RowBlockLimits& limits, double blocks,
                        double threads_of_block) {
  constexpr double steps_of_row = 0.5;
  // A block of several rows stages its products and waits for all of them before it adds them up.
  constexpr double steps_of_staging = 1;
  constexpr double waiting = 6;
  const double threads = std::max(1.0, blocks) * threads_of_block;
  const auto longest =
      static_cast<double>(limits.part > 0 ? std::min(limits.part, features.npr_max) : features.npr_max);
  const double steps =
      (static_cast<double>(features.nnz) + steps_of_row * static_cast<double>(features.rows)) / threads;
  // Two rows of more than two thirds of a block do not come together in one.
  const double staged = sum_over_rows(
      features, [&](double length) { return 1.5 * length <= static_cast<double>(limits.entries) ? length : 0; });
  const double share = staged / std::max(1.0, static_cast<double>(features.nnz));
  return {.threads = threads,
          .steps = steps + share * steps_of_staging,
          .longest = std::max(steps, longest / threads_of_block) + share * waiting};
}

}  // namespace autospmv::formats
