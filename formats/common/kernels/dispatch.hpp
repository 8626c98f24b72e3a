// From a parameter's value to a template argument.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/error.hpp"

namespace autospmv::formats {

/// Calls body(std::integral_constant<int, value>) for the one of `Values` that equals `value`.
template <int... Values, class Body>
void dispatch(std::int64_t value, const Body& body) {
  const bool found = ((value == Values && (body(std::integral_constant<int, Values>{}), true)) || ...);
  if (!found) throw InvalidArgument("no kernel is compiled for " + std::to_string(value));
}

}  // namespace autospmv::formats
