// The CUDA side of core/matrix/nonzeros.hpp.
#pragma once

#include <cstdint>

#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv::cuda {

void expand_rows(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, std::int32_t* row_of, Stream stream);

struct ByColumn {
  Array<std::uint32_t> nonzeros;
  Array<std::int64_t> first_of;  ///< cols + 1 offsets into them
};

/// All nonzeros, less than 2^32, in the order of their columns; those of one column in their own order.
ByColumn sort_by_column(const std::int32_t* col_idx, std::int64_t nnz, std::int64_t cols, Place place, Stream stream);

/// out[i] = from[source[i]], for size elements: values in another order, or x with its elements renumbered.
template <class T, class Index>
void gather(const T* from, const Index* source, T* out, std::int64_t size, Stream stream);

}  // namespace autospmv::cuda
