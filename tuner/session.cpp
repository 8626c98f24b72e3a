#include "tuner/session.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/shortage.hpp"
#include "tuner/conversion.hpp"

namespace autospmv {

namespace {

// One part in so many of the free memory is what a second operator, or a cache flusher, may take.
constexpr std::int64_t memory_share = 4;

template <class Sample>
Timing timing_of(int count, const Sample& sample) {
  std::vector<double> samples(static_cast<std::size_t>(count));
  for (auto& seconds : samples) seconds = sample();
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
                    FormatLookup<T> formats)
    : matrix_(matrix),
      device_(device),
      rules_(rules),
      formats_(std::move(formats)),
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
  for (int i = 0; i < rules_.first_look_samples; ++i) trial.warm.push_back(trial.timed->warm_sample());
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
  } catch (const std::exception&) {
    // There may be no room for a second one. A sticky error, which would fail every later trial too, is thrown here.
    synchronize(device_);
  }
}

template <class T>
TrialRecord Session<T>::attempt(const Prospect& prospect) {
  const DeviceScope scope(device_);
  auto begun = std::make_unique<Trial>();
  begun->record.candidate = prospect.candidate;
  begun->record.format_version = prospect.format_version;
  begun->record.deterministic = prospect.deterministic;
  begun->baseline = prospect.baseline;
  trials_.push_back(std::move(begun));
  auto& trial = *trials_.back();
  try {
    auto& measurement = trial.record.measurement;
    trial.op = convert(matrix_, prospect.candidate, device_, formats_, measurement);
    if (trial.op) verifier_->verify(*trial.op, measurement, glance_limit());
    if (measurement.outcome == Outcome::passed && measurement.warm.samples == 0) {
      first_look(trial);
      if (may_win(trial)) convert_again_if_slow(trial, prospect);
    } else {
      trial.op.reset();
    }
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
  const auto nothing_more = [](const char* /*reason*/) {};
  unless_short([&] { run_rounds(); }, nothing_more);
  unless_short([&] { time_otherwise(); }, nothing_more);
  for (const auto& trial : trials_) trial->timed.reset();
}

template <class T>
void Session<T>::run_rounds() {
  for (int round = 0; round < rules_.max_rounds; ++round) {
    bool all_settled = round >= rules_.min_rounds;
    // One sample of each in turn: a device that slows down slows all of them down.
    for (auto* trial : kept()) {
      trial->warm.push_back(trial->timed->warm_sample());
      all_settled = all_settled && settled(trial->warm, rules_.resolution);
    }
    if (all_settled) break;
  }
  best_ = std::numeric_limits<double>::max();
  for (auto* trial : kept()) {
    trial->update_median();
    best_ = std::min(best_, trial->median());
  }
}

template <class T>
void Session<T>::time_otherwise() {
  // It holds more memory than the caches, and takes long to get it. Where memory is short, nothing is timed cold.
  std::optional<CacheFlusher> flusher;
  if (rules_.cold_samples > 0 && free_memory(device_) / memory_share > device_.cache_bytes) {
    unless_short([&] { flusher.emplace(device_); }, [](const char* /*reason*/) {});
  }
  for (auto* trial : kept()) {
    auto& measurement = trial->record.measurement;
    measurement.loop = timing_of(rules_.loop_samples, [&] { return trial->timed->loop_sample(); });
    if (flusher) {
      measurement.cold = timing_of(rules_.cold_samples, [&] { return trial->timed->cold_sample(*flusher); });
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
