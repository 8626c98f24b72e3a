#include "tuner/online.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <random>
#include <utility>

#include "core/error.hpp"
#include "tuner/clock.hpp"
#include "tuner/conversion.hpp"
#include "tuner/meter.hpp"
#include "tuner/tuner.hpp"

namespace autospmv {

// One product that is being given to a stream: its runner cannot go away meanwhile.
template <class T>
class Online<T>::Product {
 public:
  Product(Online& online, Stream stream) : online_(online), stream_(stream) {
    const std::scoped_lock lock(online.mutex_);
    online.collect();
    runner_ = online.best_;
    if (online.riding_ != nullptr) {
      const auto idle = std::find_if(online.rides_.begin(), online.rides_.end(),
                                     [](const Ride& ride) { return ride.state == Ride::State::idle; });
      if (idle != online.rides_.end()) {
        ride_ = &*idle;
        ride_->state = Ride::State::launching;
        runner_ = online.riding_;
      }
    }
    best_ = runner_ == online.best_;
    ++runner_->launching;
  }

  ~Product() {
    const std::scoped_lock lock(online_.mutex_);
    if (ride_ != nullptr) {
      ride_->state = launched_ ? Ride::State::running : Ride::State::idle;
      // The next candidate may be waiting for it.
      if (online_.riding_ != runner_) online_.changed_.notify_all();
    }
    if (ride_ == nullptr || !launched_) online_.note_use(*runner_, stream_);
    --runner_->launching;
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  /// False where a candidate could not be launched, which then does not ride any more.
  [[nodiscard]] bool launch(T alpha, const T* x, T beta, T* y) {
    try {
      if (ride_ != nullptr) ride_->watch->start(stream_);
      runner_->op->apply(alpha, x, beta, y, stream_);
      if (ride_ != nullptr) ride_->watch->stop(stream_);
      launched_ = true;
    } catch (const Error& error) {
      if (best_) throw;
      const std::scoped_lock lock(online_.mutex_);
      if (online_.riding_ == runner_) {
        online_.failure_ = error.what();
        online_.riding_ = nullptr;
        online_.changed_.notify_all();
      }
    }
    return launched_;
  }

 private:
  Online& online_;
  Stream stream_;
  Runner* runner_ = nullptr;
  Ride* ride_ = nullptr;
  bool best_ = false;
  bool launched_ = false;
};

template <class T>
Online<T>::Online(const Context& context, OnlineTask<T> task, TrialRecord first, std::unique_ptr<Operator<T>> op)
    : context_(context), place_(context.device()), task_(std::move(task)) {
  runners_.push_back(std::make_unique<Runner>(Runner{std::move(first), std::move(op)}));
  best_ = runners_.front().get();
  ended_ = context.workers().run([this] { run(); });
}

template <class T>
Online<T>::~Online() {
  stop();
}

template <class T>
void Online<T>::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (ended_.valid()) ended_.wait();
}

template <class T>
bool Online<T>::stopping() const {
  const std::scoped_lock lock(mutex_);
  return stopping_;
}

template <class T>
void Online<T>::apply(T alpha, const T* x, T beta, T* y, Stream stream) {
  const auto* op = settled_.load(std::memory_order_acquire);
  if (op == nullptr && is_capturing(place_, stream)) {
    const std::scoped_lock lock(mutex_);
    best_->pinned = true;
    op = best_->op.get();
  }
  if (op != nullptr) {
    op->apply(alpha, x, beta, y, stream);
  } else {
    while (!Product(*this, stream).launch(alpha, x, beta, y)) {
    }
  }
}

template <class T>
std::unique_lock<std::mutex> Online<T>::hold_values() {
  return std::unique_lock(values_);
}

template <class T>
void Online<T>::values_changed(const CsrView<T>& matrix, Stream stream) {
  task_.matrix = matrix;
  verifier_.reset();
  std::vector<Runner*> runners;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& runner : runners_) {
      ++runner->launching;
      runners.push_back(runner.get());
    }
  }
  const bool capturing = is_capturing(place_, stream);
  const auto finish = [&] {
    const std::scoped_lock lock(mutex_);
    for (auto* runner : runners) {
      if (capturing) {
        runner->pinned = true;
      } else {
        note_end(*runner, stream);
      }
      --runner->launching;
    }
  };
  try {
    for (auto* runner : runners) runner->op->update_values(matrix, stream);
    if (!capturing) order_after(place_, setup_stream(place_), stream);
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

template <class T>
TrialRecord Online<T>::choice() const {
  const std::scoped_lock lock(mutex_);
  return best_->record;
}

template <class T>
std::int64_t Online<T>::bytes() const {
  const std::scoped_lock lock(mutex_);
  return best_->op->bytes();
}

template <class T>
void Online<T>::collect() {
  if (riding_ == nullptr) return;
  for (auto& ride : rides_) {
    if (ride.state != Ride::State::running) continue;
    // Those after it have hardly ended earlier, and each question costs time.
    if (!ride.watch->stopped()) break;
    ride.seconds = ride.watch->seconds();
    ride.state = Ride::State::done;
  }
  if (is_hopeless()) pass_over_idle_rides();
  const auto done = [](const Ride& ride) { return ride.state == Ride::State::done; };
  if (std::all_of(rides_.begin(), rides_.end(), done)) changed_.notify_all();
}

// A product that something else held up says nothing of the candidate, so one is not enough.
template <class T>
bool Online<T>::is_hopeless() const {
  const double limit = hopeless_seconds();
  return std::all_of(rides_.begin(), rides_.begin() + warm_up_rides,
                     [&](const Ride& ride) { return ride.state == Ride::State::done && ride.seconds > limit; });
}

template <class T>
void Online<T>::pass_over_idle_rides() {
  for (auto& ride : rides_) {
    if (ride.state != Ride::State::idle) continue;
    ride.state = Ride::State::done;
    ride.seconds = 0;
  }
}

// An event behind every product would cost as much as a small product. So a stream is only asked for one when its
// products change over to another runner.
template <class T>
void Online<T>::note_use(Runner& runner, Stream stream) {
  std::uint64_t id = 0;
  try {
    id = stream_id(place_, stream);
  } catch (const Error&) {
    runner.pinned = true;
    return;
  }
  auto followed = std::find_if(followed_.begin(), followed_.end(),
                               [&](const Followed& one) { return one.runner != nullptr && one.stream == id; });
  if (followed == followed_.end()) {
    followed =
        std::find_if(followed_.begin(), followed_.end(), [](const Followed& one) { return one.runner == nullptr; });
    if (followed == followed_.end()) {
      if (!runner.pinned) note_end(runner, stream);
      return;
    }
    followed->stream = id;
  } else if (followed->runner != &runner) {
    note_end(*followed->runner, stream);
    changed_.notify_all();
  }
  followed->runner = &runner;
}

// Once the device has come past here in the stream, it has run every product of the runner there.
template <class T>
void Online<T>::note_end(Runner& runner, Stream stream) {
  try {
    const auto id = stream_id(place_, stream);
    auto end = std::find_if(ends_.begin(), ends_.end(),
                            [&](const End& one) { return one.runner == &runner && one.stream == id; });
    if (end == ends_.end()) {
      end =
          std::find_if(ends_.begin(), ends_.end(), [](const End& one) { return !one.runner || one.watch->stopped(); });
    }
    if (end == ends_.end()) {
      runner.pinned = true;
      return;
    }
    if (!end->watch) end->watch = make_stopwatch(place_);
    end->watch->stop(stream);
    end->runner = &runner;
    end->stream = id;
  } catch (const Error&) {
    // The device fails, which the next product will say.
    runner.pinned = true;
  }
}

template <class T>
bool Online<T>::in_use(const Runner& runner) const {
  if (&runner == best_ || &runner == riding_ || runner.pinned || runner.launching > 0) return true;
  return std::any_of(followed_.begin(), followed_.end(), [&](const Followed& one) { return one.runner == &runner; }) ||
         std::any_of(ends_.begin(), ends_.end(),
                     [&](const End& end) { return end.runner == &runner && !end.watch->stopped(); });
}

template <class T>
bool Online<T>::all_use_the_best() const {
  return std::all_of(followed_.begin(), followed_.end(),
                     [&](const Followed& one) { return one.runner == nullptr || one.runner == best_; });
}

template <class T>
void Online<T>::run() {
  bool ended = false;
  try {
    const DeviceScope scope(place_);
    const RelaxedCapture relaxed(place_);
    try {
      ended = search();
    } catch (const std::exception& error) {
      context_.error(std::string("online tuning ended early: ") + error.what());
    }
    settle(ended);
    free_losers();
    // For the matrices that come next, which will not wait for it.
    (void)context_.experience<T>();
    context_.read_ahead<T>();
  } catch (const std::exception& error) {
    context_.error(std::string("after online tuning: ") + error.what());
  }
}

template <class T>
bool Online<T>::search() {
  const auto start = Clock::now();
  prepare();
  if (stopping()) return false;
  auto known = context_.database().trials(task_.key, context_.limits(), task_.catalogue);
  try_first(*runners_.front());
  // Its trial of now before one of earlier.
  known.insert(known.begin(), records_.begin(), records_.end());
  const auto search = make_online_search(task_.prospects, known, context_.limits(), rules());
  while (const auto* const prospect = search->next()) {
    if (stopping()) return false;
    if (seconds_since(start) > context_.limits().time_limit_seconds) return false;
    search->report(try_candidate(*prospect), 0);
    free_losers();
  }
  return !stopping();
}

template <class T>
SearchRules Online<T>::rules() {
  SearchRules rules;
  rules.products_of_trial = warm_up_rides + timed_rides;
  return rules;
}

template <class T>
void Online<T>::prepare() {
  if (!task_.prospects.empty()) return;
  const auto features = [&] {
    const std::scoped_lock values(values_);
    return extract_features(task_.matrix, context_.device());
  }();
  task_.described.features = named_values(features);
  task_.prospects = prospects_of<T>(features, task_.key, context_, context_.experience<T>());
}

// It multiplies already: as a candidate, it is only verified and timed.
template <class T>
void Online<T>::try_first(Runner& runner) {
  Measurement measurement;
  measurement.setup_seconds = task_.setup_seconds;
  measurement.bytes = runner.op->bytes();
  {
    const std::scoped_lock values(values_);
    verify(*runner.op, measurement, std::numeric_limits<double>::infinity());
  }
  {
    const std::scoped_lock lock(mutex_);
    runner.record.measurement = measurement;
  }
  if (measurement.outcome != Outcome::passed) {
    context_.complain(runner.record);
    records_.push_back(runner.record);
  } else if (ride(runner)) {
    judge(runner);
  }
}

template <class T>
Measurement Online<T>::try_candidate(const Prospect& prospect) {
  TrialRecord record{prospect.candidate, prospect.format_version, prospect.deterministic, {}};
  auto& measurement = record.measurement;
  const auto forbidden = [&](double bytes) {
    auto limit = limit_that_forbids(prospect, bytes);
    if (limit.empty()) return false;
    measurement.outcome = Outcome::refused;
    measurement.detail = std::move(limit);
    return true;
  };
  if (forbidden(prospect.cost.storage_bytes)) return measurement;
  Runner* runner = nullptr;
  {
    const std::scoped_lock values(values_);
    auto op = build(prospect, measurement);
    if (measurement.outcome == Outcome::passed && forbidden(static_cast<double>(measurement.bytes))) return measurement;
    if (op == nullptr) {
      context_.complain(record);
      records_.push_back(record);
      return measurement;
    }
    const std::scoped_lock lock(mutex_);
    runners_.push_back(std::make_unique<Runner>(Runner{std::move(record), std::move(op)}));
    runner = runners_.back().get();
  }
  if (!ride(*runner)) return {};
  judge(*runner);
  return records_.back().measurement;
}

// What the limits let not win does not ride either.
template <class T>
std::string Online<T>::limit_that_forbids(const Prospect& prospect, double bytes) {
  if (context_.limits().deterministic && !prospect.deterministic) return "not deterministic";
  if (!(bytes > context_.limits().memory_factor * static_cast<double>(task_.described.csr_bytes))) return {};
  left_out_ = true;
  return "more memory than the limit";
}

// Nothing but an operator that has passed is returned.
template <class T>
std::unique_ptr<Operator<T>> Online<T>::build(const Prospect& prospect, Measurement& measurement) {
  auto& database = context_.database();
  database.note_suspect(task_.key, prospect.candidate);
  std::unique_ptr<Operator<T>> op;
  try {
    op = convert(task_.matrix, prospect.candidate, context_.device(), task_.formats, measurement);
    if (op != nullptr) verify(*op, measurement, hopeless_seconds());
    if (measurement.warm.samples > 0) op.reset();
  } catch (const Error& error) {
    measurement.outcome = Outcome::failed;
    measurement.detail = error.what();
    // A sticky error would fail every later trial too.
    synchronize(place_, setup_stream(place_));
  }
  database.clear_suspect(task_.key, prospect.candidate);
  if (measurement.outcome != Outcome::passed) op.reset();
  return op;
}

template <class T>
void Online<T>::verify(const Operator<T>& op, Measurement& measurement, double limit) {
  if (!verifier_) verifier_ = std::make_unique<Verifier<T>>(task_.matrix, context_.device(), std::random_device{}());
  verifier_->verify(op, measurement, limit);
}

// The background thread alone writes what this reads, with mutex_ held: it needs no lock here, others have it.
template <class T>
double Online<T>::hopeless_seconds() const {
  const auto& best = best_->record.measurement.warm;
  return best.samples > 0 ? hopeless_factor * best.median : std::numeric_limits<double>::infinity();
}

// Waits until products have used it often enough; false where the tuning was stopped before.
template <class T>
bool Online<T>::ride(Runner& runner) {
  std::unique_lock lock(mutex_);
  // Of a candidate that failed, a product may still be under way.
  changed_.wait(lock, [&] {
    return std::none_of(rides_.begin(), rides_.end(),
                        [](const Ride& one) { return one.state == Ride::State::launching; });
  });
  for (auto& one : rides_) {
    if (!one.watch) one.watch = make_stopwatch(place_);
    one.state = Ride::State::idle;
  }
  failure_.clear();
  riding_ = &runner;
  const auto done = [&] {
    return std::all_of(rides_.begin(), rides_.end(), [](const Ride& one) { return one.state == Ride::State::done; });
  };
  changed_.wait(lock, [&] { return stopping_ || riding_ == nullptr || done(); });
  const bool failed = riding_ == nullptr;
  riding_ = nullptr;
  if (!done()) {
    runner.pinned = true;  // the device may still run its last products
    if (!failed) return false;
    runner.record.measurement.outcome = Outcome::failed;
    runner.record.measurement.detail = failure_;
    return true;
  }
  std::vector<double> samples;
  for (auto one = rides_.begin() + warm_up_rides; one != rides_.end(); ++one) {
    if (one->seconds > 0) samples.push_back(one->seconds);
  }
  if (samples.empty()) samples.push_back(rides_[warm_up_rides - 1].seconds);
  runner.record.measurement.warm = summarize(std::move(samples));
  return true;
}

template <class T>
void Online<T>::judge(Runner& runner) {
  records_.push_back(runner.record);
  if (runner.record.measurement.outcome != Outcome::passed) {
    context_.complain(runner.record);
    return;
  }
  const double total = total_seconds(runner.record.measurement, context_.limits());
  if (!(total < best_total_)) return;
  best_total_ = total;
  const std::scoped_lock lock(mutex_);
  best_ = &runner;
}

template <class T>
void Online<T>::settle(bool ended) {
  {
    const std::scoped_lock values(values_);
    verifier_.reset();
  }
  if (!records_.empty()) context_.database().record(task_.key, task_.described, records_);
  if (ended && !left_out_) context_.database().mark_tuned(task_.key, task_.effort_mark, task_.catalogue);
  context_.note_tuned();
  task_.prospects = {};
  std::unique_lock lock(mutex_);
  // Once settled, products note nothing any more.
  changed_.wait_for(lock, patience, [&] { return stopping_ || all_use_the_best(); });
  for (auto& followed : followed_) {
    if (followed.runner != nullptr && followed.runner != best_) followed.runner->pinned = true;
  }
  settled_.store(best_->op.get(), std::memory_order_release);
}

// Those whose last product the device has run; once settled, all of them, however long that takes.
template <class T>
void Online<T>::free_losers() {
  std::vector<std::unique_ptr<Runner>> losers;  // freed without the lock
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto first_loser =
        std::partition(runners_.begin(), runners_.end(), [&](const auto& runner) { return in_use(*runner); });
    losers.insert(losers.end(), std::move_iterator(first_loser), std::move_iterator(runners_.end()));
    runners_.erase(first_loser, runners_.end());
    const bool all_gone = std::all_of(runners_.begin(), runners_.end(),
                                      [&](const auto& runner) { return runner.get() == best_ || runner->pinned; });
    if (all_gone || stopping_ || !settled()) break;
    changed_.wait_for(lock, std::chrono::milliseconds(1));
  }
  for (auto& end : ends_) {
    const auto freed = [&](const auto& loser) { return loser.get() == end.runner; };
    if (std::any_of(losers.begin(), losers.end(), freed)) end.runner = nullptr;
  }
  lock.unlock();
}

template class Online<float>;
template class Online<double>;

}  // namespace autospmv
