// The devices a product can run on, and what a format or the tuner needs to know of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autospmv/stream.hpp"
#include "core/types.hpp"
#include "core/uncopied.hpp"

namespace autospmv {

struct Device : Place {
  std::string name;         ///< "NVIDIA H200", or the processor's own name and its number of threads
  int multiprocessors = 0;  ///< CUDA: multiprocessors; host: threads that OpenMP gives us
  int clock_mhz = 0;        ///< highest clock, 0 where unknown
  std::int64_t memory_bytes = 0;
  std::int64_t cache_bytes = 0;  ///< CUDA: L2; host: last-level cache
  std::string toolkit;           ///< CUDA: runtime version; host: compiler
  std::string driver;            ///< CUDA: driver version; host: empty
  /// CUDA: what a multiprocessor holds at once, and the shared memory that a block may ask for. Every device that CUDA
  /// supports has at least these.
  int threads_of_multiprocessor = 1024;
  int blocks_of_multiprocessor = 16;
  std::int64_t shared_bytes_of_multiprocessor = 64 << 10;
  std::int64_t shared_bytes_of_block = 48 << 10;
  /// Formats take what fits its memory, also where padding can only lose: for comparisons that show by how much.
  bool any_padding = false;
};

/// This machine's processor, with as many threads as OpenMP uses now.
Device host_device();

/// Every CUDA device, none in a build or on a machine without CUDA.
std::vector<Device> cuda_devices();

/// The first CUDA device where there is one, else the host.
Device default_device();

/// Memory that can be allocated on the device now.
std::int64_t free_memory(Place place);

/// Whether so many bytes of it are there. A CUDA driver, which takes as long as several products to tell, is asked only
/// where they are more than this library holds and does not use.
bool has_free_memory(double bytes, Place place);

/// The stream on which matrices are uploaded, read and converted: one for each CUDA device, alive as long as the
/// process. The default Stream on the host.
Stream setup_stream(Place place);

/// What is given to `later` from now on runs after what `earlier` holds now; nothing on the host.
void order_after(Place place, Stream later, Stream earlier);

/// Whether the stream is being captured into a graph, or must not be touched because another one is. Never on the host.
bool is_capturing(Place place, Stream stream);

/// Blocks until the stream has run dry; nothing on the host.
void synchronize(Place place, Stream stream);

/// Blocks until everything given to the device has run; nothing on the host.
void synchronize(Place place);

/// Makes a CUDA device the calling thread's current one, and puts the former one back. Nothing on the host.
class DeviceScope : Uncopied {
 public:
  explicit DeviceScope(Place place);
  ~DeviceScope();

 private:
  int previous_ = -1;
};

/// While it lives, the calling thread may do what captures of other threads forbid, such as to ask for memory.
class RelaxedCapture : Uncopied {
 public:
  explicit RelaxedCapture(Place place);
  ~RelaxedCapture();

 private:
  int previous_ = -1;
};

}  // namespace autospmv
