#include "core/equal.hpp"

#include <cstring>

#include "core/cuda/kernels.hpp"

namespace autospmv {

bool equal_bytes(const void* a, const void* b, std::size_t bytes, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::equal_bytes(a, b, bytes, place);
  }
  return bytes == 0 || std::memcmp(a, b, bytes) == 0;
}

}  // namespace autospmv
