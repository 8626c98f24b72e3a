// What the library itself says of types beside include/autospmv/types.hpp.
#pragma once

#include <concepts>
#include <string_view>

#include "autospmv/types.hpp"

namespace autospmv {

/// The toolkit was found at build time and the CUDA backend is part of this library.
#ifdef AUTOSPMV_CUDA
inline constexpr bool built_with_cuda = true;
#else
inline constexpr bool built_with_cuda = false;
#endif

template <Scalar T>
constexpr std::string_view value_type_name() {
  return std::same_as<T, float> ? "float" : "double";
}

}  // namespace autospmv
