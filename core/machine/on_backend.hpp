// Work that is done in one way on the host and in another on a device.
#pragma once

#include "core/types.hpp"

namespace autospmv {

/// host() or device(), by where `place` is. A build without CUDA has no device(): what it calls need not be there.
template <class Host, class Device>
decltype(auto) on_backend(Place place, const Host& host, [[maybe_unused]] const Device& device) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return device();
  }
  return host();
}

}  // namespace autospmv
