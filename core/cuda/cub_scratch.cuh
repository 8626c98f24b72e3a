// Scratch memory for what CUB does with a device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/cuda/check.hpp"
#include "core/machine/array.hpp"
#include "core/machine/turns.hpp"

namespace autospmv::cuda {

/// CUB tells how much scratch it wants when called with none, and works when called again with it.
template <class Call>
void with_scratch(Place place, const Call& call) {
  std::size_t bytes = 0;
  const auto call_in_turn = [&](void* scratch) {
    const DriverTurn turn;
    check(call(scratch, bytes));
  };
  call_in_turn(nullptr);
  Array<std::uint8_t> scratch(std::max<std::size_t>(bytes, 1), place);
  call_in_turn(scratch.data());
}

}  // namespace autospmv::cuda
