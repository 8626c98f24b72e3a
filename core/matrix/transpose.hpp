// The transposed matrix in CSR: its rows are the columns of the matrix.
//
//   a b .     row_ptr  0 2 3 5     transposed  a . d     row_ptr  0 2 4 5
//   . . c     col_idx  0 1 2 0 1               b . e     col_idx  0 2 0 2 1
//   d e .     values   a b c d e               . c .     values   a d b e c     source  0 3 1 4 2
#pragma once

#include <cstdint>

#include "autospmv/stream.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv {

/// The pattern of a transposed matrix, and where its values come from. Rows hold their nonzeros in the order of the
/// columns; repeated ones in the order that they had.
struct TransposedPattern {
  Array<std::int32_t> narrow_offsets;
  Array<std::int64_t> wide_offsets;  ///< instead, where there are more nonzeros than 32 bits count
  Array<std::int32_t> col_idx;
  Array<std::uint32_t> source;  ///< the nonzero of the matrix that each of these is

  [[nodiscard]] RowOffsets row_ptr() const;
};

/// Of a matrix that lies at `place`; complete when this returns. Throws Unsupported for 2^32 nonzeros and more,
/// OutOfMemory.
TransposedPattern transpose(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                            const std::int32_t* col_idx, Place place);

/// to[k] = from[source[k]] for all of them, all in the memory of `place`, in the order of the stream.
template <class T>
void permute(const T* from, const Array<std::uint32_t>& source, T* to, Place place, Stream stream);

}  // namespace autospmv
