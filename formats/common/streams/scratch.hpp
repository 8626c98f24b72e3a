// Scratch memory of products. One operator serves many threads and streams at once, and graphs that run whenever they
// are launched; what a product writes down for itself must not be overwritten by another.
//
//   eager products      share one part and take turns: host threads wait for each other, and work on another stream is
//                       ordered behind the last, without the host waiting
//   captured products   have a part of their own for every capture, as no event orders what runs in a graph against
//                       what runs outside of it, and for every stream of it, as forked streams are not ordered among
//                       each other
//
// The part of a capture is another's once the graph and all that were instantiated from it are gone. Those that were
// instantiated from one graph share it, so they must not run at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "autospmv/stream.hpp"
#include "core/machine/device.hpp"
#include "core/machine/on_backend.hpp"
#include "core/uncopied.hpp"

struct CUevent_st;
struct CUgraph_st;

namespace autospmv::formats {

namespace device {

/// The capture that a stream takes part in, and the stream.
struct Capture {
  std::uint64_t id = 0;         ///< never given twice
  std::uint64_t stream = 0;     ///< never given twice within a capture, nor outside of any
  CUgraph_st* graph = nullptr;  ///< where there is no capture
};
Capture capture_of(Stream stream);

/// Calls body() with leave to allocate and to wait although streams are being captured, and waits for the setup stream.
void set_up_during_capture(Place place, const std::function<void()>& body);

/// *held is true as long as the graph, or one that was made of it, lives.
void hold(CUgraph_st* graph, const std::shared_ptr<std::atomic<bool>>& held);

CUevent_st* create_event(Place place);
void destroy_event(CUevent_st* event) noexcept;
void wait_for(CUevent_st* event, Stream stream);
void record(CUevent_st* event, Stream stream);

}  // namespace device

/// A part has bytes(), is moved, and need not be thread-safe.
template <class Part>
class Scratch : Uncopied {
 public:
  /// make() returns a part that is complete when the setup stream is; it makes the first, that of eager products, now.
  Scratch(Place place, std::function<Part()> make) : place_(place), make_(std::move(make)), eager_(make_()) {
    if constexpr (built_with_cuda) {
      if (place_.backend == Backend::cuda) last_use_ = device::create_event(place_);
    }
  }
  ~Scratch() {
    if constexpr (built_with_cuda) {
      if (last_use_ != nullptr) device::destroy_event(last_use_);
    }
  }

  /// Calls body(part), which gives one product to the stream.
  template <class Body>
  void use(Stream stream, const Body& body) const {
    const std::scoped_lock lock(mutex_);
    on_backend(
        place_, [&] { body(eager_); },
        [&] {
          const auto capture = device::capture_of(stream);
          if (capture.graph != nullptr) return body(part_for(capture));
          if (capture.stream != last_stream_ && last_stream_ != none) device::wait_for(last_use_, stream);
          body(eager_);
          device::record(last_use_, stream);
          last_stream_ = capture.stream;
        });
  }

  /// Of all parts there are.
  [[nodiscard]] std::int64_t bytes() const {
    const std::scoped_lock lock(mutex_);
    std::int64_t bytes = eager_.bytes();
    for (const auto& loan : loans_) bytes += loan.part.bytes();
    return bytes;
  }

 private:
  struct Loan {
    Part part;
    std::shared_ptr<std::atomic<bool>> held;  ///< by a graph, which may outlive the operator
    std::uint64_t capture = 0;
    std::uint64_t stream = 0;
  };

  Part& part_for(const device::Capture& capture) const {
    Loan* found = nullptr;
    for (auto& loan : loans_) {
      const bool held = *loan.held;
      if (held && loan.capture == capture.id && loan.stream == capture.stream) return loan.part;
      if (!held) found = &loan;
    }
    if (found == nullptr) {
      device::set_up_during_capture(place_, [&] {
        loans_.push_back({make_(), std::make_shared<std::atomic<bool>>(false)});
      });
      found = &loans_.back();
    }
    device::hold(capture.graph, found->held);
    found->capture = capture.id;
    found->stream = capture.stream;
    return found->part;
  }

  static constexpr std::uint64_t none = ~std::uint64_t{0};

  Place place_;
  std::function<Part()> make_;
  mutable std::mutex mutex_;
  mutable Part eager_;
  mutable std::vector<Loan> loans_;
  CUevent_st* last_use_ = nullptr;  ///< of the eager part
  mutable std::uint64_t last_stream_ = none;
};

}  // namespace autospmv::formats
