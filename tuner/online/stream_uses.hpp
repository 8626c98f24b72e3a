// Which operators the products still use that were given to the streams of callers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "autospmv/stream.hpp"
#include "core/machine/device.hpp"
#include "tuner/measure/caller_stream.hpp"

namespace autospmv {

/// Of one operator.
struct Use {
  int launching = 0;    ///< threads that are giving it to a stream, or new values to it
  bool pinned = false;  ///< in a graph, or in streams that nobody followed: kept to the end
};

/// An event behind every product would cost as much as a small product. So a stream is only asked for one when its
/// products change over to another operator. Takes no memory but for events; what it cannot follow is pinned. On a
/// device alone, by one thread at a time.
class StreamUses {
 public:
  explicit StreamUses(Place place) : place_(place) {}

  /// A product that uses it was given to the stream.
  void note_product(Use& use, Stream stream);
  /// No more will be. Once the device has come past here in the stream, it has run all of them there.
  void note_end(Use& use, Stream stream);

  /// Whether the device may still run a product that uses it.
  [[nodiscard]] bool has(const Use& use) const;
  /// Whether the last product of no stream uses another one.
  [[nodiscard]] bool has_no_other_than(const Use& use) const;
  /// Nothing is noted any more.
  void pin_all_but(const Use& use);
  /// It goes away.
  void forget(const Use& use);

 private:
  static constexpr int most_streams = 32;  // that are followed
  static constexpr int most_ends = 32;     // that are waited for at a time

  struct Followed {
    std::uint64_t stream = 0;
    Use* last = nullptr;  // of the stream's products; nullptr: none
  };
  struct End {
    std::unique_ptr<Stopwatch> watch;
    const Use* use = nullptr;
    std::uint64_t stream = 0;
  };

  Place place_;
  std::array<Followed, most_streams> followed_;
  std::array<End, most_ends> ends_;
};

}  // namespace autospmv
