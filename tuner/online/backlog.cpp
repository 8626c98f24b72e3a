#include "tuner/online/backlog.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.hpp"

namespace autospmv {

void Backlog::note_product(double seconds, Clock::time_point now, Stream stream) {
  if (!has_marks()) return;
  if (!(seconds > 0)) seconds = first_guess;
  const double passed = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  ahead_ = std::max(0.0, ahead_ - passed) + seconds;
  unmarked_ += seconds;
  // The last one is under way where it is awaited, too.
  if (may_be_long() || ahead_ < seconds_of_mark + seconds || unmarked_ < seconds_of_mark) return;
  try {
    marks_[(oldest_ + count_) % most_marks]->stop(stream);
  } catch (const Error&) {
    // The device fails, which the next product will say.
    give_up();
    return;
  }
  ++count_;
  unmarked_ = 0;
}

bool Backlog::is_long() {
  while (count_ > 0 && marks_[oldest_]->stopped()) {
    oldest_ = (oldest_ + 1) % most_marks;
    --count_;
  }
  ahead_ = std::min(ahead_, static_cast<double>(count_ + 1) * seconds_of_mark);
  return may_be_long();
}

void Backlog::give_up() {
  marks_ = {};
  count_ = 0;
}

}  // namespace autospmv
