#include "core/machine/array.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

#include "core/cuda/runtime.hpp"
#include "core/error.hpp"
#include "core/machine/on_backend.hpp"

namespace autospmv {

namespace detail {

namespace {
// Whole cache lines for vector loads, and the alignment that cudaMalloc gives.
constexpr std::size_t small_alignment = 256;
constexpr std::size_t huge_page = std::size_t{2} << 20;

// To meet each page of 4 KiB for the first time takes a conversion longer than to write it.
bool takes_huge_pages(std::size_t bytes) { return bytes >= huge_page; }

std::align_val_t host_alignment(std::size_t bytes) {
  return std::align_val_t{takes_huge_pages(bytes) ? huge_page : small_alignment};
}

void* allocate_on_host(std::size_t bytes) {
  void* data = ::operator new(bytes, host_alignment(bytes), std::nothrow);
  if (data == nullptr) throw OutOfMemory("out of memory: " + std::to_string(bytes) + " bytes on the host");
#ifdef MADV_HUGEPAGE
  // A wish: where the system has none, pages are small.
  if (takes_huge_pages(bytes)) static_cast<void>(madvise(data, bytes, MADV_HUGEPAGE));
#endif
  return data;
}
}  // namespace

void* allocate_bytes(std::size_t bytes, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::allocate(bytes, place.ordinal);
  }
  return allocate_on_host(bytes);
}

void release_bytes(void* data, std::size_t bytes, Place place) noexcept {
  on_backend(
      place, [&] { ::operator delete(data, host_alignment(bytes)); },
      [&] { cuda::release(data, bytes, place.ordinal); });
}

}  // namespace detail

void copy_bytes(void* to, const void* from, std::size_t bytes, Place place, Stream stream) {
  if (bytes == 0) return;
  if constexpr (built_with_cuda) {
    // A host array may be filled from device memory, so the device decides only where there is no choice.
    if (place.backend == Backend::cuda || memory_at(from) == Memory::device) {
      const DeviceScope scope(place.backend == Backend::cuda ? place : place_at(from));
      cuda::copy(to, from, bytes, stream);
      if (place.backend == Backend::host) cuda::synchronize_stream(stream);
      return;
    }
  }
  std::memcpy(to, from, bytes);
}

void fill_bytes(void* to, int byte, std::size_t bytes, Place place, Stream stream) {
  if (bytes == 0) return;
  const DeviceScope scope(place);
  on_backend(
      place, [&] { std::memset(to, byte, bytes); }, [&] { cuda::fill(to, byte, bytes, stream); });
}

void trim_memory(Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) cuda::trim(place.ordinal);
  }
}

Place place_at(const void* pointer) {
  if constexpr (built_with_cuda) {
    const int ordinal = cuda::device_reaching(pointer);
    if (ordinal >= 0) return {Backend::cuda, ordinal};
  }
  return {};
}

}  // namespace autospmv
