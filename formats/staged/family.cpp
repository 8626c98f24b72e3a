#include "formats/staged/family.hpp"

#include <algorithm>

#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/walks.hpp"

namespace autospmv::formats {

namespace {

// What so many blocks take, and the sums of parts where a row is cut.
template <class T>
double staged_rows_bytes(double blocks, const Features& features, const RowBlockLimits& limits, const Device& device) {
  const bool split = limits.part > 0 && features.npr_max > limits.part;
  const double counter = device.backend == Backend::cuda ? sizeof(std::uint32_t) : 0;
  return blocks * (sizeof(BlockStart) + (split ? sizeof(T) + counter : 0));
}

// How much longer than its share of the matrix the fullest thread of the host is busy with so many blocks. They are
// given to threads as these become free; too few of them leave some idle.
double row_block_imbalance(double blocks, const Device& device) {
  return std::max(1.0, device.multiprocessors / std::max(1.0, blocks));
}

// What the threads of so many blocks walk on a GPU: their nonzeros, then the rows that they add up from shared memory.
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

}  // namespace

template <class T>
Cost cost_of_row_blocks(const Features& features, const RowBlockLimits& limits, std::int64_t threads_of_block,
                        const Device& device) {
  const double blocks = expected_row_blocks(features, limits);
  Cost cost;
  cost.storage_bytes = staged_rows_bytes<T>(blocks, features, limits, device);
  cost.bytes = csr_bytes<T>(features.rows, features.nnz) + vector_bytes<T>(features) + cost.storage_bytes;
  if (device.backend == Backend::host) {
    cost.imbalance = row_block_imbalance(blocks, device);
    cost.work = work_of_rows(features, {.entry = 0.22, .row = 1.5});
  } else {
    cost.walk = walk_of_row_blocks(features, limits, blocks, static_cast<double>(threads_of_block));
  }
  return cost;
}

template Cost cost_of_row_blocks<float>(const Features&, const RowBlockLimits&, std::int64_t, const Device&);
template Cost cost_of_row_blocks<double>(const Features&, const RowBlockLimits&, std::int64_t, const Device&);

}  // namespace autospmv::formats
