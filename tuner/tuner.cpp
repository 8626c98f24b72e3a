#include "tuner/tuner.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "autospmv/version.h"
#include "core/array.hpp"
#include "core/random.hpp"
#include "core/shortage.hpp"
#include "features/longest_row.hpp"
#include "formats/common/encoding.hpp"
#include "tuner/clock.hpp"
#include "tuner/conversion.hpp"
#include "tuner/first_launch.hpp"
#include "tuner/meter.hpp"
#include "tuner/search.hpp"
#include "tuner/session.hpp"

namespace autospmv {

double total_seconds(const Measurement& measurement, const Limits& limits) {
  return measurement.setup_seconds + static_cast<double>(limits.expected_calls) * measurement.warm.median;
}

template <class T>
bool is_deterministic(const Candidate& candidate, const Device& device) {
  const auto* format = find_format<T>(candidate.format);
  return format != nullptr && format->deterministic(candidate.params, device);
}

template <class T>
bool could_win(const TrialRecord& trial, std::int64_t csr_bytes, const Limits& limits, const Device& device) {
  const auto& measurement = trial.measurement;
  const bool too_large = static_cast<double>(measurement.bytes) > limits.memory_factor * static_cast<double>(csr_bytes);
  return is_timed(measurement) && !too_large && (!limits.deterministic || is_deterministic<T>(trial.candidate, device));
}

// What suits values that take few bits does not suit others of the same pattern, and the other way round.
template <class T>
std::string kind_of_values(const CsrView<T>& matrix, const Device& device) {
  const auto bits = formats::value_bits_for<T>(extract_value_features(matrix, device)).front();
  const std::string type(value_type_name<T>());
  return bits == formats::full_value_bits<T> ? type : type + " in " + std::to_string(bits) + " bits";
}

TrialKey key_of_machine(const Device& device) {
  return {.pattern = {},
          .value_type = {},
          .operation = "n",
          .backend = std::string(name_of(device.backend)),
          .device = device.name,
          .toolkit = device.toolkit,
          .driver = device.driver,
          .library = AUTOSPMV_VERSION};
}

template <class T>
TrialKey key_of(const MatrixData<T>& matrix, const Device& device) {
  auto key = key_of_machine(device);
  key.pattern = matrix.fingerprint();
  key.value_type = kind_of_values(matrix.on(device), device);
  return key;
}

namespace {

// Of tunings that left out what is not deterministic. Who has tried everything has tried what is deterministic too.
constexpr const char* deterministic_mark = " deterministic";

}  // namespace

std::string effort_mark(Effort effort, const Limits& limits) {
  std::string mark(name_of(effort));
  return limits.deterministic ? mark + deterministic_mark : mark;
}

bool was_tuned(Database& database, const TrialKey& key, Effort effort, const Limits& limits,
               const std::string& catalogue) {
  const std::string name(name_of(effort));
  if (database.tuned(key, name, catalogue)) return true;
  if (limits.deterministic && database.tuned(key, name + deterministic_mark, catalogue)) return true;
  return effort == Effort::online && was_tuned(database, key, Effort::measure, limits, catalogue);
}

namespace {

// Runs a step and stores how long it took.
template <class Step>
auto timed_step(double& seconds, const Step& step) {
  const auto start = Clock::now();
  auto result = step();
  seconds = seconds_since(start);
  return result;
}

TrialRecord untried(const Prospect& prospect) {
  return {prospect.candidate, prospect.format_version, prospect.deterministic, {}};
}

// One tuning of one matrix: what its steps share.
template <class T>
class Tuning {
 public:
  /// The values stay held as long as this lives.
  Tuning(std::shared_ptr<const MatrixData<T>> matrix, std::shared_ptr<Service> service, const TuneOptions& options)
      : matrix_(std::move(matrix)),
        shared_service_(std::move(service)),
        service_(*shared_service_),
        options_(options),
        effort_(options.effort.value_or(service_.effort())),
        limits_(options.limits.value_or(service_.limits())),
        values_(matrix_->hold_values()),
        view_(matrix_->on(service_.device())) {}

  Tuned<T> tune();
  std::vector<TrialRecord> bench(const std::vector<std::string>& only);

 private:
  void find_key();
  /// Asks the database for the winner, and makes trials where it knows too little.
  void find_winner();
  /// Runs a step. Where memory or threads run out in it, what is known so far must do; false.
  template <class Step>
  bool manages(const Step& step);
  void warn_once(const char* shortage);
  [[nodiscard]] bool all_were_tried() const;
  void report();
  void try_candidates();
  /// Tries what the search names; whether it came to its end, and no trial was given up.
  bool run_trials(Search& search);
  bool try_all(Search& search);
  /// That a candidate was disturbed which may be cheaper than the winner.
  [[nodiscard]] bool is_undecided() const;
  [[nodiscard]] std::optional<TrialRecord> best_known() const;
  [[nodiscard]] SessionRules rules_of(SessionRules rules) const;
  /// Tries all again where the plan that the database names is far from what its trial took.
  void doubt();
  [[nodiscard]] bool is_doubtful() const;
  void begin_session(const SessionRules& rules);
  /// A trial in the session.
  TrialRecord attempt(const Prospect& prospect);
  /// Measures to the end what the session has kept, and records what that changed.
  void settle();
  void recheck();
  void record(const std::vector<TrialRecord>& trials);
  /// Records what is not recorded yet.
  void keep();
  /// Runs a body that makes trials: however it ends, they are recorded.
  template <class Body>
  void keeping(const Body& body);
  void choose();
  /// False where it cannot be built. What it takes then, and whether it is deterministic, is known and no longer taken
  /// on anybody's word: with Bounds::limits, it is also false beyond these.
  enum class Bounds : std::uint8_t { none, limits };
  bool plan_from(TrialRecord choice, const char* source, Bounds bounds);
  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build_operator(const Candidate& candidate);
  void plan_with(std::unique_ptr<Operator<T>> op, TrialRecord choice, const char* source);
  bool plan_estimate();
  void plan_fallback();
  void plan_plain_csr();
  /// The plan for an effort whose first product costs no more than one by plain CSR: all else comes later.
  Tuned<T> begin_online();
  [[nodiscard]] const std::vector<Prospect>& prospects();
  [[nodiscard]] bool tries() const;
  [[nodiscard]] bool is_baseline(const TrialRecord& record) const;
  [[nodiscard]] MatrixRecord describe() const;
  [[nodiscard]] MatrixRecord describe_once();

  std::shared_ptr<const MatrixData<T>> matrix_;
  std::shared_ptr<Service> shared_service_;
  Service& service_;
  const TuneOptions& options_;
  Effort effort_;
  Limits limits_;
  std::shared_lock<std::shared_mutex> values_;
  CsrView<T> view_;
  TrialKey key_;
  std::vector<Prospect> prospects_;
  std::unique_ptr<Session<T>> session_;
  std::optional<FirstLaunch> launch_;    // of the candidate in hand
  std::vector<TrialRecord> unrecorded_;  // at most one, of the trial before
  bool described_ = false;               // the database has the features
  std::optional<TrialRecord> winner_;
  bool doubts_ = false;  ///< what the database says of this matrix
  bool has_warned_ = false;
  Tuned<T> result_;
};

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
}

template <class T>
Tuned<T> Tuning<T>::tune() {
  if (effort_ == Effort::online) return begin_online();
  manages([&] {
    find_key();
    find_winner();
  });
  manages([&] { choose(); });
  manages([&] { doubt(); });
  if (!result_.plan) plan_plain_csr();
  matrix_->add_observer(result_.plan);
  if (options_.report) manages([&] { report(); });
  if (!prospects_.empty()) manages([&] { service_.read_ahead<T>(); });
  return std::move(result_);
}

template <class T>
void Tuning<T>::find_winner() {
  const bool known = timed_step(result_.times.lookup, [&] {
    if (tries() && !all_were_tried()) return false;
    winner_ = best_known();
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
  return service_.database().winner(key_, limits_, service_.catalogue());
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
  const auto product = make_timed_product(device, launch, short_sample.on(device.backend), patience);
  const auto sample = product->warm_sample();
  const double ratio = sample.seconds / record.measurement.warm.median;
  return !sample.disturbed && (ratio > doubtful || ratio < 1 / doubtful);
}

template <class T>
bool Tuning<T>::all_were_tried() const {
  return was_tuned(service_.database(), key_, effort_, limits_, service_.catalogue());
}

template <class T>
void Tuning<T>::report() {
  result_.trials = service_.database().trials(key_, limits_, service_.catalogue());
  if (session_) {
    for (auto& record : session_->records()) {
      if (record.measurement.given_up) result_.trials.push_back(std::move(record));
    }
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
    give_up_if(options_.stop);
    prospects_ = timed_step(result_.times.prediction, [&] {
      return prospects_of<T>(*result_.features, key_, service_, service_.experience<T>());
    });
  }
  return prospects_;
}

template <class T>
void Tuning<T>::try_candidates() {
  const auto search = make_search(prospects(), effort_, limits_, search_rules(service_.device().backend));
  bool ended = false;
  timed_step(result_.times.trials, [&] {
    keeping([&] {
      ended = run_trials(*search);
      if (session_) settle();
    });
    return 0;
  });
  winner_ = best_known();
  if (ended && !is_undecided()) {
    service_.database().mark_tuned(key_, effort_mark(effort_, limits_), service_.catalogue());
  }
  service_.note_tuned();
}

template <class T>
bool Tuning<T>::is_undecided() const {
  if (!session_ || !winner_) return false;
  constexpr double margin = 1.5;  // its time is an estimate
  const double least = total_seconds(winner_->measurement, limits_);
  const auto records = session_->records();
  return std::any_of(records.begin(), records.end(), [&](const TrialRecord& trial) {
    return trial.measurement.outcome == Outcome::disturbed &&
           total_seconds(trial.measurement, limits_) <= margin * least;
  });
}

template <class T>
SessionRules Tuning<T>::rules_of(SessionRules rules) const {
  rules.expected_calls = static_cast<double>(std::max<std::int64_t>(1, limits_.expected_calls));
  return rules;
}

template <class T>
bool Tuning<T>::run_trials(Search& search) {
  bool ended = false;
  manages([&] { ended = try_all(search); });
  launch_.reset();
  return ended;
}

template <class T>
bool Tuning<T>::try_all(Search& search) {
  std::vector<TrialRecord> known;
  if (!doubts_) known = service_.database().trials(key_, limits_, service_.catalogue());
  const auto start = Clock::now();
  bool all_tried = true;
  while (const auto* const prospect = search.next()) {
    if (const auto* const before = trial_of(prospect->candidate, known)) {
      search.report(before->measurement, 0);
      continue;
    }
    const auto trial_start = Clock::now();
    if (seconds_since(start) > limits_.time_limit_seconds) return false;
    if (options_.progress) {
      options_.progress({result_.new_trials, static_cast<std::int64_t>(search.most()), prospect->candidate.text()});
    }
    if (!session_)
      begin_session(effort_ == Effort::measure ? rules_of_short_list(service_.device().backend) : tuning_rules);
    const auto record = attempt(*prospect);
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

template <class T>
void Tuning<T>::begin_session(const SessionRules& rules) {
  const auto launched = [this] {
    if (launch_) launch_->survive();
  };
  session_ = std::make_unique<Session<T>>(view_, service_.device(), rules_of(rules), std::random_device{}(),
                                          find_format<T>, SessionWatch{launched, options_.stop});
}

template <class T>
TrialRecord Tuning<T>::attempt(const Prospect& prospect) {
  give_up_if(options_.stop);
  const auto described = unrecorded_.empty() ? MatrixRecord{} : describe_once();
  launch_.emplace(service_.database(), key_, prospect.candidate, described, std::exchange(unrecorded_, {}));
  try {
    unrecorded_.push_back(session_->attempt(prospect));
  } catch (const DeviceError& error) {
    // Nothing can be tried after it in this process. The next one knows what came of it.
    TrialRecord broken{prospect.candidate, prospect.format_version, prospect.deterministic, {}};
    broken.measurement.detail = error.what();
    unrecorded_.push_back(std::move(broken));
    throw;
  }
  launch_->survive();
  launch_.reset();
  return unrecorded_.back();
}

// What a session measures last it may measure better: those trials are recorded once more.
template <class T>
void Tuning<T>::settle() {
  const auto before = session_->records();
  session_->settle();
  const auto after = session_->records();
  for (std::size_t i = 0; i < after.size(); ++i) {
    const auto& was = before[i].measurement;
    const auto& is = after[i].measurement;
    if (is.warm.samples != was.warm.samples || is.setup_seconds != was.setup_seconds) unrecorded_.push_back(after[i]);
  }
  keep();
}

template <class T>
template <class Body>
void Tuning<T>::keeping(const Body& body) {
  try {
    body();
  } catch (...) {
    keep();
    throw;
  }
}

// A new driver or another clock may have made the plan slower than the baseline: both are timed again, and the winner
// is asked for anew.
template <class T>
void Tuning<T>::recheck() {
  const auto trials = service_.database().trials(key_, limits_, service_.catalogue());
  const auto baseline =
      std::find_if(trials.begin(), trials.end(), [&](const TrialRecord& trial) { return is_baseline(trial); });
  if (baseline == trials.end()) return;
  begin_session(rules_of_short_list(service_.device().backend));
  std::vector<TrialRecord> again{*baseline};
  if (winner_->candidate != baseline->candidate) again.push_back(*winner_);
  for (const auto& trial : again) {
    Prospect prospect;
    prospect.candidate = trial.candidate;
    prospect.format_version = trial.format_version;
    prospect.deterministic = is_deterministic<T>(trial.candidate, service_.device());
    prospect.baseline = true;  // neither is dropped early
    session_->attempt(prospect);
    ++result_.rechecked;
  }
  session_->settle();
  record(session_->records());
  winner_ = best_known();
}

template <class T>
MatrixRecord Tuning<T>::describe() const {
  MatrixRecord record{options_.label, matrix_->rows(), matrix_->cols(), matrix_->nnz(), view_.bytes(), {}};
  if (result_.features) record.features = named_values(*result_.features);
  return record;
}

// The features are many, and need not be written with every trial.
template <class T>
MatrixRecord Tuning<T>::describe_once() {
  auto record = describe();
  if (std::exchange(described_, result_.features.has_value())) record.features.clear();
  return record;
}

template <class T>
void Tuning<T>::record(const std::vector<TrialRecord>& trials) {
  service_.database().record(key_, describe_once(), trials);
}

template <class T>
void Tuning<T>::keep() {
  if (!unrecorded_.empty()) record(std::exchange(unrecorded_, {}));
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
    return;
  }
  if (winner_) {
    // It was measured with other values of this kind: symmetric ones, say.
    for (const auto& trial : service_.database().trials(key_, limits_, service_.catalogue())) {
      if (trial.candidate == winner_->candidate || !could_win<T>(trial, view_.bytes(), limits_, service_.device())) {
        continue;
      }
      if (!plan_from(trial, source, Bounds::limits)) continue;
      result_.winner = result_.plan->choice();
      return;
    }
    service_.warn("the plan " + winner_->candidate.text() + " from the database cannot be built here");
  }
  if (effort_ == Effort::estimate && plan_estimate()) return;
  plan_fallback();
}

template <class T>
bool Tuning<T>::plan_from(TrialRecord choice, const char* source, Bounds bounds) {
  choice.deterministic = is_deterministic<T>(choice.candidate, service_.device());
  const bool is_bounded = bounds == Bounds::limits;
  if (is_bounded && limits_.deterministic && !choice.deterministic) return false;
  std::unique_ptr<Operator<T>> op = session_ ? session_->take(choice.candidate) : nullptr;
  const auto build = [&] {
    auto built = build_operator(choice.candidate);
    if (built) op = std::move(*built);
  };
  if (!op && !(manages(build) && op)) return false;
  choice.measurement.bytes = op->bytes();
  const double most_bytes = limits_.memory_factor * static_cast<double>(view_.bytes());
  if (is_bounded && static_cast<double>(op->bytes()) > most_bytes) return false;
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
  PlanOrigin origin{shared_service_, key_, limits_, source, result_.times.total()};
  result_.plan =
      std::make_shared<detail::PlanState<T>>(std::move(choice), std::move(live), matrix_, device, std::move(origin));
}

// The first by estimate that can be built: what a format predicts may turn out not to fit.
template <class T>
bool Tuning<T>::plan_estimate() {
  const auto estimates = by_estimate(prospects(), limits_, view_.bytes());
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
    const auto longest = longest_row(view_.row_ptr, view_.rows, service_.device());
    return blind_fallback_prospect(view_, longest, service_.device(), limits_);
  };
  const auto prospect = prospects_.empty() ? blind() : fallback_prospect(prospects_, limits_);
  plan_from(untried(prospect), "untried", Bounds::none);
}

// Where there is no memory to choose.
template <class T>
void Tuning<T>::plan_plain_csr() {
  session_.reset();
  const auto choice = untried(first_baseline<T>(service_.device()));
  auto built = build_operator(choice.candidate);
  if (!built) throw Error("plain CSR could not be built: " + choice.candidate.text() + ": " + built.reason());
  plan_with(std::move(*built), choice, "untried");
}

template <class T>
Tuned<T> Tuning<T>::begin_online() {
  key_ = key_of_machine(service_.device());
  // On the host any plain CSR will do. On a device a long row may make one a thousand times as slow as another.
  if (service_.device().backend == Backend::cuda) manages([&] { plan_fallback(); });
  if (!result_.plan) plan_plain_csr();
  manages([&] {
    result_.plan->go_online(shared_service_, {.matrix = matrix_,
                                              .limits = limits_,
                                              .described = describe(),
                                              .setup_seconds = result_.times.conversion,
                                              .catalogue = service_.catalogue()});
  });
  matrix_->add_observer(result_.plan);
  return std::move(result_);
}

// As many candidates at a time as fit into half of the free memory; each batch is measured in interleaved rounds.
template <class T>
std::vector<TrialRecord> Tuning<T>::bench(const std::vector<std::string>& only) {
  find_key();
  std::vector<TrialRecord> records;
  std::int64_t kept_bytes = 0;
  const std::int64_t budget = free_memory(service_.device()) / 2;
  const auto finish_batch = [&] {
    if (!session_) return;
    settle();
    const auto batch = session_->records();
    records.insert(records.end(), batch.begin(), batch.end());
    session_.reset();
    kept_bytes = 0;
  };
  std::int64_t done = 0;
  const auto try_one = [&](const Prospect& prospect) {
    if (options_.progress) {
      options_.progress({done++, static_cast<std::int64_t>(prospects_.size()), prospect.candidate.text()});
    }
    if (!prospect.admitted()) {
      auto refused = untried(prospect);
      refused.measurement.outcome = Outcome::refused;
      refused.measurement.detail = prospect.refusal;
      unrecorded_.push_back(refused);
      records.push_back(std::move(refused));
      return;
    }
    if (kept_bytes + static_cast<std::int64_t>(prospect.cost.storage_bytes) > budget) finish_batch();
    if (!session_) begin_session(bench_rules);
    kept_bytes += attempt(prospect).measurement.bytes;
  };
  keeping([&] {
    for (const auto& prospect : prospects()) {
      if (only.empty() || std::find(only.begin(), only.end(), prospect.candidate.format) != only.end()) {
        try_one(prospect);
      }
    }
    finish_batch();
    keep();
  });
  return records;
}

}  // namespace

template <Scalar T>
TrialKey key_of(const Matrix<T>& matrix, const Context& context) {
  const auto values = data_of(matrix).hold_values();
  return key_of(data_of(matrix), service_of(context).device());
}

template <Scalar T>
Predictor<T> predictor_for(const Features& features, const Fingerprint& pattern,
                           std::shared_ptr<const Experience<T>> experience) {
  auto near = experience->near(features, pattern);
  return {std::move(experience), std::move(near)};
}

template <Scalar T>
std::vector<Prospect> prospects_of(const Features& features, const TrialKey& key, const Service& service,
                                   std::shared_ptr<const Experience<T>> experience) {
  auto prospects =
      all_prospects<T>(features, service.device(), predictor_for<T>(features, key.pattern, std::move(experience)));
  for (const auto& suspect : service.database().suspects(key)) {
    for (auto& prospect : prospects) {
      if (prospect.candidate != suspect.candidate || !prospect.admitted()) continue;
      prospect.doubted = true;
      if (suspect.deaths < fatal_deaths) continue;
      prospect.refusal = std::to_string(suspect.deaths) + " processes died while launching it";
      service.warn(suspect.candidate.text() + " is skipped: " + prospect.refusal);
    }
  }
  std::stable_partition(prospects.begin(), prospects.end(), [](const Prospect& prospect) { return !prospect.doubted; });
  return prospects;
}

std::vector<std::pair<std::string, double>> named_values(const Features& features) {
  std::vector<std::pair<std::string, double>> values;
  for (const auto& feature : feature_table()) values.emplace_back(feature.name, feature.read(features));
  return values;
}

namespace {

// With service.tuning() held.
template <class T>
Tuned<T> tune_alone(const Matrix<T>& matrix, const std::shared_ptr<Service>& service, const TuneOptions& options) {
  const DeviceScope scope(service->device());
  const auto& state = detail::Access::state_of(matrix);
  auto tuned = Tuning<T>(state->data, service, options).tune();
  const auto keep = [&] {
    if (state->plans->find(service.get()) == nullptr) service->remember(state->plans);
    state->plans->put(service.get(), tuned.plan);
  };
  // What cannot be kept is made again by the next product.
  if (options.keep) unless_short(keep, [](const char* /*shortage*/) {});
  return tuned;
}

template <class T>
std::shared_ptr<detail::PlanState<T>> find_plan(const Matrix<T>& matrix, const Service& service) {
  return std::static_pointer_cast<detail::PlanState<T>>(detail::Access::state_of(matrix)->plans->find(&service));
}

}  // namespace

template <Scalar T>
Tuned<T> tune(const Matrix<T>& matrix, const Context& context, const TuneOptions& options) {
  const auto& service = shared_service_of(context);
  const std::scoped_lock lock(service->tuning());
  return tune_alone(matrix, service, options);
}

template <Scalar T>
std::shared_ptr<detail::PlanState<T>> plan_for(const Matrix<T>& matrix, const Context& context) {
  const auto& service = shared_service_of(context);
  if (auto kept = find_plan(matrix, *service)) return kept;
  const std::scoped_lock lock(service->tuning());
  // Another thread may have made it meanwhile.
  if (auto kept = find_plan(matrix, *service)) return kept;
  TuneOptions options;
  options.report = false;
  return tune_alone(matrix, service, options).plan;
}

template <Scalar T>
std::vector<TrialRecord> bench(const Matrix<T>& matrix, const Context& context, const std::vector<std::string>& only,
                               const TuneOptions& options) {
  const auto& service = shared_service_of(context);
  const std::scoped_lock lock(service->tuning());
  const DeviceScope scope(service->device());
  return Tuning<T>(detail::Access::state_of(matrix)->data, service, options).bench(only);
}

#define AUTOSPMV_TUNER(T)                                                                                         \
  template Predictor<T> predictor_for(const Features&, const Fingerprint&, std::shared_ptr<const Experience<T>>); \
  template TrialKey key_of(const MatrixData<T>&, const Device&);                                                  \
  template std::string kind_of_values(const CsrView<T>&, const Device&);                                          \
  template std::shared_ptr<detail::PlanState<T>> plan_for(const Matrix<T>&, const Context&);                      \
  template std::vector<Prospect> prospects_of<T>(const Features&, const TrialKey&, const Service&,                \
                                                 std::shared_ptr<const Experience<T>>);                           \
  template TrialKey key_of(const Matrix<T>&, const Context&);                                                     \
  template bool is_deterministic<T>(const Candidate&, const Device&);                                             \
  template bool could_win<T>(const TrialRecord&, std::int64_t, const Limits&, const Device&);                     \
  template Tuned<T> tune(const Matrix<T>&, const Context&, const TuneOptions&);                                   \
  template std::vector<TrialRecord> bench(const Matrix<T>&, const Context&, const std::vector<std::string>&,      \
                                          const TuneOptions&);
AUTOSPMV_TUNER(float)
AUTOSPMV_TUNER(double)
#undef AUTOSPMV_TUNER

}  // namespace autospmv
