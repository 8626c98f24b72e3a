// The CUDA side of core/machine/device.hpp and core/machine/array.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "autospmv/stream.hpp"
#include "core/machine/device.hpp"

namespace autospmv::cuda {

std::vector<Device> devices();
/// Asked once a process.
int device_count();
std::int64_t free_memory(int ordinal);
/// What the pool of this library holds but nobody uses.
std::int64_t unused_memory(int ordinal);

/// Bytes of the L2 of the current device. Quick enough for every product.
std::int64_t cache_bytes();

Stream setup_stream(int ordinal);
void order_after(int ordinal, Stream later, Stream earlier);
bool is_capturing(Stream stream);
/// Relaxes the calling thread's capture mode and returns the one it had.
int relax_capture();
/// Nothing for -1.
void restore_capture(int previous) noexcept;

void synchronize_stream(Stream stream);
void synchronize_device(int ordinal);

/// Makes `ordinal` current and returns the device that was; -1 where it was current already.
int enter_device(int ordinal);
void leave_device(int previous) noexcept;

void* allocate(std::size_t bytes, int ordinal);
void release(void* data, std::size_t bytes, int ordinal) noexcept;
void trim(int ordinal);
void copy(void* to, const void* from, std::size_t bytes, Stream stream);
void fill(void* to, int byte, std::size_t bytes, Stream stream);

/// The device that holds the memory, -1 for host memory.
int device_of(const void* pointer);
/// The device that holds it, or the current one for managed memory, which every device reaches; -1 for host memory.
int device_reaching(const void* pointer);

}  // namespace autospmv::cuda
