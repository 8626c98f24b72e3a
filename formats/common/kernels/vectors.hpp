// Small vector kernels that several formats launch beside their own.
#pragma once

#include <cstdint>

#include "autospmv/stream.hpp"

namespace autospmv::formats::device {

/// y = beta y, for products that add to y; y is not read where beta is 0. Launches nothing where beta is 1.
template <class T>
void scale(T beta, T* y, std::int64_t size, Stream stream);

}  // namespace autospmv::formats::device
