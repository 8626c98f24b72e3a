// The library's way behind the public handles.
#pragma once

#include <utility>

namespace autospmv::detail {

struct Access {
  template <class Handle>
  static const auto& state_of(const Handle& handle) {
    return handle.state_;
  }

  template <class Handle, class State>
  static Handle handle_of(State state) {
    return Handle(std::move(state));
  }
};

}  // namespace autospmv::detail
