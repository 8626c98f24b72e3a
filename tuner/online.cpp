#include "tuner/online.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <random>
#include <utility>

#include "core/error.hpp"
#include "core/relaxed_capture.hpp"
#include "core/shortage.hpp"
#include "tuner/clock.hpp"
#include "tuner/conversion.hpp"
#include "tuner/first_launch.hpp"
#include "tuner/meter.hpp"
#include "tuner/tuner.hpp"

namespace autospmv {

namespace {

// What steps take on the host: products of plain CSR, which pass over the matrix once, and seconds besides.
constexpr double products_of_key = 5;
constexpr double seconds_of_lookup = 3e-4;
constexpr double products_of_features = 12;
constexpr double seconds_of_prediction = 5e-4;
constexpr double seconds_of_experience = 3e-5;  // of each matrix that the database knows, once a process
constexpr double products_of_references = 20;

}  // namespace

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
    if (ride_ != nullptr) return;
    ++online.unaccounted_;
    if (--online.due_in_ == 0) online.post();
  }

  ~Product() {
    const std::scoped_lock lock(online_.mutex_);
    if (ride_ != nullptr) {
      ride_->state = launched_ ? Ride::State::running : Ride::State::idle;
    } else if (launched_ && online_.on_host()) {
      online_.note_seconds(*runner_, seconds_);
    }
    if (!online_.on_host() && (ride_ == nullptr || !launched_)) online_.note_use(*runner_, stream_);
    --runner_->launching;
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  /// False where a candidate could not be launched, which then does not ride any more.
  [[nodiscard]] bool launch(T alpha, const T* x, T beta, T* y) {
    try {
      if (ride_ != nullptr) ride_->watch->start(stream_);
      const auto start = online_.on_host() ? Clock::now() : Clock::time_point{};
      runner_->op->apply(alpha, x, beta, y, stream_);
      if (online_.on_host()) seconds_ = seconds_since(start);
      if (ride_ != nullptr) ride_->watch->stop(stream_);
      launched_ = true;
    } catch (const std::exception& error) {
      if (best_) throw;
      const std::scoped_lock lock(online_.mutex_);
      if (online_.riding_ == runner_) {
        note_failure(online_.failure_, error);
        online_.riding_ = nullptr;
        online_.wake();
      }
    }
    return launched_;
  }

 private:
  Online& online_;
  Stream stream_;
  Runner* runner_ = nullptr;
  Ride* ride_ = nullptr;
  double seconds_ = 0;  // on the host
  bool best_ = false;
  bool launched_ = false;
};

template <class T>
Online<T>::Online(std::shared_ptr<Service> service, OnlineTask<T> task, const TrialRecord& first,
                  std::unique_ptr<LiveOperator<T>>&& op)
    : service_(std::move(service)),
      device_(service_->device()),
      place_(device_),
      task_(std::move(task)),
      budget_(on_host() ? Budget(task_.limits) : Budget::unlimited()) {
  updating_.reserve(1);
  runners_.push_back(std::make_unique<Runner>());
  best_ = runners_.front().get();
  best_->record = first;
  best_->op = std::move(op);
}

template <class T>
void Online<T>::begin() {
  const auto get_ready = [&] {
    steps_ = work();
    if (!service_->watch(this->weak_from_this())) return false;
    if (on_host()) return true;
    errand_ = std::make_shared<Background::Errand>([weak = this->weak_from_this()] {
      if (const auto online = weak.lock()) online->resume();
    });
    return service_->start_background();
  };
  const bool ready = unless_short(get_ready, [&](const char* shortage) {
    service_->tell(LogLevel::warning, "nothing is tuned online", shortage);
    return false;
  });
  if (ready) {
    post();
  } else {
    stop();
  }
}

template <class T>
void Online<T>::stop() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.wait(lock, [&] { return !running_; });
    if (ended_) return;
    ended_ = true;
  }
  record(false);
  settle();
  service_.reset();
}

template <class T>
void Online<T>::post(std::chrono::milliseconds delay) {
  if (on_host()) {
    due_.store(true, std::memory_order_relaxed);
    return;
  }
  // Where it is refused, the service has ended, and this is stopped by it.
  (void)service_->background()->post(errand_, delay);
}

template <class T>
void Online<T>::resume() {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_ || ended_ || running_) return;
    running_ = true;
    due_.store(false, std::memory_order_relaxed);
  }
  charged_ = Clock::now();
  try {
    const DeviceScope scope(place_);
    const RelaxedCapture relaxed(place_);
    steps_.resume();
  } catch (const Error& error) {
    // The device cannot even be entered: nothing will be tried on it any more.
    service_->tell(LogLevel::error, "online tuning", error.what());
    settle();
  }
  const bool done = steps_.done();
  if (done) service_.reset();
  const std::scoped_lock lock(mutex_);
  charge();
  running_ = false;
  ended_ = done;
  changed_.notify_all();
}

template <class T>
void Online<T>::take_turn() {
  if (due_.load(std::memory_order_relaxed)) resume();
}

template <class T>
void Online<T>::account() {
  const auto& best = best_->record.measurement.warm;
  if (best.samples > 0) budget_.earn(unaccounted_, best.median);
  unaccounted_ = 0;
}

template <class T>
void Online<T>::charge() {
  const auto now = Clock::now();
  budget_.spend(std::chrono::duration<double>(now - charged_).count());
  charged_ = now;
}

template <class T>
bool Online<T>::affords(double seconds) {
  const std::scoped_lock lock(mutex_);
  charge();
  account();
  due_in_ = budget_.products_until(seconds, best_->record.measurement.warm.median);
  return due_in_ == 0 || stopping_ || other_kind_;
}

template <class T>
double Online<T>::expected_prediction() const {
  const bool experienced = service_->template known_experience<T>() != nullptr;
  const auto read = experienced ? 0 : service_->database().matrices();
  return seconds_of_prediction + seconds_of_experience * static_cast<double>(read);
}

template <class T>
double Online<T>::price(double products, double seconds) const {
  return products * budget_.plain() + seconds;
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
    if (on_host()) take_turn();
  }
}

template <class T>
void Online<T>::pin_runners() {
  const std::scoped_lock lock(mutex_);
  for (const auto& runner : runners_) {
    ++runner->launching;
    updating_.push_back(runner.get());
  }
}

template <class T>
void Online<T>::unpin_runners(Stream stream) {
  const bool capturing = is_capturing(place_, stream);
  const std::scoped_lock lock(mutex_);
  for (auto* runner : updating_) {
    --runner->launching;
    if (place_.backend == Backend::host) continue;
    if (capturing) {
      runner->pinned = true;
    } else {
      note_end(*runner, stream);
    }
  }
  updating_.clear();
}

template <class T>
bool Online<T>::takes_any_values() const {
  const std::scoped_lock lock(mutex_);
  return std::all_of(runners_.begin(), runners_.end(),
                     [](const auto& runner) { return runner->op->takes_any_values(); });
}

template <class T>
void Online<T>::drain() {
  pin_runners();
  for (const auto* runner : updating_) runner->op->drain();
  unpin_runners({});
}

template <class T>
void Online<T>::prepare(const CsrView<T>& next, Stream stream) {
  pin_runners();
  for (auto* runner : updating_) {
    if (place_.backend == Backend::host || !runner->op->takes_any_values()) runner->op->prepare(next, stream);
  }
}

template <class T>
void Online<T>::abandon(const CsrView<T>& former, Stream stream) {
  for (auto* runner : updating_) {
    if (place_.backend == Backend::host || !runner->op->takes_any_values()) runner->op->abandon(former, stream);
  }
  unpin_runners(stream);
}

// Before any product sees the new values, so that none of their times is filed under the old kind.
template <class T>
void Online<T>::commit(const CsrView<T>& next, Stream stream) {
  if (!settled() && !same_kind(next, stream)) end_search();
  if (updating_.empty()) pin_runners();
  for (auto* runner : updating_) runner->op->commit(next, stream);
  const bool moved =
      std::any_of(updating_.begin(), updating_.end(), [](const auto* runner) { return runner->op->moved(); });
  if (moved) end_search();
  unpin_runners(stream);
  const std::scoped_lock lock(mutex_);
  verifier_.reset();
}

template <class T>
void Online<T>::end_search() {
  const std::scoped_lock lock(mutex_);
  other_kind_ = true;
  wake();
}

// What cannot be looked at counts as another kind.
template <class T>
bool Online<T>::same_kind(const CsrView<T>& matrix, Stream stream) const {
  if (!task_.key.has_pattern()) return true;  // nothing is filed yet
  if (is_capturing(place_, stream)) return false;
  const auto look = [&] {
    order_after(place_, setup_stream(place_), stream);
    return task_.key.value_type == kind_of_values(matrix, device_);
  };
  return unless_short(look, [](const char* /*shortage*/) { return false; });
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
double Online<T>::tuning_seconds() const {
  const std::scoped_lock lock(mutex_);
  return budget_.spent();
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
  if (has_ridden()) wake();
}

template <class T>
bool Online<T>::has_ridden() const {
  return riding_ == nullptr || other_kind_ ||
         std::all_of(rides_.begin(), rides_.end(), [](const Ride& ride) { return ride.state == Ride::State::done; });
}

template <class T>
void Online<T>::wake() {
  if (!waiting_ || stopping_) return;
  waiting_ = false;
  post();
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
bool Online<T>::is_over() const {
  const std::scoped_lock lock(mutex_);
  return stopping_ || other_kind_;
}

template <class T>
Steps Online<T>::work() {
  constexpr std::chrono::milliseconds moment{1};
  bool all_tried = false;
  bool doubts = false;  // what the database says of this matrix
  try {
    const auto start = Clock::now();
    board(*best_);
    co_await RidesDone{*this};
    alight(*best_);
    {
      const std::scoped_lock lock(mutex_);
      best_->record.measurement.setup_seconds = task_.setup_seconds;
    }
    best_total_ = total_seconds(best_->record.measurement, task_.limits);
    co_await Affordable{*this, price(products_of_key, seconds_of_lookup)};
    std::optional<TrialRecord> winner;
    if (!is_over()) winner = look_up();
    if (winner && winner->candidate != best_->record.candidate) {
      const auto& known = winner->measurement;
      co_await Affordable{*this, known.setup_seconds + price_of_rides(known.warm.median)};
      Measurement trial;
      Runner* const runner = is_over() ? nullptr : make_runner(prospect_of(*winner), trial, Verification::done_before);
      if (runner != nullptr) {
        time_best_anew();
        board(*runner);
        co_await RidesDone{*this};
        alight(*runner);
        // Whichever is faster stays. Where the record is far off, what was measured beside it is worth no more.
        const bool timed = is_timed(runner->record.measurement);
        const bool adopted = timed && !is_over() && adopt_if_best(*runner);
        doubts = !timed || (!adopted && is_doubtful(*runner, known));
        all_tried = !doubts;
      }
    } else {
      all_tried = winner.has_value();
    }
    std::unique_ptr<Search> search;
    if (!all_tried && !is_over()) {
      co_await Affordable{*this, price(products_of_features, expected_prediction())};
      if (!is_over()) prepare();
      co_await Affordable{*this, price(products_of_references, 0)};
      if (!is_over()) verify_first();
      std::vector<TrialRecord> known;
      if (!doubts) known = service_->database().trials(task_.key, task_.limits, task_.catalogue);
      // Its trial of now before one of earlier.
      known.insert(known.begin(), records_.begin(), records_.end());
      search = make_online_search(task_.prospects, known, task_.limits, rules());
    }
    while (search && !is_over() && !(seconds_since(start) > task_.limits.time_limit_seconds)) {
      const auto* const prospect = search->next();
      all_tried = prospect == nullptr;
      if (all_tried) break;
      co_await Affordable{*this, price_of_trial(*prospect)};
      if (is_over()) break;
      Measurement trial;
      Runner* const runner = make_runner(*prospect, trial, Verification::due);
      if (runner != nullptr) {
        // Of a candidate that failed, a product may still be under way.
        while (is_launching()) co_await Pause{*this, moment};
        time_best_anew();
        board(*runner);
        co_await RidesDone{*this};
        alight(*runner);
        if (is_over()) break;
        judge(*runner);
        trial = runner->record.measurement;
      }
      search->report(trial, 0);
      free_losers();
    }
  } catch (const std::exception& error) {
    const char* const shortage = shortage_in_hand();
    service_->tell(shortage != nullptr ? LogLevel::warning : LogLevel::error, "online tuning ended early",
                   shortage != nullptr ? shortage : error.what());
  }
  record(all_tried && !is_over());
  for (auto waited = moment; waited < patience && !changed_over(); waited += moment) co_await Pause{*this, moment};
  // Once it has settled, products of the host give no turn any more.
  while (on_host() && !free_losers()) co_await Pause{*this, moment};
  settle();
  while (!free_losers()) co_await Pause{*this, moment};
  if (on_host()) co_return;
  try {
    // For the matrices that come next, which will not wait for it.
    (void)service_->template experience<T>();
    service_->template read_ahead<T>();
  } catch (const std::exception& error) {
    service_->tell(LogLevel::error, "after online tuning", error.what());
  }
}

template <class T>
SearchRules Online<T>::rules() {
  SearchRules rules;
  rules.products_of_trial = warm_up_rides + timed_rides;
  return rules;
}

// What rides take more than products of the best would.
template <class T>
double Online<T>::price_of_rides(double seconds) const {
  const double best = best_->record.measurement.warm.median;
  return (warm_up_rides + timed_rides) * std::max(0.0, seconds - best);
}

template <class T>
double Online<T>::price_of_trial(const Prospect& prospect) const {
  const auto& prediction = prospect.prediction;
  const double verification = verification_ * prediction.seconds;
  return conversion_miss_ * prediction.setup_seconds + verification + price_of_rides(prediction.seconds);
}

template <class T>
bool Online<T>::is_doubtful(const Runner& runner, const Measurement& known) const {
  return service_->rechecks() && runner.record.measurement.warm.median > doubtful * known.warm.median;
}

template <class T>
Prospect Online<T>::prospect_of(const TrialRecord& trial) const {
  Prospect prospect;
  prospect.candidate = trial.candidate;
  prospect.format_version = trial.format_version;
  prospect.deterministic = is_deterministic<T>(trial.candidate, device_);
  return prospect;
}

template <class T>
std::optional<TrialRecord> Online<T>::look_up() {
  const auto values = task_.matrix->hold_values();
  if (!task_.key.has_pattern()) task_.key = key_of(*task_.matrix, device_);
  auto& database = service_->database();
  if (!was_tuned(database, task_.key, Effort::online, task_.limits, task_.catalogue)) return std::nullopt;
  return database.winner(task_.key, task_.limits, task_.catalogue);
}

template <class T>
void Online<T>::prepare() {
  if (!task_.prospects.empty()) return;
  const auto features = [&] {
    const auto values = task_.matrix->hold_values();
    return extract_features(task_.matrix->on(place_), device_);
  }();
  task_.described.features = named_values(features);
  task_.prospects = prospects_of<T>(features, task_.key, *service_, service_->template experience<T>());
}

// It multiplies already, and was timed: as a candidate, it is only verified.
template <class T>
void Online<T>::verify_first() {
  auto& runner = *best_;
  auto trial = runner.record.measurement;
  trial.bytes = runner.op->bytes();
  {
    const auto values = task_.matrix->hold_values();
    if (is_over()) return;
    (void)make_verifier();
    const auto start = Clock::now();
    verify(runner.op->current(), trial, std::numeric_limits<double>::infinity());
    if (budget_.plain() > 0) verification_ = seconds_since(start) / budget_.plain();
  }
  {
    const std::scoped_lock lock(mutex_);
    runner.record.measurement = trial;
  }
  // Whatever passes is better than what does not.
  if (trial.outcome != Outcome::passed) best_total_ = std::numeric_limits<double>::infinity();
  judge(runner);
}

template <class T>
typename Online<T>::Runner* Online<T>::make_runner(const Prospect& prospect, Measurement& trial,
                                                   Verification verification) {
  const auto forbidden = [&](double bytes) {
    auto limit = limit_that_forbids(prospect, bytes);
    if (limit.empty()) return false;
    trial.outcome = Outcome::refused;
    trial.detail = std::move(limit);
    return true;
  };
  trial.outcome = Outcome::passed;
  if (forbidden(prospect.cost.storage_bytes)) return nullptr;
  const auto values = task_.matrix->hold_values();
  // After an update, what is built now may be of another kind.
  if (is_over()) return nullptr;
  auto op = build(prospect, trial, verification);
  if (trial.outcome == Outcome::passed && forbidden(static_cast<double>(trial.bytes))) return nullptr;
  TrialRecord record{prospect.candidate, prospect.format_version, prospect.deterministic, trial};
  if (op == nullptr) {
    service_->complain(record);
    if (verification == Verification::due) records_.push_back(std::move(record));
    return nullptr;
  }
  auto live =
      std::make_unique<LiveOperator<T>>(std::move(op), place_, rebuilding(prospect.candidate, device_, task_.formats));
  auto runner = std::make_unique<Runner>(Runner{std::move(record), std::move(live)});
  const std::scoped_lock lock(mutex_);
  runners_.reserve(runners_.size() + 1);
  updating_.reserve(runners_.size() + 1);
  runners_.push_back(std::move(runner));
  return runners_.back().get();
}

// What the limits let not win does not ride either.
template <class T>
std::string Online<T>::limit_that_forbids(const Prospect& prospect, double bytes) {
  if (task_.limits.deterministic && !prospect.deterministic) return "not deterministic";
  if (!(bytes > task_.limits.memory_factor * static_cast<double>(task_.described.csr_bytes))) return {};
  left_out_ = true;
  return "more memory than the limit";
}

// Nothing but an operator that has passed is returned.
template <class T>
std::unique_ptr<Operator<T>> Online<T>::build(const Prospect& prospect, Measurement& measurement,
                                              Verification verification) {
  FirstLaunch launch(service_->database(), task_.key, prospect.candidate);
  std::unique_ptr<Operator<T>> op;
  try {
    op = convert(task_.matrix->on(place_), prospect.candidate, device_, task_.formats, measurement);
    const double expected = prospect.prediction.setup_seconds;
    if (op != nullptr && expected > 0) conversion_miss_ = std::max(1.0, measurement.setup_seconds / expected);
    if (op != nullptr && verification == Verification::due) verify(*op, measurement, hopeless_seconds());
    if (measurement.warm.samples > 0) op.reset();
  } catch (const std::exception& error) {
    op.reset();
    note_failure(measurement, error);
    if (measurement.given_up) left_out_ = true;
    try {
      // A sticky error would fail every later trial too.
      synchronize(place_, setup_stream(place_));
    } catch (const DeviceError&) {
      records_.push_back({prospect.candidate, prospect.format_version, prospect.deterministic, measurement});
      throw;
    }
  }
  launch.survive();
  if (measurement.outcome != Outcome::passed) op.reset();
  return op;
}

// Called with the values held.
template <class T>
std::shared_ptr<Verifier<T>> Online<T>::make_verifier() {
  {
    const std::scoped_lock lock(mutex_);
    if (verifier_) return verifier_;
  }
  auto verifier = std::make_shared<Verifier<T>>(task_.matrix->on(place_), device_, std::random_device{}());
  const std::scoped_lock lock(mutex_);
  verifier_ = verifier;
  return verifier;
}

template <class T>
void Online<T>::verify(const Operator<T>& op, Measurement& measurement, double limit) {
  const auto verifier = make_verifier();
  verifier->verify(op, measurement, limit);
}

// The background alone writes what this reads, with mutex_ held: it needs no lock here, others have it.
template <class T>
double Online<T>::hopeless_seconds() const {
  const auto& best = best_->record.measurement.warm;
  return best.samples > 0 ? hopeless_factor * best.median : std::numeric_limits<double>::infinity();
}

template <class T>
bool Online<T>::is_launching() const {
  const std::scoped_lock lock(mutex_);
  return std::any_of(rides_.begin(), rides_.end(), [](const Ride& one) { return one.state == Ride::State::launching; });
}

template <class T>
void Online<T>::note_seconds(const Runner& runner, double seconds) {
  if (&runner == best_) lately_[lately_count_++ % lately_.size()] = seconds;
}

// A processor speeds up, and others come and go: a candidate is held against what the best takes now.
template <class T>
void Online<T>::time_best_anew() {
  const std::scoped_lock lock(mutex_);
  if (lately_count_ < lately_.size()) return;
  auto& measurement = best_->record.measurement;
  const double former = measurement.warm.median;
  measurement.warm = summary_of_rides({lately_.begin(), lately_.end()});
  // The others are as much slower than it as they were.
  const double ratio = measurement.warm.median / former;
  if (still_plain_) budget_.set_plain(measurement.warm.median);
  if (measurement.outcome == Outcome::passed) best_total_ = total_seconds(measurement, task_.limits);
  for (auto& record : records_) {
    auto& warm = record.measurement.warm;
    for (auto* seconds : {&warm.median, &warm.low_quartile, &warm.high_quartile}) *seconds *= ratio;
    if (record.candidate == best_->record.candidate) warm = measurement.warm;
  }
}

// What else runs on the host makes products slower, and none faster.
template <class T>
Timing Online<T>::summary_of_rides(std::vector<double> seconds) const {
  std::sort(seconds.begin(), seconds.end());
  if (on_host()) seconds.resize((seconds.size() + 1) / 2);
  return summarize(std::move(seconds));
}

// From now on products use it.
template <class T>
void Online<T>::board(Runner& runner) {
  const std::scoped_lock lock(mutex_);
  for (auto& one : rides_) {
    if (!one.watch) one.watch = make_stopwatch(place_);
    one.state = Ride::State::idle;
  }
  riding_ = &runner;
}

// No more do, and what they took is its measurement.
template <class T>
void Online<T>::alight(Runner& runner) {
  const std::scoped_lock lock(mutex_);
  const bool failed = riding_ == nullptr;
  riding_ = nullptr;
  const bool done =
      std::all_of(rides_.begin(), rides_.end(), [](const Ride& one) { return one.state == Ride::State::done; });
  if (!done) {
    runner.pinned = true;  // the device may still run its last products
    if (!failed) return;
    runner.record.measurement.outcome = failure_.outcome;
    runner.record.measurement.detail = failure_.detail;
    runner.record.measurement.given_up = failure_.given_up;
    if (failure_.given_up) left_out_ = true;
    return;
  }
  std::vector<double> samples;
  for (auto one = rides_.begin() + warm_up_rides; one != rides_.end(); ++one) {
    if (one->seconds > 0) samples.push_back(one->seconds);
  }
  if (samples.empty()) samples.push_back(rides_[warm_up_rides - 1].seconds);
  runner.record.measurement.warm = summary_of_rides(std::move(samples));
  // What its first products take, while caches are cold, they would take without any tuning.
  if (budget_.plain() == 0) budget_.set_plain(runner.record.measurement.warm.median);
  for (const auto& one : rides_) {
    if (one.seconds > 0) budget_.earn(1, &runner == best_ ? budget_.plain() : one.seconds);
  }
}

template <class T>
void Online<T>::judge(Runner& runner) {
  records_.push_back(runner.record);
  if (runner.record.measurement.outcome != Outcome::passed) {
    service_->complain(runner.record);
    return;
  }
  (void)adopt_if_best(runner);
}

template <class T>
bool Online<T>::adopt_if_best(Runner& runner) {
  const double total = total_seconds(runner.record.measurement, task_.limits);
  if (!(total < best_total_)) return false;
  best_total_ = total;
  const std::scoped_lock lock(mutex_);
  account();
  still_plain_ = still_plain_ && &runner == best_;
  best_ = &runner;
  lately_count_ = 0;
  return true;
}

// Once: what stops a search that is over finds nothing left to do.
template <class T>
void Online<T>::record(bool all_tried) {
  if (std::exchange(recorded_, true)) return;
  const auto write = [&] {
    auto& database = service_->database();
    if (!records_.empty()) database.record(task_.key, task_.described, records_);
    if (all_tried && !left_out_ && !records_.empty()) {
      database.mark_tuned(task_.key, effort_mark(Effort::online, task_.limits), task_.catalogue);
    }
  };
  unless_short(write, [&](const char* shortage) {
    service_->tell(LogLevel::warning, "what was tuned online is not recorded", shortage);
  });
  service_->note_tuned();
}

template <class T>
bool Online<T>::changed_over() const {
  const std::scoped_lock lock(mutex_);
  return std::all_of(followed_.begin(), followed_.end(),
                     [&](const Followed& one) { return one.runner == nullptr || one.runner == best_; });
}

// From now on products note nothing any more: what a loser may still be used by is kept.
template <class T>
void Online<T>::settle() {
  task_.prospects = {};
  const std::scoped_lock lock(mutex_);
  verifier_.reset();
  if (riding_ != nullptr) riding_->pinned = true;
  riding_ = nullptr;
  for (auto& followed : followed_) {
    if (followed.runner != nullptr && followed.runner != best_) followed.runner->pinned = true;
  }
  settled_.store(best_->op.get(), std::memory_order_release);
}

// One whose last product the device has run.
template <class T>
std::unique_ptr<typename Online<T>::Runner> Online<T>::take_loser() {
  const std::scoped_lock lock(mutex_);
  const auto at = std::find_if(runners_.begin(), runners_.end(), [&](const auto& runner) { return !in_use(*runner); });
  if (at == runners_.end()) return nullptr;
  auto loser = std::move(*at);
  runners_.erase(at);
  for (auto& end : ends_) {
    if (end.runner == loser.get()) end.runner = nullptr;
  }
  return loser;
}

template <class T>
bool Online<T>::free_losers() {
  // Freed without the lock.
  while (take_loser() != nullptr) {
  }
  const std::scoped_lock lock(mutex_);
  return std::all_of(runners_.begin(), runners_.end(),
                     [&](const auto& runner) { return runner.get() == best_ || runner->pinned; });
}

template class Online<float>;
template class Online<double>;

}  // namespace autospmv
