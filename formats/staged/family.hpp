// What formats of staged rows have in common when they offer parameters and predict.
#pragma once

#include "formats/common/predict/rules.hpp"
#include "formats/staged/storage.hpp"

namespace autospmv::formats {

/// A row that one block of threads would sum for longer than it takes for so many blocks of rows is cut into parts.
inline constexpr std::int64_t blocks_of_part = 4;

/// What so many blocks take, and the sums of parts where a row is cut.
template <class T>
double staged_rows_bytes(double blocks, const Features& features, const RowBlockLimits& limits, const Device& device) {
  const bool split = limits.part > 0 && features.npr_max > limits.part;
  const double counter = device.backend == Backend::cuda ? sizeof(std::uint32_t) : 0;
  return blocks * (sizeof(BlockStart) + (split ? sizeof(T) + counter : 0));
}

/// How much longer than its share of the matrix the fullest thread of the host is busy with so many blocks.
double row_block_imbalance(double blocks, const Device& device);

/// What the threads of so many blocks walk on a GPU: their nonzeros, then the rows that they add up from shared memory.
Walk walk_of_row_blocks(const Features& features, const RowBlockLimits& limits, double blocks, double threads_of_block);

}  // namespace autospmv::formats
