// The CUDA sides of core/verify/reference.hpp, core/verify/long_rows.hpp and core/verify/magnitude.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "core/verify/long_rows.hpp"
#include "core/verify/reference.hpp"

namespace autospmv::cuda {

template <class T>
void reference_product(const CsrView<T>& matrix, T alpha, const T* x, T beta, const T* y0, Reference& reference,
                       Place place, const Array<LongRow>& rows, std::int64_t longest);

template <class T>
Comparison compare(const Reference& reference, const T* y, Place place);

/// In order. Of rows whose columns do not increase, `repeats` is not known.
template <class T>
std::vector<LongRow> find_long_rows(const CsrView<T>& matrix, std::int64_t least, Place place);

template <class T>
double largest_magnitude(const T* values, std::int64_t size, Place place);

}  // namespace autospmv::cuda
