#include "tuner/online/online.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/error.hpp"
#include "core/machine/device.hpp"
#include "core/machine/shortage.hpp"
#include "features/recorded.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/context/prospects.hpp"
#include "tuner/measure/plain_loop.hpp"
#include "tuner/objective.hpp"

namespace autospmv {

namespace {

constexpr double seconds_of_history = 3e-5;       // of each matrix that the database knows, once a process
constexpr double most_seconds_of_history = 5e-3;  // of many: they are kept ready

double mean_row(std::int64_t rows, std::int64_t nnz) {
  return static_cast<double>(nnz) / static_cast<double>(std::max<std::int64_t>(1, rows));
}

}  // namespace

template <class T>
Online<T>::Online(std::shared_ptr<Service> service, OnlineTask<T> task, const TrialRecord& first,
                  std::unique_ptr<LiveOperator<T>>&& op)
    : service_(std::move(service)),
      device_(service_->device()),
      place_(device_),
      task_(std::move(task)),
      operators_(place_, first, std::move(op), [this] { post(); }),
      builder_(task_.matrix, device_, task_.formats),
      prices_(place_.backend, mean_row(task_.matrix->rows(), task_.matrix->nnz())),
      budget_(task_.limits, budget_rules(place_.backend)) {}

// ---- When a step is taken

template <class T>
void Online<T>::begin(std::optional<Stream> multiplied) {
  const auto get_ready = [&] {
    steps_ = work();
    if (!service_->watch(this->weak_from_this())) return false;
    works_ = service_->work();
    if (on_host()) {
      due_.store(true, std::memory_order_relaxed);
      return true;
    }
    operators_.begin_first_trial();
    if (multiplied) operators_.note_earlier_product(*multiplied);
    errand_ = std::make_shared<Background::Errand>([weak = this->weak_from_this()] {
      if (const auto online = weak.lock()) online->resume();
    });
    // The first step is due when the first products are timed.
    return service_->start_background() && operators_.awaits_calls();
  };
  const bool ready = unless_short(get_ready, [&](const char* shortage) {
    service_->tell(LogLevel::warning, "nothing is tuned online", shortage);
    return false;
  });
  if (!ready) stop();
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
  works_.reset();
  service_.reset();
}

template <class T>
void Online<T>::post(std::chrono::milliseconds delay) {
  if (on_host()) {
    due_.store(true, std::memory_order_relaxed);
    return;
  }
  const std::scoped_lock lock(mutex_);
  if (stopping_ || ended_) return;
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
  begin_work();
  try {
    const DeviceScope scope(place_);
    const RelaxedCapture relaxed(place_);
    steps_.resume();
  } catch (const Error& error) {
    // The device cannot even be entered: nothing will be tried on it any more.
    service_->tell(LogLevel::error, "online tuning", error.what());
    settle();
  }
  end_work();
  const std::scoped_lock lock(mutex_);
  running_ = false;
  ended_ = steps_.done();
  if (ended_) {
    works_.reset();
    service_.reset();
  }
  changed_.notify_all();
}

template <class T>
void Online<T>::apply(T alpha, const T* x, T beta, T* y, Stream stream) {
  const bool open = operators_.apply(alpha, x, beta, y, stream);
  if (open && on_host() && due_.load(std::memory_order_relaxed)) resume();
}

template <class T>
Steps Online<T>::work() {
  constexpr std::chrono::milliseconds moment{1};
  bool all_tried = false;
  bool doubts = false;  // what the database says of this matrix
  try {
    const auto start = Clock::now();
    auto& plain = operators_.best();
    if (on_host()) operators_.begin_trial(plain);
    // On a device there is nothing to wait for: no thread is woken before, for that holds up products for as long as
    // several take.
    co_await CallsDone{*this};
    end_trial(plain);
    auto measured = plain.record.measurement;
    measured.setup_seconds = task_.setup_seconds;
    operators_.note(plain, measured);
    const auto& costs = StepCosts::of(place_.backend);
    if (on_host()) {
      co_await Affordable{*this, price(costs.plain_loop)};
      time_plain_loop();
    }
    co_await Affordable{*this, price(costs.key)};
    const auto before = is_over() ? Known{} : look_up();
    const auto& winner = before.winner;
    if (!on_host() && !winner && !is_over()) extract();
    const bool is_other = winner && winner->candidate != plain.record.candidate;
    // Of some trials only, the best is a candidate as others are, and the first to be tried.
    std::optional<Prospect> remembered;
    if (is_other && !before.complete &&
        total_seconds(winner->measurement, task_.limits) < total_seconds(measured, task_.limits)) {
      remembered = tried_prospect<T>(*winner, device_);
    }
    if (is_other && before.complete) {
      const auto& known = winner->measurement;
      co_await Affordable{*this, price({.seconds = known.setup_seconds}) +
                                     StepPrices::of_timed_calls(known.warm.median, operators_.best_seconds())};
      Measurement trial;
      auto* const contender =
          is_over() ? nullptr : make_contender(tried_prospect<T>(*winner, device_), trial, Verification::done_before);
      if (contender != nullptr) {
        time_best_anew();
        operators_.begin_trial(*contender);
        builder_.survive();
        co_await CallsDone{*this};
        end_trial(*contender);
        // Whichever is faster stays. Where the record is far off, what was measured beside it is worth no more.
        const bool timed = is_timed(contender->record.measurement);
        const bool adopted = timed && !is_over() && adopt_if_best(*contender);
        doubts = !timed || (!adopted && is_doubtful(*contender, known));
        all_tried = !doubts;
      }
    } else {
      all_tried = winner.has_value() && before.complete;
    }
    std::unique_ptr<Search> search;
    std::vector<TrialRecord> earlier;
    const auto search_on = [&] {
      // Its trial of now before one of earlier.
      auto known = records_;
      known.insert(known.end(), earlier.begin(), earlier.end());
      SearchRules rules;
      rules.products_of_trial = Operators<T>::warm_up_calls + Operators<T>::timed_calls;
      search = make_online_search(task_.prospects, known, task_.limits, rules);
    };
    if (!all_tried && !is_over()) {
      const double prediction = on_host() ? expected_prediction() : 0;
      // All that it takes to come to a candidate, for without one a caller who stops has nothing of the rest.
      co_await Affordable{*this, price(costs.features) + price(costs.prediction) + prediction +
                                     price(costs.references) + price(costs.candidate)};
      if (on_host()) {
        if (!is_over()) predict();
        co_await Pause{*this, moment};  // not within one call
        if (!is_over()) verify_first([] {});
      } else if (!is_over()) {
        if (task_.prospects.empty() && !features_) extract();
        verify_first([this] { predict(); });
      }
      if (!doubts && !before.nothing) earlier = service_->database().trials(task_.key, task_.catalogue);
      search_on();
    }
    while (search && !is_over() && !is_out_of_time(seconds_since(start), task_.limits)) {
      const auto first = std::exchange(remembered, {});
      const auto* prospect = first ? &*first : search->next();
      if (prospect == nullptr && predict_anew()) {
        search_on();
        prospect = search->next();
      }
      all_tried = prospect == nullptr;
      if (all_tried) break;
      co_await Affordable{*this, price_of_trial(*prospect)};
      if (is_over()) break;
      Measurement trial;
      if (auto* const contender = make_contender(*prospect, trial, Verification::due)) {
        // Of a candidate that failed, a product may still be under way.
        while (operators_.is_launching()) {
          builder_.survive();
          co_await Pause{*this, moment};
        }
        time_best_anew();
        operators_.begin_trial(*contender);
        builder_.survive();
        co_await CallsDone{*this};
        end_trial(*contender);
        if (is_over()) break;
        judge(*contender);
        trial = contender->record.measurement;
      }
      if (!first) search->report(trial, 0);
      operators_.free_losers();
    }
  } catch (const std::exception& error) {
    const char* const shortage = shortage_in_hand();
    service_->tell(shortage != nullptr ? LogLevel::warning : LogLevel::error, "online tuning ended early",
                   shortage != nullptr ? shortage : error.what());
  }
  record(all_tried && !is_over());
  for (auto waited = moment; waited < most_wait && !operators_.changed_over(); waited += moment) {
    co_await Pause{*this, moment};
  }
  // Once it has settled, products of the host give no turn any more.
  while (on_host() && !operators_.free_losers()) co_await Pause{*this, moment};
  settle();
  while (!operators_.free_losers()) co_await Pause{*this, moment};
  if (on_host()) co_return;
  try {
    // For the matrices that come next, which will not wait for it.
    (void)service_->template history<T>();
    service_->template prefetch<T>();
  } catch (const std::exception& error) {
    service_->tell(LogLevel::error, "after online tuning", error.what());
  }
}

// ---- What it takes

template <class T>
void Online<T>::begin_work() {
  operators_.note_step(true);
  charged_ = Clock::now();
}

template <class T>
void Online<T>::end_work() {
  charge();
  operators_.note_step(false);
}

template <class T>
void Online<T>::charge() {
  const auto now = Clock::now();
  const double taken = std::chrono::duration<double>(now - charged_).count();
  charged_ = now;
  const double slowing = operators_.take_slowing();
  if (!on_host()) prices_.note(taken, slowing);
  const std::scoped_lock lock(mutex_);
  budget_.spend(on_host() ? taken : slowing);
}

template <class T>
bool Online<T>::affords(double seconds) {
  charge();
  earn();
  const auto due_in = budget_.products_until(seconds, operators_.best_seconds());
  operators_.wake_in(due_in);
  return due_in == 0 || is_over();
}

template <class T>
void Online<T>::time_plain_loop() {
  const auto values = task_.matrix->hold_values();
  if (is_over()) return;
  // A machine that is disturbed meanwhile is not to be believed everything.
  constexpr double most = 3;
  loop_over_plain_ = std::clamp(plain_loop_seconds(task_.matrix->on(place_)) / plain_seconds_, 1.0, most);
  set_plain(plain_seconds_);
}

template <class T>
double Online<T>::expected_prediction() const {
  const bool is_read = service_->template known_history<T>() != nullptr;
  const auto read = is_read ? 0 : service_->database().matrices();
  return std::min(seconds_of_history * static_cast<double>(read), most_seconds_of_history);
}

// ---- What is known

template <class T>
typename Online<T>::Known Online<T>::look_up() {
  const auto values = task_.matrix->hold_values();
  auto& database = service_->database();
  if (!task_.key.has_pattern()) {
    task_.key = key_of_pattern(*task_.matrix, device_);
    // On a device, where nothing was tried, the kind of the values may come with the features.
    if (!on_host() && !database.knows(task_.key.pattern)) return {.nothing = true};
    task_.key.value_type = kind_of_values(task_.matrix->on(device_), device_);
  }
  const auto may_win = [&](const Candidate& candidate) { return is_among(candidate, task_.only); };
  return {winner_of(database.trials(task_.key, task_.catalogue), task_.limits, task_.described.csr_bytes, may_win),
          task_.only.empty() && was_tuned(database, task_.key, Effort::online, task_.limits, task_.catalogue)};
}

template <class T>
bool Online<T>::is_doubtful(const Contender<T>& contender, const Measurement& known) const {
  return service_->rechecks() && contender.record.measurement.warm.median > doubtful * known.warm.median;
}

template <class T>
void Online<T>::extract() {
  const auto values = task_.matrix->hold_values();
  features_ = extract_features(task_.matrix->on(place_), device_);
  if (task_.key.value_type.empty()) task_.key.value_type = kind_of_values<T>(*features_);
  task_.described.features = record_of(*features_);
  builder_.note_magnitude(features_->largest_magnitude);
}

template <class T>
void Online<T>::predict() {
  if (!task_.prospects.empty()) return;
  if (!features_) extract();
  // On a device the first candidates are better than plain CSR by the cost model alone, long before all that is known
  // of other matrices could be read.
  const auto predictor = predictor_of<T>(*features_, task_.key, *service_, on_host() ? Reading::all : Reading::none);
  may_know_more_ = predictor.lacks_neighbours();
  // What the others are held against is among them.
  const auto& in_use = operators_.best().record.candidate;
  task_.prospects = prospects_of<T>(*features_, task_.key, *service_, predictor, task_.only, Choices::likely, &in_use);
}

// By all near matrices; false where that says nothing new. It is none of the work that slows products down: it asks
// nothing of the device, and callers are not kept near that meanwhile, for what is still found is hardly faster than
// what they have.
template <class T>
bool Online<T>::predict_anew() {
  if (!std::exchange(may_know_more_, false)) return false;
  end_work();
  const auto predictor = predictor_of<T>(*features_, task_.key, *service_);
  begin_work();
  if (predictor.neighbours().empty()) return false;
  autospmv::predict_anew<T>(task_.prospects, *features_, predictor);
  return true;
}

// Before any product sees the new values, so that none of their times is filed under the old kind.
template <class T>
void Online<T>::commit(const CsrView<T>& next, Stream stream) {
  if (!settled() && !same_kind(next, stream)) operators_.end_trials();
  operators_.commit(next, stream);
  builder_.forget_references();
}

// What cannot be looked at counts as another kind.
template <class T>
bool Online<T>::same_kind(const CsrView<T>& matrix, Stream stream) const {
  if (task_.key.value_type.empty()) return true;  // nothing is filed yet
  if (is_capturing(place_, stream)) return false;
  const auto look = [&] {
    order_after(place_, setup_stream(place_), stream);
    return task_.key.value_type == kind_of_values(matrix, device_);
  };
  return unless_short(look, [](const char* /*shortage*/) { return false; });
}

// ---- Trials

// It multiplies already, and was timed: as a candidate, it is only verified.
template <class T>
void Online<T>::verify_first(const std::function<void()>& meanwhile) {
  auto& first = operators_.best();
  auto trial = first.record.measurement;
  trial.bytes = first.op->bytes();
  {
    const auto values = task_.matrix->hold_values();
    if (is_over()) return;
    verification_ = builder_.verify(first.op->current(), trial, meanwhile);
  }
  operators_.note(first, trial);
  best_passes_ = trial.outcome == Outcome::passed;
  judge(first);
}

template <class T>
Contender<T>* Online<T>::make_contender(const Prospect& prospect, Measurement& trial, Verification verification) {
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
  auto record = untried(prospect);
  std::unique_ptr<Operator<T>> op;
  try {
    op = builder_.build(prospect, verification, times_the_best(drop_factor), service_->database(), task_.key, trial);
  } catch (const DeviceError&) {
    record.measurement = trial;
    records_.push_back(std::move(record));
    throw;
  }
  if (trial.setup_seconds > 0) prices_.note_conversion(prospect.prediction.setup_seconds, trial.setup_seconds);
  if (trial.given_up) left_out_ = true;
  if (trial.outcome == Outcome::passed && forbidden(static_cast<double>(trial.bytes))) {
    builder_.survive();
    return nullptr;
  }
  record.measurement = trial;
  if (op == nullptr) {
    service_->complain(record);
    if (verification == Verification::due) records_.push_back(std::move(record));
    return nullptr;
  }
  return &operators_.add(
      std::move(record),
      std::make_unique<LiveOperator<T>>(std::move(op), place_, rebuilding(prospect.candidate, device_, task_.formats)));
}

// What the limits let not win is not timed either.
template <class T>
std::string Online<T>::limit_that_forbids(const Prospect& prospect, double bytes) {
  if (const auto limit = limit_against(prospect, task_.limits); !limit.empty()) return std::string(limit);
  if (!exceeds_memory(bytes, task_.described.csr_bytes, task_.limits)) return {};
  left_out_ = true;
  return "more memory than the limit";
}

// A candidate is held against what the best takes now. The others are as much slower than that as they were.
template <class T>
void Online<T>::time_best_anew() {
  const auto ratio = operators_.time_best_anew();
  if (!ratio) return;
  const auto& best = operators_.best().record;
  if (still_plain_) set_plain(best.measurement.warm.median);
  for (auto& record : records_) {
    auto& warm = record.measurement.warm;
    for (auto* seconds : {&warm.median, &warm.low_quartile, &warm.high_quartile}) *seconds *= *ratio;
    if (record.candidate == best.candidate) warm = best.measurement.warm;
  }
}

template <class T>
void Online<T>::end_trial(Contender<T>& contender) {
  const auto calls = operators_.end_trial(contender);
  const auto& measurement = contender.record.measurement;
  if (measurement.given_up) left_out_ = true;
  if (calls.empty()) return;
  // What its first products take, while caches are cold, they would take without any tuning.
  if (plain_seconds_ == 0) set_plain(measurement.warm.median);
  const bool is_best = &contender == &operators_.best();
  for (const double seconds : calls) budget_.earn(1, is_best ? plain_seconds_ : seconds);
}

template <class T>
void Online<T>::judge(Contender<T>& contender) {
  records_.push_back(contender.record);
  if (contender.record.measurement.outcome != Outcome::passed) {
    service_->complain(contender.record);
    return;
  }
  (void)adopt_if_best(contender);
}

template <class T>
bool Online<T>::adopt_if_best(Contender<T>& contender) {
  // What it took to convert is spent, whichever is used from now on. And what passes is better than what does not.
  if (best_passes_ && !(contender.record.measurement.warm.median < operators_.best_seconds())) return false;
  best_passes_ = true;
  still_plain_ = still_plain_ && &contender == &operators_.best();
  earn();
  operators_.adopt(contender);
  return true;
}

// Once: what stops a search that is over finds nothing left to do.
template <class T>
void Online<T>::record(bool all_tried) {
  if (std::exchange(recorded_, true)) return;
  const auto write = [&] {
    auto& database = service_->database();
    if (!records_.empty()) database.record(task_.key, task_.described, records_);
    if (all_tried && task_.only.empty() && !left_out_ && !records_.empty()) {
      database.mark_tuned(task_.key, effort_mark(Effort::online, task_.limits), task_.catalogue);
    }
  };
  unless_short(write, [&](const char* shortage) {
    service_->tell(LogLevel::warning, "what was tuned online is not recorded", shortage);
  });
  service_->note_tuned();
}

template <class T>
void Online<T>::settle() {
  task_.prospects = {};
  features_.reset();
  builder_.survive();
  builder_.forget_references();
  operators_.settle();
}

template class Online<float>;
template class Online<double>;

}  // namespace autospmv
