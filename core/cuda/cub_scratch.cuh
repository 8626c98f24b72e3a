// Scratch memory for what CUB does with a device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/cuda/check.hpp"
#include "core/machine/array.hpp"

namespace autospmv::cuda {

/// CUB tells how much scratch it wants when called with none, and works when called again with it.
template <class Call>
void with_scratch(Place place, const Call& call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes));
  Array<std::uint8_t> scratch(std::max<std::size_t>(bytes, 1), place);
  check(call(scratch.data(), bytes));
}

}  // namespace autospmv::cuda
