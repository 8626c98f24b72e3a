// How kernels read what they multiply; plain reads on the host.
#pragma once

#include "core/host_device.hpp"

namespace autospmv::formats {

/// Matrix entries are read once a product: they should not push x out of a device's caches.
template <class V>
AUTOSPMV_HD inline V load_stream(const V* address) {
#ifdef __CUDA_ARCH__
  return __ldcs(address);
#else
  return *address;
#endif
}

/// x and small tables are read again and again, through the read-only path.
template <class V>
AUTOSPMV_HD inline V load_x(const V* address) {
#ifdef __CUDA_ARCH__
  return __ldg(address);
#else
  return *address;
#endif
}

/// An address from which others are counted in 32 bits: the compiler cannot see how it came about, so it does not count
/// them from the beginning of the array in 64 bits.
template <class V>
AUTOSPMV_HD inline const V* rebased(const V* address) {
#ifdef __CUDA_ARCH__
  asm("" : "+l"(address));
#endif
  return address;
}

}  // namespace autospmv::formats
