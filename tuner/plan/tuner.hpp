// From a matrix to its plan: database, else features, trials and database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autospmv/context.hpp"
#include "autospmv/matrix.hpp"
#include "core/trial.hpp"
#include "features/features.hpp"
#include "tuner/context/service.hpp"
#include "tuner/plan/plan_state.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv {

struct TuneOptions {
  Operation op = Operation::plain;
  std::string label = {};                              ///< remembered with the matrix, for people
  std::string source = {};                             ///< likewise: what it was read from
  std::function<void(const Progress&)> progress = {};  ///< as in ContextOptions
  std::optional<Effort> effort = {};                   ///< none: the context's
  std::optional<Limits> limits = {};                   ///< likewise
  /// tune(): the candidates to choose among, beside the baselines; all where empty. Efforts with trials try each of
  /// them; that is never an effort complete.
  std::vector<FormatChoice> only = {};
  /// Also read what a report needs and a product does not: Tuned::trials and Tuned::baseline of a known matrix.
  bool report = true;
  /// The matrix keeps the plan for this context.
  bool keep = true;
  /// bench(): only warm times, in fewer rounds, and what is ten times slower than the fastest is timed once.
  bool warm_only = false;
  /// Where it says so, tune() and bench() throw Interrupted once the trials that were made are recorded.
  Stop stop = {};
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

/// After the label of a matrix whose transposed pattern is another one.
inline constexpr const char* transposed_suffix = " transposed";

/// What came out of it.
template <class T>
struct Tuned {
  std::shared_ptr<detail::PlanState<T>> plan;
  bool from_database = false;            ///< no trial was made
  std::string layer;                     ///< the system database that knows the winner; empty: none
  std::int64_t new_trials = 0;           ///< candidates built and measured now
  std::int64_t rechecked = 0;            ///< trials that were made again because the plan came from the database
  std::optional<TrialRecord> winner;     ///< nothing where the plan is the untried fallback
  std::optional<TrialRecord> baseline;   ///< the fastest baseline that is known
  std::vector<TrialRecord> trials;       ///< the last trial of every candidate, cheapest first
  std::optional<Features> features;      ///< where they were extracted
  std::optional<Prediction> prediction;  ///< of the plan, where it was chosen without a trial
  bool passed_over = false;              ///< what the database knows, for plain CSR was not tried beside it
  StepTimes times;
};

/// Why what the database knows of a matrix is passed over: nothing says that plain CSR is no faster.
inline constexpr const char* without_baseline =
    "plain CSR was not tried on this matrix: what the database knows of other candidates decides nothing";

/// Makes a plan for this matrix. One tuning runs at a time in a context; Effort::online goes on in the plan. Updates of
/// the values wait. Every trial is in the database before the next one begins. Throws DeviceError where the device
/// fails, and InvalidArgument where check_choices() does.
template <Scalar T>
Tuned<T> tune(const Matrix<T>& matrix, const Context& context, const TuneOptions& options = {});

/// A product that a plan is asked for.
template <class T>
struct FirstProduct {
  std::span<const T> x;
  std::span<T> y;
  ApplyOptions<T> options;
  bool done = false;  ///< while the plan was made
};

/// The plan that the matrix keeps for this context, made now if there is none yet. Where that is tuned online, a device
/// may run `first` while what it is tuned by is got ready.
template <Scalar T>
std::shared_ptr<detail::PlanState<T>> plan_for(const Matrix<T>& matrix, const Context& context,
                                               Operation op = Operation::plain, FirstProduct<T>* first = nullptr);

/// Measures every admitted candidate to the end, warm and cold, records all of it, refused ones with their reasons,
/// and returns it, in the order of the prospects. `only`, where not empty, names the candidates to measure. Throws
/// InvalidArgument where check_choices() does.
template <Scalar T>
std::vector<TrialRecord> bench(const Matrix<T>& matrix, const Context& context,
                               const std::vector<FormatChoice>& only = {}, const TuneOptions& options = {});

}  // namespace autospmv
