// From a matrix to its plan: database, else features, trials and database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autospmv/context.hpp"
#include "autospmv/matrix.hpp"
#include "core/trial.hpp"
#include "features/features.hpp"
#include "tuner/candidates.hpp"
#include "tuner/plan_state.hpp"
#include "tuner/service.hpp"
#include "tuner/stop.hpp"

namespace autospmv {

/// How far a tuning is; for progress bars.
struct Progress {
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::string candidate;
};

struct TuneOptions {
  std::string label = {};  ///< remembered with the matrix, for people
  std::function<void(const Progress&)> progress = {};
  std::optional<Effort> effort = {};  ///< none: the context's
  std::optional<Limits> limits = {};  ///< likewise
  /// Also read what a report needs and a product does not: Tuned::trials and Tuned::baseline of a known matrix.
  bool report = true;
  /// The matrix keeps the plan for this context.
  bool keep = true;
  /// Where it is set, tune() and bench() throw Interrupted once the trials that were made are recorded.
  const StopFlag* stop = nullptr;
};

/// How long the steps of a call took, in seconds; 0 for those that were not needed.
struct StepTimes {
  double fingerprint = 0;
  double lookup = 0;
  double features = 0;
  double prediction = 0;  ///< of all candidates
  double trials = 0;
  double conversion = 0;  ///< of the winner, when it was not already built by a trial

  [[nodiscard]] double total() const { return fingerprint + lookup + features + prediction + trials + conversion; }
};

/// What came out of it.
template <class T>
struct Tuned {
  std::shared_ptr<detail::PlanState<T>> plan;
  bool from_database = false;            ///< no trial was made
  std::int64_t new_trials = 0;           ///< candidates built and measured now
  std::int64_t rechecked = 0;            ///< trials that were made again because the plan came from the database
  std::optional<TrialRecord> winner;     ///< nothing where the plan is the untried fallback
  std::optional<TrialRecord> baseline;   ///< the fastest baseline that is known
  std::vector<TrialRecord> trials;       ///< the last trial of every candidate, cheapest first
  std::optional<Features> features;      ///< where they were extracted
  std::optional<Prediction> prediction;  ///< of the plan, where it was chosen without a trial
  StepTimes times;
};

/// What trials of this matrix on the context's device are filed under.
template <Scalar T>
TrialKey key_of(const Matrix<T>& matrix, const Context& context);

/// The same; the values of the matrix are held meanwhile.
template <class T>
TrialKey key_of(const MatrixData<T>& matrix, const Device& device);

/// The part of it that is known without a look at the matrix.
TrialKey key_of_machine(const Device& device);

/// What the database calls an effort whose candidates were all tried. Limits choose among trials and leave no candidate
/// out, except that of determinism.
std::string effort_mark(Effort effort, const Limits& limits);

/// Whether all that such an effort would try was tried. Where a short list was measured, nothing is left for
/// Effort::online, whose list is the same.
bool was_tuned(Database& database, const TrialKey& key, Effort effort, const Limits& limits,
               const std::string& catalogue);

/// The value type of such a key: "float", "double", "double in 8 bits" where that is all the values need.
template <class T>
std::string kind_of_values(const CsrView<T>& matrix, const Device& device);

/// What predicts the times of candidates on a matrix of these features: the device's cost model, and trials of other
/// matrices than the one of this pattern.
template <Scalar T>
Predictor<T> predictor_for(const Features& features, const Fingerprint& pattern,
                           std::shared_ptr<const Experience<T>> experience);

/// Every candidate on a matrix of these features, as all_prospects() has them; suspects come last, doubted, and are
/// refused where too many processes died of them.
template <Scalar T>
std::vector<Prospect> prospects_of(const Features& features, const TrialKey& key, const Service& service,
                                   std::shared_ptr<const Experience<T>> experience);

/// As the database keeps them.
std::vector<std::pair<std::string, double>> named_values(const Features& features);

/// Makes a plan for this matrix. One tuning runs at a time in a context; Effort::online goes on in the plan. Updates of
/// the values wait. Every trial is in the database before the next one begins. Throws DeviceError where the device
/// fails.
template <Scalar T>
Tuned<T> tune(const Matrix<T>& matrix, const Context& context, const TuneOptions& options = {});

/// The plan that the matrix keeps for this context, made now if there is none yet.
template <Scalar T>
std::shared_ptr<detail::PlanState<T>> plan_for(const Matrix<T>& matrix, const Context& context);

/// Measures every admitted candidate to the end, warm and cold, records all of it, refused ones with their reasons,
/// and returns it, in the order of the prospects. `only`, where not empty, names the formats to measure.
template <Scalar T>
std::vector<TrialRecord> bench(const Matrix<T>& matrix, const Context& context, const std::vector<std::string>& only,
                               const TuneOptions& options = {});

/// A product that takes so many times what its trial took, or of which its trial took so many times as long, was not
/// measured: it was disturbed, or the machine was another.
inline constexpr double doubtful = 2;

/// setup + calls x warm median, in seconds.
double total_seconds(const Measurement& measurement, const Limits& limits);

/// Whether products of the candidate are bitwise equal from run to run, as its format says; what a database says of it
/// is not asked.
template <class T>
bool is_deterministic(const Candidate& candidate, const Device& device);

/// Whether a trial passed, and within the limits: a faster one beyond them is no rival.
template <class T>
bool could_win(const TrialRecord& trial, std::int64_t csr_bytes, const Limits& limits, const Device& device);

}  // namespace autospmv
