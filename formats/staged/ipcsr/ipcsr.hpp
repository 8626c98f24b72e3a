// ipcsr: CSR in one kernel, a block of threads a block of rows. A block has at most as many rows as threads, and at
// most SHARED_SIZE nonzeros, whose products it stages in shared memory, read coalesced whatever the rows are.
//
//   SHARED_SIZE = 6, four threads
//   rows         a b | c d | e   ||  f g h i j k l        two blocks: the second is one long row
//   staged       ax bx cx dx ex      none
//   threads      one a row           all, each fx + jx, gx + kx, ...; their sums are added
//
// The decision tree of Figure 1 gives a row the largest power of two of threads that the block has for each of its
// rows. A row alone in its block is summed by all threads, staging nothing, also where it would fit.
//
// `form` 0 is the paper's own: a product at a time and thread, sums of threads in shared memory, one block a long row.
// 1 and 2 are the paper's blocks of rows by the kernel that csr_adaptive has too, formats/staged/storage.hpp: 1 has
// eight nonzeros of a thread in flight and sums by shuffles, without bank conflicts; rows much longer than their
// block's others get a warp, and several blocks share a row of more than four SHARED_SIZE. 2 reads 16 bytes a thread as
// well.
//
// SHARED_SIZE is what equation (3) says for 128, 256 and 512 threads on the device at hand, and half of the least of
// these. On the host, where one thread takes a block of rows by csr_adaptive's kernel, it is what its caches hold.
//
// Source: Gao, Qi, He, "Efficient CSR-based sparse matrix-vector multiplication on GPU", 2016, Algorithms 3 to 9,
// Figure 1, equation (3). There, Algorithm 9 takes a block of several rows that is full to the last place for a long
// row; here, it is long if it is one row. Algorithm 4 runs over all rows; formats/staged/row_blocks.hpp says how it is
// run here.
#pragma once

#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "formats/staged/row_blocks.hpp"

namespace autospmv::formats::ipcsr {

inline constexpr int paper_form = 0;
inline constexpr int shuffle_form = 1;
inline constexpr int wide_form = 2;

/// Equation (3): the products that a block of so many threads may stage where as many blocks as fit are to run at once,
/// less what CUDA and the kernel keep of their shared memory, and the gaps.
template <class T>
std::int64_t shared_size(int threads, const Device& device);

namespace device {
/// The paper's own form.
template <class T>
void multiply(const CsrView<T>& matrix, const RowBlocks& blocks, int threads, T alpha, const T* x, T beta, T* y,
              Stream stream);
}  // namespace device

}  // namespace autospmv::formats::ipcsr
