// csr_gathered: CSR in which the column of each nonzero gives way to the element of x that it multiplies. A first
// kernel gathers x, a second one multiplies two arrays that lie side by side, T threads a row, with no indirection.
//
//   a . b     values     a b c d e        x = (1, 2, 3)
//   . c .     gathered   1 3 2 1 2
//   d e .     row_ptr    0 2 3 5
//
// The gathered elements are scratch memory of every product. On the host they are gathered in strips that stay in the
// first-level cache. Where the columns are 0, 1, 2 ... in the order of the nonzeros, x is gathered as it is, and the
// first kernel is left out: what is left then is the product that the paper times.
// Source: Yin, Zhang, Xu, Hu, He, "Optimizing sparse matrix-vector multiplication based on GPU", 2012, 3.1 and table
// III: CSR-M, there with a warp or (5.1) half a warp a row and reductions in shared memory, which are shuffles here.
#pragma once

#include <cstdint>
#include <memory>

#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "formats/format.hpp"

namespace autospmv::formats::csr_gathered {

struct Shape {
  int threads = 16;  ///< a row: a power of two up to 32
  int block = 256;   ///< CUDA: threads a block
};

namespace device {
/// An operator that refers to the arrays of the matrix and owns the gathered elements of x.
template <class T>
std::unique_ptr<Operator<T>> make_operator(const CsrView<T>& matrix, const Shape& shape, Place place);
}  // namespace device

}  // namespace autospmv::formats::csr_gathered
