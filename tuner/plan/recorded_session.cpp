#include "tuner/plan/recorded_session.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "core/error.hpp"

namespace autospmv {

template <class T>
void RecordedSession<T>::describe(const TrialKey& key, MatrixRecord matrix) {
  key_ = key;
  described_ = std::move(matrix);
}

// The features are many, and need not be written with every trial.
template <class T>
MatrixRecord RecordedSession<T>::describe_once() {
  auto record = described_;
  if (std::exchange(has_features_, !record.features.empty())) record.features.clear();
  return record;
}

template <class T>
void RecordedSession<T>::begin(const SessionRules& rules) {
  const auto launched = [this] {
    if (launch_) launch_->survive();
  };
  auto own = rules;
  own.expected_calls = static_cast<double>(std::max<std::int64_t>(1, limits_.expected_calls));
  session_ = std::make_unique<Session<T>>(matrix_, service_.device(), own, std::random_device{}(), find_format<T>,
                                          SessionWatch{launched, stop_});
}

template <class T>
TrialRecord RecordedSession<T>::attempt(const Prospect& prospect) {
  give_up_if(stop_);
  const auto described = unrecorded_.empty() ? MatrixRecord{} : describe_once();
  launch_.emplace(service_.database(), key_, prospect.candidate, described, std::exchange(unrecorded_, {}));
  try {
    unrecorded_.push_back(session_->attempt(prospect));
  } catch (const DeviceError& error) {
    // Nothing can be tried after it in this process. The next one knows what came of it.
    auto broken = untried(prospect);
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
void RecordedSession<T>::finish() {
  const auto before = session_->records();
  session_->finish();
  const auto after = session_->records();
  for (std::size_t i = 0; i < after.size(); ++i) {
    const auto& was = before[i].measurement;
    const auto& is = after[i].measurement;
    if (is.warm.samples != was.warm.samples || is.setup_seconds != was.setup_seconds) unrecorded_.push_back(after[i]);
  }
  keep();
}

template <class T>
std::int64_t RecordedSession<T>::repeat(const std::vector<TrialRecord>& trials, const SessionRules& rules) {
  begin(rules);
  for (const auto& trial : trials) {
    auto prospect = tried_prospect<T>(trial, service_.device());
    prospect.baseline = true;  // none is dropped early
    prospect.prediction = {};  // nor is one converted twice
    session_->attempt(prospect);
  }
  session_->finish();
  record(session_->records());
  return static_cast<std::int64_t>(trials.size());
}

template <class T>
std::vector<TrialRecord> RecordedSession<T>::records() const {
  return session_ ? session_->records() : std::vector<TrialRecord>{};
}

template <class T>
std::unique_ptr<Operator<T>> RecordedSession<T>::take(const Candidate& candidate) {
  return session_ ? session_->take(candidate) : nullptr;
}

template <class T>
void RecordedSession<T>::keep() {
  if (!unrecorded_.empty()) record(std::exchange(unrecorded_, {}));
}

template <class T>
void RecordedSession<T>::record(const std::vector<TrialRecord>& trials) {
  service_.database().record(key_, describe_once(), trials);
}

template class RecordedSession<float>;
template class RecordedSession<double>;

}  // namespace autospmv
