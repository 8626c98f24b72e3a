#include "tuner/measure/session.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/machine/shortage.hpp"
#include "tuner/measure/conversion.hpp"
#include "tuner/objective.hpp"

namespace autospmv {

namespace {

// One part in so many of the free memory is what a second operator, or a cache flusher, may take.
constexpr std::int64_t memory_share = 4;

template <class Take>
Timing timing_of(int count, const Stop& stop, const Take& take) {
  Samples samples;
  for (int i = 0; i < count; ++i) {
    give_up_if(stop);
    samples.add(take());
  }
  return samples.timing();
}

// How much longer than the best a candidate may take, where its time is an estimate.
constexpr double doubt_of_disturbed = 3;
// What a conversion may turn out to take of the time it took first.
constexpr double least_conversion = 0.3;
// How much slower the machine may be at one time than at another.
constexpr double most_change_of_speed = 2;

}  // namespace

template <class T>
struct Session<T>::Trial {
  TrialRecord record;
  std::unique_ptr<Operator<T>> op;
  std::unique_ptr<TimedProduct> timed;
  Samples warm;
  std::vector<double> others;  // what products of other conversions of it take over this one's
  double look = 0;             // seconds of a product at first, undisturbed; 0: none
  bool baseline = false;
  bool spared = false;    // slower than the best, but not beside it
  std::size_t index = 0;  // of the trial

  [[nodiscard]] bool running() const { return timed != nullptr; }
  [[nodiscard]] double median() const { return record.measurement.warm.median; }
  [[nodiscard]] bool disturbed() const { return record.measurement.outcome == Outcome::disturbed; }
  void update_median() {
    record.measurement.warm = warm.timing();
    if (!others.empty()) {
      auto ratios = others;
      ratios.push_back(1);
      auto& timing = record.measurement.warm;
      timing.median *= summarize(std::move(ratios)).median;
      timing.low_quartile = std::min(timing.low_quartile, timing.median);
      timing.high_quartile = std::max(timing.high_quartile, timing.median);
    }
    record.measurement.outcome = warm.all_disturbed() ? Outcome::disturbed : Outcome::passed;
  }
};

template <class T>
Session<T>::Session(const CsrView<T>& matrix, const Device& device, const SessionRules& rules, std::uint64_t seed,
                    FormatLookup<T> formats, SessionWatch watch)
    : matrix_(matrix),
      device_(device),
      rules_(rules),
      formats_(std::move(formats)),
      watch_(std::move(watch)),
      verifier_(std::make_unique<Verifier<T>>(matrix, device, seed)) {
  if (device_.backend == Backend::host) pinned_.emplace();
}

template <class T>
Session<T>::~Session() = default;

template <class T>
Launch Session<T>::launch_of(const Operator<T>& product) const {
  const auto* op = &product;
  auto* verifier = verifier_.get();
  return [op, verifier](Stream stream) { op->apply(T{1}, verifier->x(), T{0}, verifier->y(), stream); };
}

template <class T>
std::unique_ptr<TimedProduct> Session<T>::timed_product(const Trial& trial, const Operator<T>& product,
                                                        const SampleLength& length) {
  return make_timed_product(device_, launch_of(product), length, patience_, trial.record.capturable);
}

template <class T>
double Session<T>::glance_limit() const {
  const double best = best_ > 0 ? best_ : best_disturbed_;
  return best > 0 ? rules_.glance_factor * best : std::numeric_limits<double>::infinity();
}

template <class T>
void Session<T>::first_look(Trial& trial) {
  trial.timed = timed_product(trial, *trial.op, rules_.sample);
  for (int i = 0; i < rules_.first_look_samples; ++i) {
    give_up_if(watch_.stop);
    trial.warm.add(trial.timed->warm_sample());
  }
  trial.update_median();
  if (!trial.disturbed()) trial.look = trial.median();
  note_best(trial);
}

template <class T>
void Session<T>::note_best(const Trial& trial) {
  double& best = trial.disturbed() ? best_disturbed_ : best_;
  if (best == 0 || trial.median() < best) best = trial.median();
}

template <class T>
void Session<T>::doubt_glance(Trial& trial) {
  if (device_.backend != Backend::host) return;
  const double limit = glance_limit();
  const auto sample = time_least([launch = launch_of(*trial.op)] { launch({}); }, 1, patience_);
  trial.record.measurement.warm = {};
  if (sample.seconds > limit) trial.record.measurement.warm = summarize({sample.seconds});
}

template <class T>
void Session<T>::convert_again(Trial& trial, int samples) {
  auto& measurement = trial.record.measurement;
  if (!has_free_memory(static_cast<double>(memory_share * measurement.bytes), device_)) return;
  try {
    Measurement again;
    const auto op = convert(matrix_, trial.record.candidate, device_, formats_, again);
    if (op == nullptr) return;
    measurement.setup_seconds = std::min(measurement.setup_seconds, again.setup_seconds);
    if (samples == 0 || measurement.bytes == 0) return;
    const auto length_of_rivals = rules_.final_sample.value_or(rules_.round_sample.value_or(rules_.sample));
    const auto timed = timed_product(trial, *op, length_of_rivals);
    Samples of_first;
    Samples of_other;
    for (int i = 0; i < samples; ++i) {
      give_up_if(watch_.stop);
      of_first.add(trial.timed->warm_sample());
      of_other.add(timed->warm_sample());
    }
    if (of_first.all_disturbed() || of_other.all_disturbed()) return;
    trial.others.push_back(of_other.timing().median / of_first.timing().median);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    // There may be no room for a second one. A sticky error, which would fail every later trial too, is thrown here.
    synchronize(device_);
  }
}

// The first conversion of its kind in a process loads the kernels that it launches, which may take longer than it does
// itself. Of a candidate that may win, a second one tells.
template <class T>
void Session<T>::convert_again_if_slow(Trial& trial, const Prospect& prospect) {
  constexpr double surprising = 2;  // times what was expected
  const double expected = prospect.prediction.setup_seconds;
  if (expected > 0 && trial.record.measurement.setup_seconds > surprising * expected) convert_again(trial, 0);
}

template <class T>
TrialRecord Session<T>::attempt(const Prospect& prospect) {
  const DeviceScope scope(device_);
  auto begun = std::make_unique<Trial>();
  begun->record = untried(prospect);
  begun->baseline = prospect.baseline;
  begun->index = trials_.size();
  trials_.push_back(std::move(begun));
  auto& trial = *trials_.back();
  try {
    auto& measurement = trial.record.measurement;
    trial.op = convert(matrix_, prospect.candidate, device_, formats_, measurement);
    give_up_if(watch_.stop);
    if (trial.op) {
      verifier_->verify(*trial.op, measurement, glance_limit());
      if (watch_.launched) watch_.launched();
    }
    if (measurement.warm.samples > 0) doubt_glance(trial);
    if (measurement.outcome == Outcome::passed && measurement.warm.samples == 0) {
      first_look(trial);
      if (may_win(trial)) convert_again_if_slow(trial, prospect);
    } else {
      trial.op.reset();
    }
  } catch (const Interrupted&) {
    trials_.pop_back();
    throw;
  } catch (const std::exception& error) {
    trial.timed.reset();
    trial.op.reset();
    note_failure(trial.record.measurement, error);
    // A sticky error would fail every later trial too: let the caller know instead.
    synchronize(device_);
  }
  drop_the_slow();
  return trial.record;
}

// Baselines stay longer: a comparison with one that was looked at for a moment is worth little. An estimate is compared
// with estimates, and with room for its error.
template <class T>
bool Session<T>::may_win(const Trial& trial) const {
  const double cut = trial.baseline ? std::max(rules_.cut_factor, rules_.baseline_cut_factor) : rules_.cut_factor;
  if (!trial.disturbed()) return best_ == 0 || trial.median() <= cut * best_;
  const double best = best_ > 0 ? std::min(best_, best_disturbed_) : best_disturbed_;
  return trial.median() <= std::max(cut, doubt_of_disturbed) * best;
}

// The machine may have been slower while it was looked at than while the best was.
template <class T>
bool Session<T>::is_slow_beside_best(Trial& trial) {
  if (device_.backend != Backend::host) return true;
  const auto others = kept();
  const auto best = std::min_element(others.begin(), others.end(),
                                     [](const Trial* a, const Trial* b) { return a->median() < b->median(); });
  if (*best == &trial || trial.median() > most_change_of_speed * rules_.cut_factor * (*best)->median()) return true;
  const auto of_best = (*best)->timed->warm_sample();
  const auto of_trial = trial.timed->warm_sample();
  if (of_best.disturbed || of_trial.disturbed) return true;
  return of_trial.seconds > rules_.cut_factor * of_best.seconds;
}

template <class T>
void Session<T>::drop_the_slow() {
  for (auto& trial : trials_) {
    if (!trial->running() || trial->spared || may_win(*trial)) continue;
    trial->spared = !is_slow_beside_best(*trial);
    if (trial->spared) continue;
    trial->timed.reset();
    trial->op.reset();
  }
}

template <class T>
std::vector<typename Session<T>::Trial*> Session<T>::kept() const {
  std::vector<Trial*> running;
  for (const auto& trial : trials_) {
    if (trial->running()) running.push_back(trial.get());
  }
  return running;
}

template <class T>
std::vector<typename Session<T>::Trial*> Session<T>::contenders() const {
  const auto total = [&](const Trial* trial, double share_of_setup) {
    return total_seconds(share_of_setup * trial->record.measurement.setup_seconds, trial->median(),
                         rules_.expected_calls);
  };
  auto trials = kept();
  const bool any_undisturbed =
      std::any_of(trials.begin(), trials.end(), [](const Trial* trial) { return !trial->disturbed(); });
  double best = std::numeric_limits<double>::infinity();
  for (const auto* trial : trials) {
    if (!any_undisturbed || !trial->disturbed()) best = std::min(best, total(trial, 1));
  }
  const auto too_slow = [&](const Trial* trial) {
    const double doubt = rules_.cut_factor > doubt_of_disturbed ? rules_.cut_factor
                         : trial->disturbed()                   ? doubt_of_disturbed
                                                                : rules_.doubt_of_rounds;
    return total(trial, least_conversion) > doubt * best;
  };
  trials.erase(std::remove_if(trials.begin(), trials.end(), too_slow), trials.end());
  return trials;
}

// In turn: a device that slows down slows all of them down.
template <class T>
bool Session<T>::round(const std::vector<Trial*>& trials) {
  bool all_precise = true;
  auto& round = rounds_.emplace_back();
  for (auto* trial : trials) {
    give_up_if(watch_.stop);
    const auto sample = trial->timed->warm_sample();
    round.samples.push_back({trial->index, sample});
    trial->warm.add(sample);
    all_precise = all_precise && trial->warm.is_precise(rules_.resolution);
  }
  return all_precise;
}

template <class T>
void Session<T>::finish() {
  const DeviceScope scope(device_);
  const auto nothing_more = [](const char* /*reason*/) {};
  unless_short([&] { run_rounds(); }, nothing_more);
  unless_short([&] { time_otherwise(); }, nothing_more);
  for (const auto& trial : trials_) trial->timed.reset();
}

// Candidates that take turns push one another out of a cache that each of them has to itself in a first look, and is
// back in only after several products. Those that were dropped have nothing but their first look to be held against.
template <class T>
double Session<T>::level_of_looks(const std::vector<Trial*>& trials) const {
  const bool any_dropped = std::any_of(trials_.begin(), trials_.end(), [](const auto& trial) {
    return !trial->running() && trial->record.measurement.outcome == Outcome::passed;
  });
  if (device_.backend != Backend::host || !any_dropped) return 1;
  const auto rounds = evened(rounds_, trials_.size());
  std::vector<double> ratios;
  for (const auto* trial : trials) {
    const auto& samples = rounds[trial->index];
    if (samples.any_undisturbed() && trial->look > 0) ratios.push_back(trial->look / samples.timing().median);
  }
  return ratios.empty() ? 1 : std::min(1.0, summarize(std::move(ratios)).median);
}

// The first looks were taken at other times, each at its own: rounds say more of which is the fastest.
template <class T>
void Session<T>::even_out(const std::vector<Trial*>& trials) {
  auto all = evened(rounds_, trials_.size(), level_of_looks(trials));
  for (auto* trial : trials) {
    auto& samples = all[trial->index];
    if (samples.any_undisturbed()) trial->warm = std::move(samples);
    trial->update_median();
  }
}

template <class T>
void Session<T>::run_rounds() {
  const auto all = kept();
  const auto take_samples_of = [&](const std::vector<Trial*>& trials, const std::optional<SampleLength>& length) {
    if (!length) return;
    for (auto* trial : trials) trial->timed = timed_product(*trial, *trial->op, *length);
    rounds_.clear();
  };
  take_samples_of(all, rules_.round_sample);
  for (int i = 0; i < rules_.max_rounds; ++i) {
    if (round(all) && i >= rules_.min_rounds) break;
  }
  even_out(all);
  const auto rivals = contenders();
  take_samples_of(rivals, rules_.final_sample);
  for (int i = 0; i < rules_.final_rounds && rivals.size() > 1; ++i) round(rivals);
  even_out(rivals);
  for (int i = 1; i < rules_.conversions; ++i) {
    for (auto* trial : rivals) {
      give_up_if(watch_.stop);
      convert_again(*trial, rules_.conversion_samples);
    }
  }
  for (auto* trial : rivals) trial->update_median();
  best_ = 0;
  best_disturbed_ = 0;
  for (const auto* trial : all) note_best(*trial);
}

template <class T>
void Session<T>::time_otherwise() {
  // It holds more memory than the caches, and takes long to get it. Where memory is short, nothing is timed cold.
  std::optional<CacheFlusher> flusher;
  if (rules_.cold_samples > 0 && has_free_memory(static_cast<double>(memory_share * device_.cache_bytes), device_)) {
    unless_short([&] { flusher.emplace(device_); }, [](const char* /*reason*/) {});
  }
  for (auto* trial : kept()) {
    auto& measurement = trial->record.measurement;
    measurement.loop = timing_of(rules_.loop_samples, watch_.stop, [&] { return trial->timed->loop_sample(); });
    if (flusher) {
      measurement.cold =
          timing_of(rules_.cold_samples, watch_.stop, [&] { return trial->timed->cold_sample(*flusher); });
    }
  }
}

template <class T>
std::vector<TrialRecord> Session<T>::records() const {
  std::vector<TrialRecord> records;
  records.reserve(trials_.size());
  for (const auto& trial : trials_) records.push_back(trial->record);
  return records;
}

template <class T>
std::unique_ptr<Operator<T>> Session<T>::take(const Candidate& candidate) {
  for (auto& trial : trials_) {
    if (trial->record.candidate == candidate && trial->op) return std::move(trial->op);
  }
  return nullptr;
}

template class Session<float>;
template class Session<double>;

}  // namespace autospmv
