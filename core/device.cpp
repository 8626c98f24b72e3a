#include "core/device.hpp"

#include <omp.h>
#include <unistd.h>

#include <fstream>

#include "core/cuda/runtime.hpp"

namespace autospmv {

namespace {

// "model name : AMD EPYC ..." of the first processor.
std::string processor_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  cpuinfo.exceptions(std::ios::badbit);  // where memory runs out there is no name, rather than another
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "processor";
}

std::int64_t pages(int which) {
  return static_cast<std::int64_t>(sysconf(which)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Device host_device() {
  static const std::string name = processor_name();
  Device device;
  device.backend = Backend::host;
  device.multiprocessors = omp_get_max_threads();
  device.name = name + ", " + std::to_string(device.multiprocessors) + " threads";
  device.memory_bytes = pages(_SC_PHYS_PAGES);
  device.cache_bytes = std::max<std::int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
#ifdef __clang__
  device.toolkit = "clang " __clang_version__;
#else
  device.toolkit = "gcc " __VERSION__;
#endif
  return device;
}

std::vector<Device> cuda_devices() {
  if constexpr (built_with_cuda) return cuda::devices();
  return {};
}

Device default_device() {
  auto devices = cuda_devices();
  return devices.empty() ? host_device() : devices.front();
}

std::int64_t free_memory(Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::free_memory(place.ordinal);
  }
  return pages(_SC_AVPHYS_PAGES);
}

Stream setup_stream(Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::setup_stream(place.ordinal);
  }
  return {};
}

void order_after(Place place, Stream later, Stream earlier) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) cuda::order_after(place.ordinal, later, earlier);
  }
}

bool is_capturing(Place place, Stream stream) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::is_capturing(stream);
  }
  return false;
}

void synchronize(Place place, Stream stream) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) cuda::synchronize_stream(stream);
  }
}

void synchronize(Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) cuda::synchronize_device(place.ordinal);
  }
}

DeviceScope::DeviceScope(Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) previous_ = cuda::enter_device(place.ordinal);
  }
}

DeviceScope::~DeviceScope() {
  if constexpr (built_with_cuda) cuda::leave_device(previous_);
}

}  // namespace autospmv
