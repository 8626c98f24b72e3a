// The operators that products may use while the best of them is looked for: which product uses which, and what they
// take.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/machine/device.hpp"
#include "core/trial.hpp"
#include "tuner/measure/caller_stream.hpp"
#include "tuner/measure/clock.hpp"
#include "tuner/online/backlog.hpp"
#include "tuner/online/live_operator.hpp"
#include "tuner/online/stream_uses.hpp"

namespace autospmv {

/// One of them.
template <class T>
struct Contender {
  TrialRecord record;
  std::unique_ptr<LiveOperator<T>> op;
  Use use = {};
};

/// Products use the best so far, except for those by which another one is timed: a trial is so many timed calls of the
/// caller. One thread at a time makes trials; products come from many threads and streams at once, and so may updates
/// of the values, one after another.
template <class T>
class Operators {
 public:
  static constexpr int warm_up_calls = 2;
  static constexpr int timed_calls = 7;
  /// On a device, where to time a product takes a third of a small one: so many of the first are not timed, then so
  /// many are.
  static constexpr int untimed_calls = 6;
  static constexpr int first_timed_calls = 3;

  /// `wake`, called with a lock held, starts the next step of the tuning: it is due, or the trial has ended. Takes the
  /// operator only where nothing is thrown.
  Operators(Place place, const TrialRecord& first, std::unique_ptr<LiveOperator<T>>&& op, std::function<void()> wake);

  // ---- Products

  /// y = alpha A x + beta y. A stream that is being captured gets the best so far, which is then kept for as long as
  /// this lives. Where a candidate cannot be launched, the best so far is. False once nothing is tried any more.
  bool apply(T alpha, const T* x, T beta, T* y, Stream stream);

  /// Before that, where products are timed or a step of the tuning runs: waits for the device where it is far behind
  /// this caller. All that he orders meanwhile would be by what was the best when he ordered it. Waits with no lock
  /// held and no turn taken, and once for all where the device stands still, for that may be until he has returned.
  void await_device(Stream stream);

  /// A product that the best was given to a stream for, on a device, before it was one of these; the first of those
  /// that are not timed.
  void note_earlier_product(Stream stream);

  /// Whether the best so far is the best for good.
  [[nodiscard]] bool settled() const { return settled_.load(std::memory_order_acquire) != nullptr; }

  [[nodiscard]] TrialRecord choice() const;
  [[nodiscard]] std::int64_t bytes() const;

  // ---- Values, as in ValuesObserver: every contender stays while it gets them.

  [[nodiscard]] bool takes_any_values() const;
  void drain();
  void prepare(const CsrView<T>& next, Stream stream);
  void abandon(const CsrView<T>& former, Stream stream);
  /// Where an operator had to move to other storage, no trial says anything any more.
  void commit(const CsrView<T>& next, Stream stream);
  /// No trial does: the values are of another kind than those before.
  void end_trials();
  [[nodiscard]] bool has_other_values() const;

  // ---- Trials

  /// Changed by this thread alone, with the lock held: it needs none to read them.
  [[nodiscard]] Contender<T>& best() { return *best_; }
  [[nodiscard]] const Contender<T>& best() const { return *best_; }
  [[nodiscard]] double best_seconds() const { return best_->record.measurement.warm.median; }
  [[nodiscard]] Contender<T>& add(TrialRecord record, std::unique_ptr<LiveOperator<T>> op);
  void note(Contender<T>& contender, const Measurement& measurement);

  /// From now on the next products use it, and are timed.
  void begin_trial(Contender<T>& contender) { begin_trial(contender, 0, calls_); }
  /// The same for what a caller on a device begins with.
  void begin_first_trial() { begin_trial(*best_, untimed_calls, first_calls()); }
  /// False where that is done already; else wake() is called when it is.
  [[nodiscard]] bool awaits_calls();
  /// None does any more, and what they took is its measurement, or why it failed. The seconds of each call; empty where
  /// the trial did not come to its end.
  std::vector<double> end_trial(Contender<T>& contender);
  /// Whether a product is under way that was to be timed.
  [[nodiscard]] bool is_launching() const;

  /// From now on it is the best.
  void adopt(Contender<T>& contender);
  /// By its last products, on the host: a processor speeds up, and others come and go. What it takes now over what it
  /// took.
  std::optional<double> time_best_anew();

  /// Whether no stream's last product used a loser.
  [[nodiscard]] bool changed_over() const;
  /// From now on products note nothing any more: what a loser may still be used by is kept.
  void settle();
  /// Whether none is left.
  bool free_losers();

  // ---- What products tell the budget

  /// A step of the tuning runs now, or none.
  void note_step(bool runs);
  /// Products that used the best, since this was last asked.
  [[nodiscard]] std::int64_t take_products();
  /// Seconds that steps have slowed products down by, since this was last asked, on a device.
  [[nodiscard]] double take_slowing();
  /// wake() is called in so many products.
  void wake_in(std::int64_t products);

 private:
  // One whose warm-up calls are all so much slower than the best is timed no longer.
  static constexpr double slower_factor = 2;
  // A device that has come past no mark for so many seconds stands still.
  static constexpr double most_awaited = 0.05;
  static constexpr double between_questions = 2e-5;  // to it, for others to ask theirs

  // One timed product.
  struct TimedCall {
    enum class State : std::uint8_t { idle, launching, running, done };
    std::unique_ptr<Stopwatch> watch;
    State state = State::idle;
    double seconds = 0;  // 0: skipped

    [[nodiscard]] bool is_idle() const { return state == State::idle; }
    void skip() {
      state = State::done;
      seconds = 0;
    }
  };
  class Product;

  [[nodiscard]] bool on_host() const { return place_.backend == Backend::host; }
  [[nodiscard]] std::span<TimedCall> first_calls() {
    return std::span(calls_).subspan(warm_up_calls, first_timed_calls);
  }
  // By such of the calls, after so many products that are not timed.
  void begin_trial(Contender<T>& contender, int untimed, std::span<TimedCall> calls);
  [[nodiscard]] Timing summary_of(std::vector<double> seconds) const;
  void pin_all();
  void unpin_all(Stream stream);
  [[nodiscard]] std::unique_ptr<Contender<T>> take_loser();

  // With mutex_ held.
  /// Whether callers are, who would order all of their products before anything faster is known.
  [[nodiscard]] bool keeps_near() const { return step_runs_ || on_trial_ != nullptr; }
  void collect();
  void note_slowing();
  [[nodiscard]] bool all_calls_done() const;
  [[nodiscard]] bool trial_is_over() const;
  void wake_who_waits();
  [[nodiscard]] bool is_too_slow() const;
  void skip_idle_calls();
  [[nodiscard]] bool in_use(const Contender<T>& contender) const;

  Place place_;
  std::function<void()> wake_;

  // Of the update in hand, with room for all contenders: to change over to new values takes no memory.
  std::vector<Contender<T>*> updating_;

  mutable std::mutex mutex_;  // held for moments only; guards everything below
  std::vector<std::unique_ptr<Contender<T>>> contenders_;
  Contender<T>* best_ = nullptr;
  Contender<T>* on_trial_ = nullptr;
  int untimed_ = 0;  // products until those of the trial
  std::array<TimedCall, warm_up_calls + timed_calls> calls_;
  StreamUses uses_;
  Measurement failure_;                       // of the last trial, where it failed
  std::array<double, timed_calls> lately_{};  // seconds of the last products that used the best, on the host
  std::size_t lately_count_ = 0;
  Backlog backlog_;
  TimedCall beside_;            // a product beside a step, on a device
  std::int64_t unwatched_ = 0;  // products beside steps, since the last of those
  Clock::time_point unwatched_since_;
  double slowing_ = 0;         // seconds that they took longer
  std::int64_t products_ = 0;  // that used the best
  std::int64_t wake_in_ = -1;  // products from now; below 0: never
  bool step_runs_ = false;
  bool awaited_ = false;  // the end of the trial
  bool other_values_ = false;

  std::atomic<const LiveOperator<T>*> settled_ = nullptr;
};

extern template class Operators<float>;
extern template class Operators<double>;

}  // namespace autospmv
