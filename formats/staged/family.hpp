// What formats of staged rows have in common when they offer parameters and predict.
#pragma once

#include "formats/staged/storage.hpp"

namespace autospmv::formats {

/// A row that one block of threads would sum for longer than it takes for so many blocks of rows is cut into parts.
inline constexpr std::int64_t blocks_of_part = 4;

/// Of a product of CSR as it is by row blocks, on CUDA of so many threads each.
template <class T>
Cost cost_of_row_blocks(const Features& features, const RowBlockLimits& limits, std::int64_t threads_of_block,
                        const Device& device);

}  // namespace autospmv::formats
