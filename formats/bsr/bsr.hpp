// bsr: blocked CSR (BCSR), the blocks of each block row one after another with one column index each. A matrix of full
// 3 x 3 blocks, as three unknowns a mesh node give, moves 76 bytes for nine nonzeros in double where CSR moves 108.
//
//   r = c = 2    a b . .        block_ptr      0 1 3
//                c d . .        block_columns  0 | 0 1
//                e f g h        values         a c b d | e i f j | g . h l
//                i j . l
//
// The blocked core with slices of one block row: formats/common/blocks.hpp.
// Source: Choi, Singh, Vuduc, "Model-driven autotuning of sparse matrix-vector multiply on GPUs", 2010, as
// surveyed by Muhammed, Mehmood, Albeshri, Katib, "SURAA: a novel method and tool for loadbalanced and coalesced SpMV
// computations on GPUs", 2019, 3.
#pragma once

#include "formats/common/blocks.hpp"

namespace autospmv::formats::bsr {

/// How a CUDA product goes from a round of loads to the next: `form`.
enum class Form : int {
  whole = 0,    ///< rounds of eight values a lane while there are whole ones, then a step at a time
  checked = 1,  ///< each step of a round is compared with the end, so that the last round is one as well
  ahead = 2,    ///< checked rounds of four values, each asked for before the one before it is used
  handed = 3    ///< checked; the lanes read the block columns of a round side by side, one round ahead, and share them
};

}  // namespace autospmv::formats::bsr

namespace autospmv::formats::bsr::device {

/// Up to T lanes a block row, a power of two up to a warp, as many as hold whole blocks: see lanes_of_block.
template <class T>
void multiply(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
              Stream stream);

}  // namespace autospmv::formats::bsr::device

namespace autospmv::formats::bsr {

/// Rows of a block that one lane loads at once: as many as 16 bytes hold, where they divide r.
template <class T>
constexpr int rows_of_lane(int r) {
  int rows = 16 / static_cast<int>(sizeof(T));
  while (r % rows != 0) rows /= 2;
  return rows;
}

template <class T>
constexpr int lanes_of_column(int r) {
  return r / rows_of_lane<T>(r);
}

/// Columns of a block that one lane takes: two where a warp has too few lanes for the block.
template <class T>
constexpr int columns_of_lane(int r, int c) {
  return lanes_of_column<T>(r) * c > 32 ? 2 : 1;
}

template <class T>
constexpr int lanes_of_block(int r, int c) {
  const int columns = columns_of_lane<T>(r, c);
  return lanes_of_column<T>(r) * ((c + columns - 1) / columns);
}

}  // namespace autospmv::formats::bsr
