// How far a caller is ahead of the device.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "tuner/measure/caller_stream.hpp"
#include "tuner/measure/clock.hpp"

namespace autospmv {

/// The products that were given to streams and that the device has not run yet. Reckoned by what a product takes and
/// how much time has passed: who awaits each is never ahead. Only where that says he is do marks behind some products
/// tell, for one takes as long as a small product. On a device alone, by one thread at a time.
class Backlog {
 public:
  static constexpr std::size_t most_marks = 2;
  static constexpr double seconds_of_mark = 1e-4;  ///< the products that it stands for take about so long
  static constexpr double first_guess = 2e-5;      ///< seconds of a product, while nobody knows

  using Marks = std::array<std::unique_ptr<Stopwatch>, most_marks>;

  /// Before that nothing is noted.
  void use(Marks marks) { marks_ = std::move(marks); }
  [[nodiscard]] bool has_marks() const { return marks_.front() != nullptr; }

  /// One that takes about so many seconds was given to the stream now; 0: nobody knows.
  void note_product(double seconds, Clock::time_point now, Stream stream);

  /// Whether it is long, as far as was known at the last mark. Asks the device nothing.
  [[nodiscard]] bool may_be_long() const { return count_ == most_marks; }
  /// Whether the device has work for the time of `most_marks` marks and more.
  [[nodiscard]] bool is_long();

  /// Nothing is noted any more.
  void give_up();

 private:
  Marks marks_;
  std::size_t oldest_ = 0;
  std::size_t count_ = 0;  // of marks that the device had not come past when it was last asked
  double unmarked_ = 0;    // seconds of the products since the last one
  double ahead_ = 0;       // seconds of work that the device is reckoned to have had after the last product
  Clock::time_point last_;
};

}  // namespace autospmv
