// pcsr: CSR in two kernels that read it coalesced whatever its rows are. The first writes the product of every nonzero
// to an array in memory; in the second, a block of threads takes as many rows as it has threads, brings their products
// to shared memory, SHARED_SIZE at a time, and every thread sums its own row of what is there.
//
//   rows         a b c | d e          products    ax bx cx dx ex
//   SHARED_SIZE  3                    staged      ax bx cx    thread 0 adds three, thread 1 none
//                                                 dx ex       thread 1 adds two
//
// The products are written and read once more than in any other format, which is what ipcsr improves upon. They are
// scratch memory: products that run at once take turns.
//
// Source: Gao, Liang, Wang, "Research on the conjugate gradient algorithm with a modified incomplete Cholesky
// preconditioner on GPU", 2014, as given in Gao, Qi, He, "Efficient CSR-based sparse matrix-vector multiplication on
// GPU", 2016, Algorithms 1 and 2. There, Algorithm 2 writes y once for every portion; here, once at the end.
#pragma once

#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv::formats::pcsr {

struct Shape {
  int block = 256;               ///< threads a block, rows a block
  std::int64_t shared_size = 0;  ///< products that are staged at once
  int multiprocessors = 1;       ///< what the first kernel's threads are spread over
};

namespace device {
template <class T>
void multiply(const CsrView<T>& matrix, const Shape& shape, T* products, T alpha, const T* x, T beta, T* y,
              Stream stream);
}  // namespace device

}  // namespace autospmv::formats::pcsr
