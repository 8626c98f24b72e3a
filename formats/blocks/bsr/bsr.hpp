// bsr: blocked CSR (BCSR), the blocks of each block row one after another with one column index each. A matrix of full
// 3 x 3 blocks, as three unknowns a mesh node give, moves 76 bytes for nine nonzeros in double where CSR moves 108.
//
//   r = c = 2    a b . .        block_ptr      0 1 3
//                c d . .        block_columns  0 | 0 1
//                e f g h        values         a c b d | e i f j | g . h l
//                i j . l
//
// The blocked core with slices of one block row: formats/blocks/storage.hpp.
// Source: Choi, Singh, Vuduc, "Model-driven autotuning of sparse matrix-vector multiply on GPUs", 2010, as
// surveyed by Muhammed, Mehmood, Albeshri, Katib, "SURAA: a novel method and tool for loadbalanced and coalesced SpMV
// computations on GPUs", 2019, 3.
#pragma once

#include "formats/blocks/storage.hpp"

namespace autospmv::formats::bsr::device {

/// T lanes a block row, one of AUTOSPMV_BSR_LANES: see lanes_of_row.
template <class T>
void multiply(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
              Stream stream);
/// For blocks of c columns. Each in a file of its own: CUDA loads all kernels of a file before the first of them runs.
template <int c, class T>
void multiply_columns(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
                      Stream stream);

}  // namespace autospmv::formats::bsr::device

namespace autospmv::formats::bsr {

/// Values of T: several block rows a warp, two or so, one.
#define AUTOSPMV_BSR_LANES 4, 16, 32

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

/// Columns of a block that one lane takes: two where a warp has too few lanes for the block, or would leave more than a
/// quarter of them idle that an even number of columns can take.
template <class T>
constexpr int columns_of_lane(int r, int c) {
  const int lanes = lanes_of_column<T>(r) * c;
  return lanes > 32 || (32 % lanes > 8 && c % 2 == 0) ? 2 : 1;
}

template <class T>
constexpr int lanes_of_block(int r, int c) {
  const int columns = columns_of_lane<T>(r, c);
  return lanes_of_column<T>(r) * ((c + columns - 1) / columns);
}

/// Of a block row: as many of T lanes as hold whole blocks, and one block at least.
template <class T>
constexpr int lanes_of_row(int r, int c, int threads) {
  const int lanes = lanes_of_block<T>(r, c);
  return threads > lanes ? threads / lanes * lanes : lanes;
}

}  // namespace autospmv::formats::bsr
