#include "core/cuda/runtime.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "core/cuda/check.hpp"
#include "core/error.hpp"
#include "core/machine/kept_blocks.hpp"
#include "core/machine/turns.hpp"
#include "core/uncopied.hpp"

namespace autospmv::cuda {

void check(cudaError_t status, std::source_location where) {
  if (status == cudaSuccess) return;
  // Clears errors that are not sticky, so that a later check does not report this one again.
  ignore(cudaGetLastError());
  std::string file = where.file_name();
  file = file.substr(file.find_last_of('/') + 1);
  const auto text = std::string("CUDA: ") + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ", at " +
                    file + ":" + std::to_string(where.line()) + ")";
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(text);
  throw DeviceError(text);
}

namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, ordinal));
  return value;
}

// While it lives, the thread's current device is this one, whatever is thrown.
class Entered : Uncopied {
 public:
  explicit Entered(int ordinal) : previous_(enter_device(ordinal)) {}
  ~Entered() { leave_device(previous_); }

 private:
  int previous_;
};

// For whoever looks for what reads or writes memory that was given back.
bool keeps_blocks() {
  const char* const said = std::getenv("AUTOSPMV_KEEP_MEMORY");
  return said == nullptr || std::string_view(said) != "0";
}

// What a pool holds from the beginning, as far as there is plenty of it: one that grows, by some MB a time, keeps
// whoever else asks the driver waiting for as long as ten small products take. It is given back where memory runs
// short.
constexpr std::size_t most_reserved = std::size_t{128} << 20;
constexpr std::size_t share_reserved = 256;  // of what is free, one in so many

void reserve(cudaMemPool_t pool, cudaStream_t stream) {
  std::size_t free = 0;
  std::size_t total = 0;
  ignore(cudaMemGetInfo(&free, &total));
  void* reserved = nullptr;
  const auto bytes = std::min(most_reserved, free / share_reserved);
  if (bytes > 0 && cudaMallocFromPoolAsync(&reserved, bytes, pool, stream) == cudaSuccess) {
    ignore(cudaFreeAsync(reserved, stream));
  }
  ignore(cudaGetLastError());
}

// What the library keeps for each device as long as the process lives. Never destroyed: by the time static
// destructors run the driver may be gone, and it reclaims everything anyway.
struct DeviceState {
  cudaMemPool_t pool = nullptr;
  cudaStream_t setup = nullptr;
  KeptBlocks kept{keeps_blocks() ? KeptBlocks::longest : 0};

  explicit DeviceState(int ordinal) {
    const Entered entered(ordinal);
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = ordinal;
    // First, so that a pool is made only where nothing can fail any more.
    check(cudaStreamCreateWithFlags(&setup, cudaStreamNonBlocking));
    const auto made = cudaMemPoolCreate(&pool, &properties);
    if (made != cudaSuccess) ignore(cudaStreamDestroy(setup));
    check(made);
    // What a trial gives back is what the next one wants; trim_memory() returns it to the device.
    std::uint64_t keep_all = std::numeric_limits<std::uint64_t>::max();
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
    if (keeps_blocks()) reserve(pool, setup);
  }
};

DeviceState& state_of(int ordinal) {
  static std::mutex mutex;
  static auto& states = *new std::vector<std::unique_ptr<DeviceState>>();
  const std::scoped_lock lock(mutex);
  const auto index = static_cast<std::size_t>(ordinal);
  if (states.size() <= index) states.resize(index + 1);
  if (!states[index]) states[index] = std::make_unique<DeviceState>(ordinal);
  return *states[index];
}

}  // namespace

int device_count() {
  static const int known = [] {
    int count = 0;
    const auto status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) ignore(cudaGetLastError());
    return status == cudaSuccess ? count : 0;
  }();
  return known;
}

std::vector<Device> devices() {
  std::vector<Device> all;
  int runtime = 0;
  int driver = 0;
  const int count = device_count();
  if (count == 0) return all;
  check(cudaRuntimeGetVersion(&runtime));
  check(cudaDriverGetVersion(&driver));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, ordinal));
    Device device;
    device.backend = Backend::cuda;
    device.ordinal = ordinal;
    device.name = properties.name;
    device.multiprocessors = properties.multiProcessorCount;
    device.clock_mhz = attribute(cudaDevAttrClockRate, ordinal) / 1000;
    device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    device.cache_bytes = properties.l2CacheSize;
    device.toolkit = "CUDA " + version_text(runtime);
    device.driver = version_text(driver);
    device.threads_of_multiprocessor = properties.maxThreadsPerMultiProcessor;
    device.blocks_of_multiprocessor = properties.maxBlocksPerMultiProcessor;
    device.shared_bytes_of_multiprocessor = static_cast<std::int64_t>(properties.sharedMemPerMultiprocessor);
    device.shared_bytes_of_block = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
    all.push_back(std::move(device));
  }
  return all;
}

std::int64_t unused_memory(int ordinal) {
  const auto& state = state_of(ordinal);
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  check(cudaMemPoolGetAttribute(state.pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  check(cudaMemPoolGetAttribute(state.pool, cudaMemPoolAttrUsedMemCurrent, &used));
  return static_cast<std::int64_t>(reserved - used + state.kept.bytes());
}

std::int64_t free_memory(int ordinal) {
  const Entered entered(ordinal);
  const DriverTurn turn;
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  // Memory the pool holds but nobody uses can be allocated too.
  return static_cast<std::int64_t>(free) + unused_memory(ordinal);
}

std::int64_t cache_bytes() {
  thread_local int known = -1;
  thread_local std::int64_t bytes = 0;
  int ordinal = 0;
  check(cudaGetDevice(&ordinal));
  if (ordinal != known) {
    bytes = attribute(cudaDevAttrL2CacheSize, ordinal);
    known = ordinal;
  }
  return bytes;
}

Stream setup_stream(int ordinal) { return {state_of(ordinal).setup}; }

void order_after(int ordinal, Stream later, Stream earlier) {
  if (later == earlier) return;
  const Entered entered(ordinal);
  const DriverTurn turn;
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  const auto recorded = cudaEventRecord(event, earlier.handle);
  const auto waiting = recorded == cudaSuccess ? cudaStreamWaitEvent(later.handle, event, 0) : recorded;
  ignore(cudaEventDestroy(event));
  check(waiting);
}

bool is_capturing(Stream stream) {
  auto capture = cudaStreamCaptureStatusNone;
  const auto status = cudaStreamIsCapturing(stream.handle, &capture);
  if (status == cudaErrorStreamCaptureImplicit) {
    ignore(cudaGetLastError());
    return true;
  }
  check(status);
  return capture != cudaStreamCaptureStatusNone;
}

int relax_capture() {
  auto mode = cudaStreamCaptureModeRelaxed;
  check(cudaThreadExchangeStreamCaptureMode(&mode));
  return static_cast<int>(mode);
}

void restore_capture(int previous) noexcept {
  if (previous < 0) return;
  auto mode = static_cast<cudaStreamCaptureMode>(previous);
  ignore(cudaThreadExchangeStreamCaptureMode(&mode));
}

void synchronize_stream(Stream stream) { check(cudaStreamSynchronize(stream.handle)); }

void synchronize_device(int ordinal) {
  const Entered entered(ordinal);
  check(cudaDeviceSynchronize());
}

int enter_device(int ordinal) {
  if (device_count() == 1) return -1;
  int current = 0;
  check(cudaGetDevice(&current));
  if (current == ordinal) return -1;
  check(cudaSetDevice(ordinal));
  return current;
}

void leave_device(int previous) noexcept {
  if (previous >= 0) ignore(cudaSetDevice(previous));
}

void* allocate(std::size_t bytes, int ordinal) {
  auto& state = state_of(ordinal);
  void* data = state.kept.take(bytes);
  if (data != nullptr) return data;
  const auto ask = [&] {
    const DriverTurn turn;
    return cudaMallocFromPoolAsync(&data, bytes, state.pool, state.setup);
  };
  auto status = ask();
  if (status == cudaErrorMemoryAllocation) {
    // What the pool keeps in small pieces may be what is missing in one.
    ignore(status);
    trim(ordinal);
    status = ask();
  }
  check(status);
  return data;
}

void release(void* data, std::size_t bytes, int ordinal) noexcept {
  try {
    auto& state = state_of(ordinal);
    void* const let_go = state.kept.keep(data, bytes);
    if (let_go == nullptr) return;
    const DriverTurn turn;
    ignore(cudaFreeAsync(let_go, state.setup));
  } catch (const std::exception&) {
    // The device is gone, and its memory with it.
  }
}

void trim(int ordinal) {
  auto& state = state_of(ordinal);
  while (void* const block = state.kept.take_any()) check(cudaFreeAsync(block, state.setup));
  check(cudaStreamSynchronize(state.setup));
  check(cudaMemPoolTrimTo(state.pool, 0));
}

namespace {

// Of type cudaMemoryTypeUnregistered where CUDA does not know the pointer.
cudaPointerAttributes attributes_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  attributes.type = cudaMemoryTypeUnregistered;
  if (device_count() == 0) return attributes;
  const DriverTurn turn;
  if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
    ignore(cudaGetLastError());
    attributes.type = cudaMemoryTypeUnregistered;
  }
  return attributes;
}

// Memory of the host that a device writes to by itself, one piece a thread at a time. Kept as long as the process
// lives, likewise.
class PinnedPieces {
 public:
  static constexpr std::size_t bytes = 16 << 10;

  static PinnedPieces& get() {
    static auto& one = *new PinnedPieces();
    return one;
  }
  // nullptr where there is none.
  void* take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      free_.reserve(made_ + 1);  // giving it back takes no memory
      void* piece = nullptr;
      const int mode = relax_capture();  // that of others is none of its business
      const auto made = cudaHostAlloc(&piece, bytes, cudaHostAllocPortable);
      restore_capture(mode);
      if (made == cudaSuccess) {
        ++made_;
        return piece;
      }
      ignore(cudaGetLastError());
      return nullptr;
    }
    auto* const piece = free_.back();
    free_.pop_back();
    return piece;
  }
  void give_back(void* piece) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(piece);
  }

 private:
  std::mutex mutex_;
  std::vector<void*> free_;
  std::size_t made_ = 0;
};

// A copy into pageable memory keeps whoever else asks anything of the device waiting until all that comes before it in
// its stream is done.
bool copy_through_pinned(void* to, const void* from, std::size_t bytes, Stream stream) {
  void* piece = nullptr;
  auto status = cudaSuccess;
  {
    const DriverTurn turn;
    if (attributes_of(to).type == cudaMemoryTypeUnregistered) piece = PinnedPieces::get().take();
    if (piece == nullptr) return false;
    status = cudaMemcpyAsync(piece, from, bytes, cudaMemcpyDefault, stream.handle);
  }
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream.handle);
  if (status == cudaSuccess) std::memcpy(to, piece, bytes);
  PinnedPieces::get().give_back(piece);
  check(status);
  return true;
}

}  // namespace

void copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  if (bytes <= PinnedPieces::bytes && copy_through_pinned(to, from, bytes, stream)) return;
  // What is long may wait for the device, if it lies in pageable memory.
  std::optional<DriverTurn> turn;
  if (bytes <= PinnedPieces::bytes) turn.emplace();
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.handle));
}

void fill(void* to, int byte, std::size_t bytes, Stream stream) {
  const DriverTurn turn;
  check(cudaMemsetAsync(to, byte, bytes, stream.handle));
}

int device_of(const void* pointer) {
  const auto attributes = attributes_of(pointer);
  const bool on_device = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return on_device ? attributes.device : -1;
}

int device_reaching(const void* pointer) {
  const auto attributes = attributes_of(pointer);
  if (attributes.type == cudaMemoryTypeDevice) return attributes.device;
  if (attributes.type != cudaMemoryTypeManaged) return -1;
  int current = 0;
  check(cudaGetDevice(&current));
  return current;
}

}  // namespace autospmv::cuda
