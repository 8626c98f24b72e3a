// Trials of one matrix, each of which is in the database before the next one begins.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/trial.hpp"
#include "tuner/context/service.hpp"
#include "tuner/measure/first_launch.hpp"
#include "tuner/measure/session.hpp"
#include "tuner/measure/stop.hpp"

namespace autospmv {

template <class T>
class RecordedSession {
 public:
  /// The matrix lies in the memory of the service's device. Where `stop` says so, trials throw Interrupted.
  RecordedSession(Service& service, const CsrView<T>& matrix, const Limits& limits, Stop stop)
      : service_(service), matrix_(matrix), limits_(limits), stop_(std::move(stop)) {}

  /// What the trials are filed under; again when the features are known.
  void describe(const TrialKey& key, MatrixRecord matrix);

  void begin(const SessionRules& rules);
  /// Lets go of what was built.
  void end() { session_.reset(); }
  [[nodiscard]] bool has_begun() const { return session_ != nullptr; }

  /// As Session::attempt.
  TrialRecord attempt(const Prospect& prospect);
  /// A trial that nothing was built for.
  void add(TrialRecord trial) { unrecorded_.push_back(std::move(trial)); }
  /// Measures to the end what is kept, and records what that changed.
  void finish();
  /// Times candidates once more that were tried before, to the end, and records them. How many there were.
  std::int64_t repeat(const std::vector<TrialRecord>& trials, const SessionRules& rules);

  /// Runs a body that makes trials: however it ends, they are recorded.
  template <class Body>
  void keeping(const Body& body) {
    try {
      body();
    } catch (...) {
      keep();
      throw;
    }
    keep();
  }
  /// The candidate in hand was given up.
  void forget_launch() { launch_.reset(); }

  /// As Session's; none before it has begun.
  [[nodiscard]] std::vector<TrialRecord> records() const;
  [[nodiscard]] std::unique_ptr<Operator<T>> take(const Candidate& candidate);

 private:
  void keep();
  void record(const std::vector<TrialRecord>& trials);
  [[nodiscard]] MatrixRecord describe_once();

  Service& service_;
  CsrView<T> matrix_;
  Limits limits_;
  Stop stop_;
  TrialKey key_;
  MatrixRecord described_;
  bool has_features_ = false;  // the database
  std::unique_ptr<Session<T>> session_;
  std::optional<FirstLaunch> launch_;    // of the candidate in hand
  std::vector<TrialRecord> unrecorded_;  // at most one, of the trial before
};

extern template class RecordedSession<float>;
extern template class RecordedSession<double>;

}  // namespace autospmv
