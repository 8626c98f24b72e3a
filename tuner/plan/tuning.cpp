#include "tuner/plan/tuning.hpp"

#include <algorithm>
#include <utility>

#include "core/machine/array.hpp"
#include "core/machine/shortage.hpp"
#include "core/verify/random.hpp"
#include "features/longest_row.hpp"
#include "features/recorded.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/context/prospects.hpp"
#include "tuner/measure/clock.hpp"
#include "tuner/measure/meter.hpp"
#include "tuner/objective.hpp"

namespace autospmv {

namespace {

// Runs a step and stores how long it took.
template <class Step>
auto timed_step(double& seconds, const Step& step) {
  const auto start = Clock::now();
  auto result = step();
  seconds = seconds_since(start);
  return result;
}

}  // namespace

template <class T>
template <class Step>
bool Tuning<T>::manages(const Step& step) {
  const auto run = [&] {
    step();
    return true;
  };
  return unless_short(run, [&](const char* shortage) {
    warn_once(shortage);
    return false;
  });
}

template <class T>
void Tuning<T>::warn_once(const char* shortage) {
  if (std::exchange(has_warned_, true)) return;
  service_.tell(LogLevel::warning, "a matrix is not tuned to the end", shortage);
}

template <class T>
void Tuning<T>::find_key() {
  key_ = timed_step(result_.times.fingerprint, [&] { return key_of(*matrix_, service_.device()); });
  trials_.describe(key_, describe());
}

template <class T>
Tuned<T> Tuning<T>::tune(FirstProduct<T>* first) {
  if (effort_ == Effort::online) return begin_online(first);
  manages([&] {
    find_key();
    find_winner();
  });
  manages([&] { choose(); });
  manages([&] { doubt(); });
  if (!result_.plan) plan_plain_csr();
  matrix_->add_observer(result_.plan);
  if (options_.report) manages([&] { report(); });
  if (!prospects_.empty()) manages([&] { service_.prefetch<T>(); });
  return std::move(result_);
}

template <class T>
void Tuning<T>::find_winner() {
  const bool known = timed_step(result_.times.lookup, [&] {
    if (tries() && !all_were_tried()) return false;
    winner_ = best_known();
    if (winner_ && !tries() && !knows_baseline()) {
      winner_.reset();
      result_.passed_over = true;
      service_.warn(without_baseline);
    }
    return true;
  });
  if (!known) {
    try_candidates();
  } else if (tries() && winner_ && service_.recheck_due()) {
    recheck();
  }
}

template <class T>
std::optional<TrialRecord> Tuning<T>::best_known() const {
  const auto may_win = [&](const Candidate& candidate) { return is_among(candidate, only_); };
  return winner_of(known_trials(), limits_, view_.bytes(), may_win);
}

template <class T>
std::vector<TrialRecord> Tuning<T>::known_trials() const {
  return service_.database().trials(key_, service_.catalogue());
}

// Who has tried all that an effort asks for has tried what plain CSR there is for the matrix.
template <class T>
bool Tuning<T>::knows_baseline() const {
  if (was_tuned(service_.database(), key_, Effort::online, limits_, service_.catalogue())) return true;
  const auto trials = known_trials();
  return std::any_of(trials.begin(), trials.end(), [&](const TrialRecord& trial) { return is_baseline(trial); });
}

// What was measured beside a record that is far off is worth no more.
template <class T>
void Tuning<T>::doubt() {
  if (!tries() || !result_.winner || !result_.from_database || !service_.rechecks() || !is_doubtful()) return;
  doubts_ = true;
  try_candidates();
  choose();
}

// A few products tell: caches and kernels are cold at first.
template <class T>
bool Tuning<T>::is_doubtful() const {
  const auto& record = *result_.winner;
  const auto& device = service_.device();
  const auto stream = setup_stream(device);
  Array<T> x(static_cast<std::size_t>(view_.cols), device);
  Array<T> y(static_cast<std::size_t>(view_.rows), device);
  fill_random(x.data(), view_.cols, 1, device, stream);
  const auto launch = [&](Stream on) { result_.plan->apply(T{1}, x.data(), T{0}, y.data(), on); };
  Patience patience;
  const auto product = make_timed_product(device, launch, short_sample, patience, record.capturable);
  const auto sample = product->warm_sample();
  const double ratio = sample.seconds / record.measurement.warm.median;
  return !sample.disturbed && (ratio > doubtful || ratio < 1 / doubtful);
}

template <class T>
bool Tuning<T>::all_were_tried() const {
  return only_.empty() && was_tuned(service_.database(), key_, effort_, limits_, service_.catalogue());
}

template <class T>
void Tuning<T>::report() {
  result_.trials = known_trials();
  sort_by_total(result_.trials, limits_);
  for (auto& record : trials_.records()) {
    if (record.measurement.given_up) result_.trials.push_back(std::move(record));
  }
  for (const auto& record : result_.trials) {
    if (!is_baseline(record)) continue;
    const bool faster = !result_.baseline || record.measurement.warm.median < result_.baseline->measurement.warm.median;
    if (faster) result_.baseline = record;
  }
}

template <class T>
bool Tuning<T>::tries() const {
  return effort_ == Effort::measure || effort_ == Effort::exhaustive;
}

template <class T>
const std::vector<Prospect>& Tuning<T>::prospects() {
  if (prospects_.empty()) {
    result_.features = timed_step(result_.times.features, [&] { return extract_features(view_, service_.device()); });
    trials_.describe(key_, describe());
    give_up_if(options_.stop);
    prospects_ = timed_step(result_.times.prediction, [&] {
      const auto predictor = predictor_of<T>(*result_.features, key_, service_);
      return prospects_of<T>(*result_.features, key_, service_, predictor, only_, choices_);
    });
  }
  return prospects_;
}

template <class T>
void Tuning<T>::try_candidates() {
  // A list that somebody has made is short already.
  const auto effort = only_.empty() ? effort_ : Effort::exhaustive;
  const auto search = make_search(prospects(), effort, limits_, search_rules(service_.device().backend, limits_));
  bool ended = false;
  timed_step(result_.times.trials, [&] {
    trials_.keeping([&] {
      ended = run_trials(*search);
      if (trials_.has_begun()) trials_.finish();
    });
    return 0;
  });
  winner_ = best_known();
  if (ended && only_.empty() && !is_undecided()) {
    service_.database().mark_tuned(key_, effort_mark(effort_, limits_), service_.catalogue());
  }
  service_.note_tuned();
}

template <class T>
bool Tuning<T>::is_undecided() const {
  if (!winner_) return false;
  constexpr double margin = 1.5;  // its time is an estimate
  const double least = total_seconds(winner_->measurement, limits_);
  const auto records = trials_.records();
  return std::any_of(records.begin(), records.end(), [&](const TrialRecord& trial) {
    return trial.measurement.outcome == Outcome::disturbed &&
           total_seconds(trial.measurement, limits_) <= margin * least;
  });
}

template <class T>
bool Tuning<T>::run_trials(Search& search) {
  bool ended = false;
  manages([&] { ended = try_all(search); });
  trials_.forget_launch();
  return ended;
}

template <class T>
bool Tuning<T>::try_all(Search& search) {
  std::vector<TrialRecord> known;
  if (!doubts_) known = known_trials();
  const auto start = Clock::now();
  bool all_tried = true;
  while (const auto* const prospect = search.next()) {
    if (const auto* const before = trial_of(prospect->candidate, known)) {
      search.report(before->measurement, 0);
      continue;
    }
    const auto trial_start = Clock::now();
    if (is_out_of_time(seconds_since(start), limits_)) return false;
    if (options_.progress) {
      options_.progress({result_.new_trials, static_cast<std::int64_t>(search.most()), prospect->candidate.text()});
    }
    if (!trials_.has_begun()) {
      trials_.begin(effort_ == Effort::measure ? rules_of_short_list(service_.device().backend, limits_)
                                               : tuning_rules);
    }
    const auto record = trials_.attempt(*prospect);
    if (record.measurement.outcome != Outcome::refused) ++result_.new_trials;
    service_.complain(record);
    if (record.measurement.given_up) {
      warn_once(record.measurement.detail.c_str());
      all_tried = false;
    }
    search.report(record.measurement, seconds_since(trial_start));
  }
  return all_tried;
}

// A new driver or another clock may have made the plan slower than the baseline: both are timed again, and the winner
// is asked for anew.
template <class T>
void Tuning<T>::recheck() {
  const auto trials = known_trials();
  const auto baseline =
      std::find_if(trials.begin(), trials.end(), [&](const TrialRecord& trial) { return is_baseline(trial); });
  if (baseline == trials.end()) return;
  std::vector<TrialRecord> again{*baseline};
  if (winner_->candidate != baseline->candidate) again.push_back(*winner_);
  result_.rechecked = trials_.repeat(again, rules_of_short_list(service_.device().backend, limits_));
  winner_ = best_known();
}

template <class T>
MatrixRecord Tuning<T>::describe() const {
  const bool is_another = matrix_->operation() == Operation::transposed && matrix_->has_own_pattern();
  const auto label = is_another && !options_.label.empty() ? options_.label + transposed_suffix : options_.label;
  MatrixRecord record{label, matrix_->rows(), matrix_->cols(), matrix_->nnz(), view_.bytes(), {}, options_.source};
  if (result_.features) record.features = record_of(*result_.features);
  return record;
}

template <class T>
bool Tuning<T>::is_baseline(const TrialRecord& record) const {
  const auto* format = find_format<T>(record.candidate.format);
  return format != nullptr && format->info().baseline && is_timed(record.measurement);
}

template <class T>
void Tuning<T>::choose() {
  result_.from_database = result_.new_trials == 0 && winner_.has_value();
  const char* source = result_.from_database ? "database" : "measured";
  if (winner_ && plan_from(*winner_, source, Bounds::limits)) {
    result_.winner = result_.plan->choice();
    note_layer(winner_->layer);
    return;
  }
  if (winner_) {
    // It was measured with other values of this kind: symmetric ones, say.
    auto others = known_trials();
    sort_by_total(others, limits_);
    for (const auto& trial : others) {
      if (trial.candidate == winner_->candidate) continue;
      if (!could_win(as_format_says<T>(trial, service_.device()), view_.bytes(), limits_)) continue;
      if (!plan_from(trial, source, Bounds::limits)) continue;
      result_.winner = result_.plan->choice();
      note_layer(trial.layer);
      return;
    }
    service_.warn("the plan " + winner_->candidate.text() + " from the database cannot be built here");
  }
  if (effort_ == Effort::estimate && plan_estimate()) return;
  plan_fallback();
}

template <class T>
void Tuning<T>::note_layer(std::size_t layer) {
  if (layer > 0) result_.layer = service_.database().file_of_layer(layer).string();
}

template <class T>
bool Tuning<T>::plan_from(TrialRecord choice, const char* source, Bounds bounds) {
  choice = as_format_says<T>(std::move(choice), service_.device());
  const bool is_bounded = bounds == Bounds::limits;
  if (is_bounded && !limit_against(choice.deterministic, choice.capturable, limits_).empty()) return false;
  auto op = trials_.take(choice.candidate);
  const auto build = [&] {
    auto built = build_operator(choice.candidate);
    if (built) op = std::move(*built);
  };
  if (!op && !(manages(build) && op)) return false;
  choice.measurement.bytes = op->bytes();
  if (is_bounded && exceeds_memory(static_cast<double>(op->bytes()), view_.bytes(), limits_)) return false;
  plan_with(std::move(op), std::move(choice), source);
  return true;
}

template <class T>
Result<std::unique_ptr<Operator<T>>> Tuning<T>::build_operator(const Candidate& candidate) {
  const auto* format = find_format<T>(candidate.format);
  if (format == nullptr) return Refusal{"there is no such format"};
  return timed_step(result_.times.conversion,
                    [&] { return format->build(view_, candidate.params, service_.device()); });
}

template <class T>
void Tuning<T>::plan_with(std::unique_ptr<Operator<T>> op, TrialRecord choice, const char* source) {
  const auto& device = service_.device();
  auto live = std::make_unique<LiveOperator<T>>(std::move(op), device,
                                                rebuilding(choice.candidate, device, FormatLookup<T>(find_format<T>)));
  PlanOrigin origin{shared_service_,      key_, limits_, source, only_, result_.passed_over ? without_baseline : "",
                    result_.times.total()};
  result_.plan =
      std::make_shared<detail::PlanState<T>>(std::move(choice), std::move(live), matrix_, device, std::move(origin));
}

// The first by estimate that can be built: what a format predicts may turn out not to fit.
template <class T>
bool Tuning<T>::plan_estimate() {
  (void)prospects();
  take_known<T>(prospects_, known_trials(), service_.device(), only_);
  const auto estimates = by_estimate(prospects_, limits_, view_.bytes());
  const auto built = std::find_if(estimates.begin(), estimates.end(), [&](const Prospect* one) {
    return plan_from(untried(*one), "estimated", Bounds::limits);
  });
  if (built == estimates.end()) return false;
  result_.prediction = (*built)->prediction;
  return true;
}

template <class T>
void Tuning<T>::plan_fallback() {
  // Features and bandwidth cost as much as many products. Without trials there is nothing that they would pay for. But
  // what suits rows that are all alike may take a thousand times as long on one with a long row.
  const auto blind = [&] {
    const auto seen = matrix_->longest_row();
    const auto longest = seen ? *seen : longest_row(view_.row_ptr, view_.rows, service_.device());
    return blind_fallback_prospect(view_, longest, service_.device(), limits_);
  };
  const bool is_blind = only_.empty() ? prospects_.empty() : !key_.has_pattern();
  const auto prospect = is_blind ? blind() : fallback_prospect(prospects(), limits_);
  plan_from(untried(prospect), "untried", Bounds::none);
}

// Where there is no memory to choose.
template <class T>
void Tuning<T>::plan_plain_csr() {
  trials_.end();
  const auto choice = untried(first_baseline<T>(service_.device()));
  auto built = build_operator(choice.candidate);
  if (!built) throw Error("plain CSR could not be built: " + choice.candidate.text() + ": " + built.reason());
  plan_with(std::move(*built), choice, "untried");
}

template <class T>
Tuned<T> Tuning<T>::begin_online(FirstProduct<T>* first) {
  const auto works = service_.work();  // so that nothing is rehearsed beside it
  key_ = key_of_machine(service_.device());
  // On the host any plain CSR will do. On a device a long row may make one a thousand times as slow as another.
  if (service_.device().backend == Backend::cuda) manages([&] { plan_fallback(); });
  if (!result_.plan) plan_plain_csr();
  std::optional<Stream> multiplied;
  if (first != nullptr && result_.plan->multiply_first(first->x, first->y, first->options)) {
    first->done = true;
    multiplied = first->options.stream;
  }
  manages([&] {
    OnlineTask<T> task{.matrix = matrix_,
                       .limits = limits_,
                       .described = describe(),
                       .only = only_,
                       .setup_seconds = result_.times.conversion,
                       .catalogue = service_.catalogue()};
    result_.plan->go_online(shared_service_, std::move(task), multiplied);
  });
  matrix_->add_observer(result_.plan);
  return std::move(result_);
}

template class Tuning<float>;
template class Tuning<double>;

}  // namespace autospmv
