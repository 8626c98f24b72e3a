#include "core/machine/device.hpp"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>

#include "core/cuda/runtime.hpp"
#include "core/machine/instructions.hpp"
#include "core/machine/on_backend.hpp"

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

std::string first_word(const std::string& file) {
  std::ifstream in(file);
  in.exceptions(std::ios::badbit);
  std::string word;
  in >> word;
  return word;
}

// "32768K"; 0 where that is no size.
std::int64_t bytes_of(const std::string& size) {
  std::int64_t bytes = 0;
  const auto end = std::from_chars(size.data(), size.data() + size.size(), bytes).ptr;
  const char unit = end == size.data() + size.size() ? '\0' : *end;
  return bytes << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
}

// Of all the last-level caches of the processors that this process may run on. The C library says of some machines
// what a whole package has, of which a virtual one is given a part.
std::int64_t last_level_cache_bytes() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  (void)sched_getaffinity(0, sizeof(allowed), &allowed);  // where it fails, the C library is asked
  std::map<std::string, std::int64_t> caches;             // by the processors that share one
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed)) continue;
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cache/index";
    std::string last;
    for (int index = 0; !first_word(folder + std::to_string(index) + "/size").empty(); ++index) {
      last = folder + std::to_string(index);
    }
    if (!last.empty()) caches[first_word(last + "/shared_cpu_list")] = bytes_of(first_word(last + "/size"));
  }
  std::int64_t bytes = 0;
  for (const auto& [sharers, size] : caches) bytes += size;
  return bytes > 0 ? bytes : std::max<std::int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
}

std::int64_t pages(int which) {
  return static_cast<std::int64_t>(sysconf(which)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Device host_device() {
  static const std::string name = [] {
    const auto instructions = host_instructions();
    return processor_name() + (instructions.empty() ? "" : ", ") + std::string(instructions);
  }();
  static const std::int64_t cache_bytes = last_level_cache_bytes();
  Device device;
  device.backend = Backend::host;
  device.multiprocessors = omp_get_max_threads();
  device.name = name + ", " + std::to_string(device.multiprocessors) + " threads";
  device.memory_bytes = pages(_SC_PHYS_PAGES);
  device.cache_bytes = cache_bytes;
#ifdef __clang__
  device.toolkit = "clang " __clang_version__;
#else
  device.toolkit = "gcc " __VERSION__;
#endif
  return device;
}

std::string_view host_instructions() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return avx512;
  }
  if (__builtin_cpu_supports("avx2")) return "AVX2";
#endif
  return {};
}

std::string_view instructions_in(std::string_view device) {
  constexpr std::string_view apart = ", ";
  const auto end = device.rfind(apart);
  if (end == std::string_view::npos || end == 0) return {};
  const auto begin = device.rfind(apart, end - 1);
  return begin == std::string_view::npos ? std::string_view() : device.substr(begin + 2, end - begin - 2);
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
  return on_backend(
      place, [&] { return pages(_SC_AVPHYS_PAGES); }, [&] { return cuda::free_memory(place.ordinal); });
}

bool has_free_memory(double bytes, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda && bytes <= static_cast<double>(cuda::unused_memory(place.ordinal))) return true;
  }
  return bytes <= static_cast<double>(free_memory(place));
}

Stream setup_stream(Place place) {
  return on_backend(
      place, [] { return Stream{}; }, [&] { return cuda::setup_stream(place.ordinal); });
}

void order_after(Place place, Stream later, Stream earlier) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) cuda::order_after(place.ordinal, later, earlier);
  }
}

bool is_capturing(Place place, Stream stream) {
  return on_backend(
      place, [&] { return false; }, [&] { return cuda::is_capturing(stream); });
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

RelaxedCapture::RelaxedCapture(Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) previous_ = cuda::relax_capture();
  }
}

RelaxedCapture::~RelaxedCapture() {
  if constexpr (built_with_cuda) cuda::restore_capture(previous_);
}

}  // namespace autospmv
