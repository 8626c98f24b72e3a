// The CUDA sides of features/features.hpp and features/longest_row.hpp.
#pragma once

#include <cstdint>

#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "features/features.hpp"

namespace autospmv::cuda {

/// The matrix lies on the device `place`. Runs on its setup stream, complete when it returns. Throws DeviceError.
template <class T>
Features extract_features(const CsrView<T>& matrix, Place place);

template <class T>
Features extract_row_features(const CsrView<T>& matrix, Place place);
template <class T>
Features extract_value_features(const CsrView<T>& matrix, Place place);

std::int64_t longest_row(RowOffsets row_ptr, std::int64_t rows, Place place);

}  // namespace autospmv::cuda
