// What is read by launches of their own, where the first one could not.
#pragma once

#include <cstdint>

#include "features/cuda/workspace.hpp"
#include "features/tally.hpp"

namespace autospmv::cuda::reading {

/// Counts the blocks of the groups of sampled rows that were too long for the blocks of threads that shared them. At
/// most `most_steps` entries of a row lie in the blocks of one nonzero.
template <class Offset>
void count_long_groups(const Pattern<Offset>& pattern, const RowSample& sample, std::int64_t most_steps,
                       Workspace& work);

/// Reads again what was read as if the columns of every row were sorted.
template <class Offset>
void read_unsorted(const Pattern<Offset>& pattern, Workspace& work);

}  // namespace autospmv::cuda::reading
