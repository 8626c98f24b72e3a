#include "core/verify/equal.hpp"

#include <cstring>

#include "core/cuda/kernels.hpp"
#include "core/machine/on_backend.hpp"

namespace autospmv {

bool equal_bytes(const void* a, const void* b, std::size_t bytes, Place place) {
  return on_backend(
      place, [&] { return bytes == 0 || std::memcmp(a, b, bytes) == 0; },
      [&] { return cuda::equal_bytes(a, b, bytes, place); });
}

}  // namespace autospmv
