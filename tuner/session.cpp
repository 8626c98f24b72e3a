#include "tuner/session.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "tuner/conversion.hpp"

namespace autospmv {

namespace {

// One part in so many of the free memory is what a second operator, or a cache flusher, may take.
constexpr std::int64_t memory_share = 4;

template <class Sample>
Timing timing_of(int count, const StopFlag* stop, const Sample& sample) {
  std::vector<double> samples(static_cast<std::size_t>(count));
  for (auto& seconds : samples) {
    give_up_if(stop);
    seconds = sample();
  }
  return summarize(std::move(samples));
}

}  // namespace

template <class T>
struct Session<T>::Trial {
  TrialRecord record;
  std::unique_ptr<Operator<T>> op;
  std::unique_ptr<TimedProduct> timed;
  std::vector<double> warm;
  bool baseline = false;

  [[nodiscard]] bool running() const { return timed != nullptr; }
  [[nodiscard]] double median() const { return record.measurement.warm.median; }
  void update_median() { record.measurement.warm = summarize(warm); }
};

template <class T>
Session<T>::Session(const CsrView<T>& matrix, const Device& device, const SessionRules& rules, std::uint64_t seed,
                    FormatLookup<T> formats, SessionWatch watch)
    : matrix_(matrix),
      device_(device),
      rules_(rules),
      formats_(std::move(formats)),
      watch_(std::move(watch)),
      verifier_(std::make_unique<Verifier<T>>(matrix, device, seed)) {}

template <class T>
Session<T>::~Session() = default;

template <class T>
Launch Session<T>::launch_of(const Trial& trial) const {
  const auto* op = trial.op.get();
  auto* verifier = verifier_.get();
  return [op, verifier](Stream stream) { op->apply(T{1}, verifier->x(), T{0}, verifier->y(), stream); };
}

template <class T>
double Session<T>::glance_limit() const {
  return best_ > 0 ? rules_.glance_factor * best_ : std::numeric_limits<double>::infinity();
}

template <class T>
void Session<T>::first_look(Trial& trial) {
  trial.timed = make_timed_product(device_, launch_of(trial), rules_.sample_seconds);
  for (int i = 0; i < rules_.first_look_samples; ++i) {
    give_up_if(watch_.stop);
    trial.warm.push_back(trial.timed->warm_sample());
  }
  trial.update_median();
  if (best_ == 0 || trial.median() < best_) best_ = trial.median();
}

// The first conversion of its kind in a process loads the kernels that it launches, which may take longer than it does
// itself. Of a candidate that may win, a second one tells.
template <class T>
void Session<T>::convert_again_if_slow(Trial& trial, const Prospect& prospect) {
  constexpr double surprising = 2;  // times what was expected
  auto& measurement = trial.record.measurement;
  const double expected = prospect.prediction.setup_seconds;
  if (!(expected > 0) || measurement.setup_seconds <= surprising * expected) return;
  if (measurement.bytes > free_memory(device_) / memory_share) return;
  try {
    Measurement again;
    if (convert(matrix_, prospect.candidate, device_, formats_, again) == nullptr) return;
    measurement.setup_seconds = std::min(measurement.setup_seconds, again.setup_seconds);
  } catch (const Error&) {
    // There may be no room for a second one. A sticky error, which would fail every later trial too, is thrown here.
    synchronize(device_);
  }
}

template <class T>
TrialRecord Session<T>::attempt(const Prospect& prospect) {
  const DeviceScope scope(device_);
  trials_.push_back(std::make_unique<Trial>());
  auto& trial = *trials_.back();
  trial.record.candidate = prospect.candidate;
  trial.record.format_version = prospect.format_version;
  trial.record.deterministic = prospect.deterministic;
  trial.baseline = prospect.baseline;
  try {
    auto& measurement = trial.record.measurement;
    trial.op = convert(matrix_, prospect.candidate, device_, formats_, measurement);
    give_up_if(watch_.stop);
    if (trial.op) {
      verifier_->verify(*trial.op, measurement, glance_limit());
      if (watch_.launched) watch_.launched();
    }
    if (measurement.outcome == Outcome::passed && measurement.warm.samples == 0) {
      first_look(trial);
      if (may_win(trial)) convert_again_if_slow(trial, prospect);
    } else {
      trial.op.reset();
    }
  } catch (const Error& error) {
    trial.timed.reset();
    trial.op.reset();
    trial.record.measurement.outcome = Outcome::failed;
    trial.record.measurement.detail = error.what();
    // A sticky error would fail every later trial too: let the caller know instead.
    synchronize(device_);
  } catch (const Interrupted&) {
    trials_.pop_back();
    throw;
  }
  drop_the_slow();
  return trial.record;
}

// Baselines stay longer: a comparison with one that was looked at for a moment is worth little.
template <class T>
bool Session<T>::may_win(const Trial& trial) const {
  const double cut = trial.baseline ? std::max(rules_.cut_factor, rules_.baseline_cut_factor) : rules_.cut_factor;
  return trial.median() <= cut * best_;
}

template <class T>
void Session<T>::drop_the_slow() {
  for (auto& trial : trials_) {
    if (!trial->running() || may_win(*trial)) continue;
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
void Session<T>::settle() {
  const DeviceScope scope(device_);
  for (int round = 0; round < rules_.max_rounds; ++round) {
    bool all_settled = round >= rules_.min_rounds;
    // One sample of each in turn: a device that slows down slows all of them down.
    for (auto* trial : kept()) {
      give_up_if(watch_.stop);
      trial->warm.push_back(trial->timed->warm_sample());
      all_settled = all_settled && settled(trial->warm, rules_.resolution);
    }
    if (all_settled) break;
  }
  // It holds more memory than the caches, and takes long to get it. Where memory is short, nothing is timed cold.
  std::optional<CacheFlusher> flusher;
  if (rules_.cold_samples > 0 && free_memory(device_) / memory_share > device_.cache_bytes) flusher.emplace(device_);
  best_ = std::numeric_limits<double>::max();
  for (auto* trial : kept()) {
    trial->update_median();
    best_ = std::min(best_, trial->median());
    auto& measurement = trial->record.measurement;
    measurement.loop = timing_of(rules_.loop_samples, watch_.stop, [&] { return trial->timed->loop_sample(); });
    if (flusher) {
      measurement.cold =
          timing_of(rules_.cold_samples, watch_.stop, [&] { return trial->timed->cold_sample(*flusher); });
    }
    trial->timed.reset();
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
