#include "tuner/online/operators.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

#include "core/error.hpp"
#include "core/machine/turns.hpp"
#include "core/uncopied.hpp"
#include "tuner/measure/conversion.hpp"
#include "tuner/measure/meter.hpp"
#include "tuner/online/step_prices.hpp"

namespace autospmv {

// One product that is being given to a stream: its operator cannot go away meanwhile.
template <class T>
class Operators<T>::Product : Uncopied {
 public:
  Product(Operators& operators, Stream stream) : operators_(operators), stream_(stream) {
    const std::scoped_lock lock(operators.mutex_);
    operators.collect();
    contender_ = operators.best_;
    if (operators.untimed_ > 0) {
      --operators.untimed_;
    } else if (operators.on_trial_ != nullptr) {
      const auto idle =
          std::find_if(operators.calls_.begin(), operators.calls_.end(), std::mem_fn(&TimedCall::is_idle));
      if (idle != operators.calls_.end()) {
        call_ = &*idle;
        call_->state = TimedCall::State::launching;
        contender_ = operators.on_trial_;
      }
    }
    best_ = contender_ == operators.best_;
    ++contender_->use.launching;
    if (call_ != nullptr) return;
    if (operators.step_runs_ && !operators.on_host()) watch_beside();
    ++operators.products_;
    if (--operators.wake_in_ == 0) operators.wake_();
  }

  ~Product() {
    const std::scoped_lock lock(operators_.mutex_);
    for (auto* watched : {call_, beside_}) {
      if (watched != nullptr) watched->state = launched_ ? TimedCall::State::running : TimedCall::State::idle;
    }
    if (call_ == nullptr && launched_ && operators_.on_host() && contender_ == operators_.best_) {
      operators_.lately_[operators_.lately_count_++ % operators_.lately_.size()] = seconds_;
    }
    if (!operators_.on_host()) {
      if (call_ == nullptr || !launched_) operators_.uses_.note_product(contender_->use, stream_);
      if (launched_)
        operators_.backlog_.note_product(contender_->record.measurement.warm.median, Clock::now(), stream_);
    }
    --contender_->use.launching;
  }

  /// False where a candidate could not be launched, whose trial is then over.
  [[nodiscard]] bool launch(T alpha, const T* x, T beta, T* y) {
    try {
      auto* const watched = call_ != nullptr ? call_ : beside_;
      if (watched != nullptr) watched->watch->start(stream_);
      const auto start = operators_.on_host() ? Clock::now() : Clock::time_point{};
      contender_->op->apply(alpha, x, beta, y, stream_);
      if (operators_.on_host()) seconds_ = seconds_since(start);
      if (watched != nullptr) watched->watch->stop(stream_);
      launched_ = true;
    } catch (const std::exception& error) {
      if (best_) throw;
      const std::scoped_lock lock(operators_.mutex_);
      if (operators_.on_trial_ == contender_) {
        note_failure(operators_.failure_, error);
        operators_.on_trial_ = nullptr;
        operators_.wake_who_waits();
      }
    }
    return launched_;
  }

 private:
  // With the lock held. Some are enough, for to watch one takes time too: each stands for those since the last.
  void watch_beside() {
    constexpr int one_in = 8;
    auto& beside = operators_.beside_;
    if (operators_.unwatched_ == 0) operators_.unwatched_since_ = Clock::now();
    if (++operators_.unwatched_ % one_in != 0 || beside.watch == nullptr || !beside.is_idle()) {
      return;
    }
    beside.state = TimedCall::State::launching;
    beside_ = &beside;
  }

  Operators& operators_;
  Stream stream_;
  Contender<T>* contender_ = nullptr;
  TimedCall* call_ = nullptr;
  TimedCall* beside_ = nullptr;
  double seconds_ = 0;  // on the host
  bool best_ = false;
  bool launched_ = false;
};

template <class T>
Operators<T>::Operators(Place place, const TrialRecord& first, std::unique_ptr<LiveOperator<T>>&& op,
                        std::function<void()> wake)
    : place_(place), wake_(std::move(wake)), uses_(place) {
  updating_.reserve(1);
  contenders_.push_back(std::make_unique<Contender<T>>());
  best_ = contenders_.front().get();
  best_->record = first;
  best_->op = std::move(op);
}

// ---- Products

template <class T>
bool Operators<T>::apply(T alpha, const T* x, T beta, T* y, Stream stream) {
  const auto* op = settled_.load(std::memory_order_acquire);
  if (op == nullptr && is_capturing(place_, stream)) {
    const std::scoped_lock lock(mutex_);
    best_->use.pinned = true;
    op = best_->op.get();
  }
  if (op != nullptr) {
    op->apply(alpha, x, beta, y, stream);
    return false;
  }
  const DriverTurn turn(place_.backend);  // one for all that a product and its stopwatch ask
  while (!Product(*this, stream).launch(alpha, x, beta, y)) {
  }
  return true;
}

template <class T>
void Operators<T>::await_device(Stream stream) {
  if (on_host() || settled()) return;
  {
    const std::scoped_lock lock(mutex_);
    if (!keeps_near() || !backlog_.may_be_long()) return;
  }
  if (is_capturing(place_, stream)) return;
  for (const auto begun = Clock::now();;) {
    {
      const DriverTurn turn(place_.backend);
      const std::scoped_lock lock(mutex_);
      if (!keeps_near() || !backlog_.is_long()) return;
      if (seconds_since(begun) > most_awaited) {
        backlog_.give_up();
        return;
      }
    }
    // Awake: to be woken takes as long as many products.
    for (const auto asked = Clock::now(); seconds_since(asked) < between_questions;) {
    }
  }
}

template <class T>
void Operators<T>::note_earlier_product(Stream stream) {
  const DriverTurn turn(place_.backend);
  const std::scoped_lock lock(mutex_);
  uses_.note_product(best_->use, stream);
  --untimed_;
}

template <class T>
TrialRecord Operators<T>::choice() const {
  const std::scoped_lock lock(mutex_);
  return best_->record;
}

template <class T>
std::int64_t Operators<T>::bytes() const {
  const std::scoped_lock lock(mutex_);
  return best_->op->bytes();
}

// ---- Values

template <class T>
void Operators<T>::pin_all() {
  const std::scoped_lock lock(mutex_);
  for (const auto& contender : contenders_) {
    ++contender->use.launching;
    updating_.push_back(contender.get());
  }
}

template <class T>
void Operators<T>::unpin_all(Stream stream) {
  const bool capturing = is_capturing(place_, stream);
  const std::scoped_lock lock(mutex_);
  for (auto* contender : updating_) {
    --contender->use.launching;
    if (on_host()) continue;
    if (capturing) {
      contender->use.pinned = true;
    } else {
      uses_.note_end(contender->use, stream);
    }
  }
  updating_.clear();
}

template <class T>
bool Operators<T>::takes_any_values() const {
  const std::scoped_lock lock(mutex_);
  return std::all_of(contenders_.begin(), contenders_.end(),
                     [](const auto& contender) { return contender->op->takes_any_values(); });
}

template <class T>
void Operators<T>::drain() {
  pin_all();
  for (const auto* contender : updating_) contender->op->drain();
  unpin_all({});
}

template <class T>
void Operators<T>::prepare(const CsrView<T>& next, Stream stream) {
  pin_all();
  for (auto* contender : updating_) {
    if (on_host() || !contender->op->takes_any_values()) contender->op->prepare(next, stream);
  }
}

template <class T>
void Operators<T>::abandon(const CsrView<T>& former, Stream stream) {
  for (auto* contender : updating_) {
    if (on_host() || !contender->op->takes_any_values()) contender->op->abandon(former, stream);
  }
  unpin_all(stream);
}

template <class T>
void Operators<T>::commit(const CsrView<T>& next, Stream stream) {
  if (updating_.empty()) pin_all();
  for (auto* contender : updating_) contender->op->commit(next, stream);
  const bool moved =
      std::any_of(updating_.begin(), updating_.end(), [](const auto* contender) { return contender->op->moved(); });
  if (moved) end_trials();
  unpin_all(stream);
}

template <class T>
void Operators<T>::end_trials() {
  const std::scoped_lock lock(mutex_);
  other_values_ = true;
  wake_who_waits();
}

template <class T>
bool Operators<T>::has_other_values() const {
  const std::scoped_lock lock(mutex_);
  return other_values_;
}

// ---- Trials

template <class T>
Contender<T>& Operators<T>::add(TrialRecord record, std::unique_ptr<LiveOperator<T>> op) {
  auto contender = std::make_unique<Contender<T>>(Contender<T>{std::move(record), std::move(op)});
  const std::scoped_lock lock(mutex_);
  contenders_.reserve(contenders_.size() + 1);
  updating_.reserve(contenders_.size() + 1);
  contenders_.push_back(std::move(contender));
  return *contenders_.back();
}

template <class T>
void Operators<T>::note(Contender<T>& contender, const Measurement& measurement) {
  const std::scoped_lock lock(mutex_);
  contender.record.measurement = measurement;
}

template <class T>
void Operators<T>::begin_trial(Contender<T>& contender, int untimed, std::span<TimedCall> calls) {
  // Made before the lock is taken, for products would wait for it. Those of a trial's calls are asked for during a
  // trial only.
  for (auto& call : calls) {
    if (!call.watch) call.watch = make_stopwatch(place_);
  }
  const bool is_first = !on_host() && !beside_.watch;
  std::unique_ptr<Stopwatch> beside;
  Backlog::Marks marks;
  if (is_first) {
    beside = make_stopwatch(place_);
    for (auto& mark : marks) mark = make_stopwatch(place_);
  }
  const std::scoped_lock lock(mutex_);
  if (is_first) {
    beside_.watch = std::move(beside);
    backlog_.use(std::move(marks));
  }
  for (auto& call : calls_) call.skip();
  for (auto& call : calls) call.state = TimedCall::State::idle;
  untimed_ = untimed;
  on_trial_ = &contender;
}

template <class T>
bool Operators<T>::awaits_calls() {
  const std::scoped_lock lock(mutex_);
  awaited_ = !trial_is_over();
  return awaited_;
}

template <class T>
std::vector<double> Operators<T>::end_trial(Contender<T>& contender) {
  const std::scoped_lock lock(mutex_);
  const bool failed = on_trial_ == nullptr;
  on_trial_ = nullptr;
  auto& measurement = contender.record.measurement;
  if (!all_calls_done()) {
    contender.use.pinned = true;  // the device may still run its last products
    if (!failed) return {};
    measurement.outcome = failure_.outcome;
    measurement.detail = failure_.detail;
    measurement.given_up = failure_.given_up;
    return {};
  }
  std::vector<double> all;
  std::vector<double> samples;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (!(calls_[i].seconds > 0)) continue;
    all.push_back(calls_[i].seconds);
    if (i >= warm_up_calls) samples.push_back(calls_[i].seconds);
  }
  if (samples.empty()) samples.push_back(calls_[warm_up_calls - 1].seconds);
  measurement.warm = summary_of(std::move(samples));
  return all;
}

// What else runs on the host makes products slower, and none faster.
template <class T>
Timing Operators<T>::summary_of(std::vector<double> seconds) const {
  std::sort(seconds.begin(), seconds.end());
  if (on_host()) seconds.resize((seconds.size() + 1) / 2);
  return summarize(std::move(seconds));
}

template <class T>
bool Operators<T>::is_launching() const {
  const std::scoped_lock lock(mutex_);
  return std::any_of(calls_.begin(), calls_.end(),
                     [](const TimedCall& call) { return call.state == TimedCall::State::launching; });
}

template <class T>
void Operators<T>::adopt(Contender<T>& contender) {
  const std::scoped_lock lock(mutex_);
  best_ = &contender;
  lately_count_ = 0;
}

template <class T>
std::optional<double> Operators<T>::time_best_anew() {
  const std::scoped_lock lock(mutex_);
  if (lately_count_ < lately_.size()) return std::nullopt;
  auto& warm = best_->record.measurement.warm;
  const double former = warm.median;
  warm = summary_of({lately_.begin(), lately_.end()});
  return warm.median / former;
}

template <class T>
bool Operators<T>::changed_over() const {
  const std::scoped_lock lock(mutex_);
  return uses_.has_no_other_than(best_->use);
}

template <class T>
void Operators<T>::settle() {
  const std::scoped_lock lock(mutex_);
  if (on_trial_ != nullptr) on_trial_->use.pinned = true;
  on_trial_ = nullptr;
  uses_.pin_all_but(best_->use);
  settled_.store(best_->op.get(), std::memory_order_release);
}

// One whose last product the device has run.
template <class T>
std::unique_ptr<Contender<T>> Operators<T>::take_loser() {
  const std::scoped_lock lock(mutex_);
  const auto at =
      std::find_if(contenders_.begin(), contenders_.end(), [&](const auto& contender) { return !in_use(*contender); });
  if (at == contenders_.end()) return nullptr;
  auto loser = std::move(*at);
  contenders_.erase(at);
  uses_.forget(loser->use);
  return loser;
}

template <class T>
bool Operators<T>::free_losers() {
  // Freed without the lock.
  while (take_loser() != nullptr) {
  }
  const std::scoped_lock lock(mutex_);
  return std::all_of(contenders_.begin(), contenders_.end(),
                     [&](const auto& contender) { return contender.get() == best_ || contender->use.pinned; });
}

// ---- What products tell the budget

template <class T>
void Operators<T>::note_step(bool runs) {
  const std::scoped_lock lock(mutex_);
  step_runs_ = runs;
}

template <class T>
std::int64_t Operators<T>::take_products() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(products_, 0);
}

template <class T>
double Operators<T>::take_slowing() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(slowing_, 0.0);
}

template <class T>
void Operators<T>::wake_in(std::int64_t products) {
  const std::scoped_lock lock(mutex_);
  wake_in_ = products;
}

// ---- With the lock held

template <class T>
void Operators<T>::collect() {
  note_slowing();
  if (on_trial_ == nullptr) return;
  // What the best takes decides nothing before all are there.
  if (on_trial_ == best_ && std::any_of(calls_.begin(), calls_.end(), std::mem_fn(&TimedCall::is_idle))) return;
  for (auto& call : calls_) {
    if (call.state != TimedCall::State::running) continue;
    // Those after it have hardly ended earlier, and each question costs time.
    if (!call.watch->stopped()) break;
    call.seconds = call.watch->seconds();
    call.state = TimedCall::State::done;
  }
  if (is_too_slow()) skip_idle_calls();
  if (trial_is_over()) wake_who_waits();
}

template <class T>
void Operators<T>::note_slowing() {
  if (beside_.state != TimedCall::State::running || !beside_.watch->stopped()) return;
  beside_.state = TimedCall::State::idle;
  if (best_->record.measurement.warm.samples == 0) {
    unwatched_ = 0;  // nobody knows what it takes alone
    return;
  }
  slowing_ += slowing_of(std::exchange(unwatched_, 0), beside_.watch->seconds(), best_seconds(),
                         seconds_since(unwatched_since_));
}

template <class T>
bool Operators<T>::all_calls_done() const {
  return std::all_of(calls_.begin(), calls_.end(),
                     [](const TimedCall& call) { return call.state == TimedCall::State::done; });
}

template <class T>
bool Operators<T>::trial_is_over() const {
  return on_trial_ == nullptr || other_values_ || all_calls_done();
}

template <class T>
void Operators<T>::wake_who_waits() {
  if (std::exchange(awaited_, false)) wake_();
}

// A product that something else held up says nothing of the candidate, so one is not enough.
template <class T>
bool Operators<T>::is_too_slow() const {
  if (best_->record.measurement.warm.samples == 0) return false;
  const double limit = slower_factor * best_seconds();
  return std::all_of(calls_.begin(), calls_.begin() + warm_up_calls, [&](const TimedCall& call) {
    return call.state == TimedCall::State::done && call.seconds > limit;
  });
}

template <class T>
void Operators<T>::skip_idle_calls() {
  for (auto& call : calls_) {
    if (call.is_idle()) call.skip();
  }
}

template <class T>
bool Operators<T>::in_use(const Contender<T>& contender) const {
  const auto& use = contender.use;
  return &contender == best_ || &contender == on_trial_ || use.pinned || use.launching > 0 || uses_.has(use);
}

template class Operators<float>;
template class Operators<double>;

}  // namespace autospmv
