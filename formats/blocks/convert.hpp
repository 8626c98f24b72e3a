// The steps of a conversion to blocks that depend on where it happens.
#pragma once

#include "formats/blocks/storage.hpp"
#include "formats/common/encoding/absent.hpp"

namespace autospmv::formats {

/// Which blocks hold nonzeros.
struct BlockPattern {
  Array<std::int32_t> block_ptr;      ///< block rows + 1 offsets
  Array<std::int32_t> block_columns;  ///< increasing within each block row
  bool sorted_rows = false;           ///< CUDA: whether the columns of every row of the matrix increase
};

inline constexpr std::int64_t most_blocks = max_narrow_nnz;

inline Refusal refuse_block_count() { return Refusal{"blocks: 2^31 or more"}; }

namespace host {

/// Refuses 2^31 blocks.
template <class T>
Result<BlockPattern> find_blocks(const CsrView<T>& matrix, const BlockLayout& layout);

/// slice_chunks[s] = blocks of the longest block row of slice s; offsets come later.
template <class T>
void count_chunks(const BlockPattern& pattern, BlockMatrix<T>& blocks);

/// From one block row after another to slices: fills block_columns.
template <class T>
void place_blocks(const BlockPattern& pattern, BlockMatrix<T>& blocks);

/// Writes the values, not encoded; false where two nonzeros share a slot.
template <class T>
bool fill(const CsrView<T>& matrix, const BlockMatrix<T>& blocks, Array<T>& values);

template <class T>
void multiply(const BlockMatrix<T>& blocks, T alpha, const T* x, T beta, T* y);

}  // namespace host

namespace cuda_steps {

/// Refuses 2^31 blocks and duplicates.
template <class T>
Result<BlockPattern> find_blocks(const CsrView<T>& matrix, const BlockLayout& layout, Place place, Stream stream);
template <class T>
void count_chunks(const BlockPattern& pattern, BlockMatrix<T>& blocks, Stream stream);
template <class T>
void place_blocks(const BlockPattern& pattern, BlockMatrix<T>& blocks, Stream stream);
template <class T>
void fill(const CsrView<T>& matrix, const BlockMatrix<T>& blocks, Array<T>& values, Stream stream);

}  // namespace cuda_steps

}  // namespace autospmv::formats
