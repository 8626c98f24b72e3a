// bell: blocked ELLPACK (BELLPACK). Block rows in slices of C, each slice padded to its longest block row, or all
// padded to the longest of all as in the papers (C = 0). Values lie column by column over the rows of a slice, so that
// neighbouring threads, one a row, read neighbouring slots; the threads of a block row share its column indices.
//
//   r = c = 2, C = 2    a b . .        chunks of the slice    0             1
//                       c d . .        block_columns          0 0         | -1 1
//                       e f g h        values                 a c e i  b d f j | . . g .  . . h l
//                       i j . l
//
// Padding blocks have column -1. The blocked core: formats/blocks/storage.hpp.
// Source: Choi, Singh, Vuduc, "Model-driven autotuning of sparse matrix-vector multiply on GPUs", 2010, as
// surveyed by Vazquez, Ortega, Fernandez, Garzon, "Improving the performance of the sparse matrix vector product with
// GPUs", 2010, III.D, and Muhammed, Mehmood, Albeshri, Katib, "SURAA: a novel method and tool for loadbalanced and
// coalesced SpMV computations on GPUs", 2019, 3; there, block rows are sorted by length first.
#pragma once

#include "formats/blocks/storage.hpp"

namespace autospmv::formats::bell::device {

/// T threads a row: a power of two up to 8, each taking every T-th block.
template <class T>
void multiply(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
              Stream stream);

}  // namespace autospmv::formats::bell::device
