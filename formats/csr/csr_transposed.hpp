// y = alpha A^T x + beta y from the CSR arrays of A, which takes no memory: rows are the columns of the transposed
// matrix, whose products are added to y one by one. For where there is no room for a plan; slow.
#pragma once

#include "autospmv/stream.hpp"
#include "core/machine/on_backend.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv::formats {

namespace host {
template <class T>
void multiply_transposed(const CsrView<T>& matrix, T alpha, const T* x, T beta, T* y);
}  // namespace host

namespace device {
/// By atomics: sums of one element come in any order.
template <class T>
void multiply_transposed(const CsrView<T>& matrix, T alpha, const T* x, T beta, T* y, Stream stream);
}  // namespace device

/// x has as many elements as the matrix has rows, y as it has columns; all of it lies in the memory of `place`.
template <class T>
void multiply_transposed(const CsrView<T>& matrix, T alpha, const T* x, T beta, T* y, Place place, Stream stream) {
  on_backend(
      place, [&] { host::multiply_transposed(matrix, alpha, x, beta, y); },
      [&] { device::multiply_transposed(matrix, alpha, x, beta, y, stream); });
}

}  // namespace autospmv::formats
