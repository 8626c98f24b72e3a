// What can be asked of streams that callers own without ever waiting for them.
#pragma once

#include <cstdint>
#include <memory>

#include "autospmv/stream.hpp"
#include "core/machine/device.hpp"
#include "core/uncopied.hpp"

namespace autospmv {

/// Times what lies between two points of a stream's order; on the host, of the calling thread's. Used by one thread at
/// a time, from anywhere but within a capture.
class Stopwatch : Uncopied {
 public:
  virtual ~Stopwatch() = default;

  virtual void start(Stream stream) = 0;
  virtual void stop(Stream stream) = 0;
  /// Whether the stream has passed the last stop, if there ever was one.
  [[nodiscard]] virtual bool stopped() const = 0;
  /// Seconds from start to stop, once stopped.
  [[nodiscard]] virtual double seconds() const = 0;
};

std::unique_ptr<Stopwatch> make_stopwatch(Place place);

/// Different for any two streams, even where one gets the handle that the other had.
std::uint64_t stream_id(Place place, Stream stream);

}  // namespace autospmv
