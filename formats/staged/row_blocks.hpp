// Row blocks: neighbouring rows whose nonzeros one block of threads takes together.
//
//   row lengths  3 4 2 | 9 | 1 0 2 5 | 21              at most 10 nonzeros and 4 rows a block
//   starts       (row 0, entry 0) (3, 9) (4, 18) (8, 26) (9, 47)
//
// Rows are taken greedily, as many as fit; a row of more than the limit is alone. Where `part` is given, a row of more
// than that is cut into parts, each a start with the same row:  ... (8, 26) (8, 36) (8, 46) (9, 47)  for part = 10.
//
// The greedy partition of all rows is a chain as long as it has blocks. So rows are first cut into pieces of about
// eight blocks, by the work that rows and nonzeros make, and each piece is partitioned on its own: by one warp on a
// device, which looks for the end of a block with 32 probes at once. Pointer jumping would give the chain itself, at
// the price of several passes over all rows; pieces cost one block in sixteen, as their last ones are half full on
// average. Host and device find the same blocks.
//
// Source: Greathouse, Daga, "Efficient sparse matrix-vector multiplication on GPUs using the CSR storage format", 2014,
// 4.1; Gao, Qi, He, "Efficient CSR-based sparse matrix-vector multiplication on GPU", 2016, Algorithms 4 and 6.
#pragma once

#include <cstdint>

#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"
#include "features/features.hpp"

namespace autospmv::formats {

struct RowBlockLimits {
  std::int64_t entries = 0;  ///< of a block, unless it is a single row; at least 1
  std::int64_t rows = 0;     ///< of a block, at least 1
  std::int64_t part = 0;     ///< longer rows are cut into parts of so many entries; 0: never, else at least `entries`
};

/// Where a block begins; it ends where the next one begins.
struct alignas(16) BlockStart {
  std::int64_t row;
  std::int64_t entry;

  friend bool operator==(BlockStart, BlockStart) = default;
};

struct RowBlocks {
  RowBlockLimits limits;
  Array<BlockStart> starts;  ///< one more than there are blocks
  bool split = false;        ///< whether any row is cut into parts

  [[nodiscard]] std::int64_t count() const { return starts.empty() ? 0 : static_cast<std::int64_t>(starts.size()) - 1; }
  [[nodiscard]] std::int64_t bytes() const { return starts.bytes(); }
};

/// Partitions the rows; the offsets lie in the memory of `place`. Waits for the stream once on CUDA.
RowBlocks make_row_blocks(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, const RowBlockLimits& limits,
                          Place place, Stream stream);

/// About how many blocks a matrix gives, parts counted.
double expected_row_blocks(const Features& features, const RowBlockLimits& limits);

}  // namespace autospmv::formats
