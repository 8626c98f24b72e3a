// What users have who use no library: a loop over the rows of CSR.
#pragma once

#include "core/matrix/csr.hpp"

namespace autospmv {

/// Seconds of a product on the host by a loop that gives each thread as many rows and adds one term after another, from
/// a sample of the rows, with another vector for x. What the matrix takes longer from memory than from a cache is left
/// out, so that a product takes at least as long. 0 where it cannot be told.
template <class T>
double plain_loop_seconds(const CsrView<T>& matrix);

}  // namespace autospmv
