// Searches on recorded trials: what they would have found on each matrix, were it new. No device runs anything here.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/tuner/predict/recorded.hpp"
#include "tuner/predict/searched_weights.hpp"
#include "tuner/search/search.hpp"

namespace autospmv::testing {

using Trials = std::map<Candidate, const TrialRecord*>;

/// A recorded matrix that is met as if it were new.
struct Replayable {
  std::string label;
  Features features;
  Fingerprint pattern;
  Trials trials;
  std::vector<Prospect> prospects;  ///< those of the trials that may be the best, by the cost model alone
};

/// A recording, read once and predicted from as often as asked.
class Replay {
 public:
  /// Of the matrices whose labels are wanted; of all where nothing says which.
  explicit Replay(const Recording& recording, const std::function<bool(const std::string&)>& wanted = {});
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  [[nodiscard]] const Recording& recording() const { return recording_; }
  [[nodiscard]] const std::vector<Replayable>& matrices() const { return matrices_; }

  /// The prospects of one of the matrices, predicted from all others, or blind, by the model alone.
  [[nodiscard]] std::vector<Prospect> prospects(const Replayable& matrix, bool blind,
                                                const Weights& weights = searched_weights) const;

 private:
  Recording recording_;
  CostModel model_;
  std::vector<Recorded> records_;
  std::vector<Replayable> matrices_;
  std::shared_ptr<const History<double>> history_;
};

/// Of best total / total of what was chosen.
struct Quality {
  double logs = 0;
  double worst = 1;
  int matrices = 0;
  int trials = 0;
  int most_trials = 0;

  void add(double ratio, int made);
  [[nodiscard]] double mean() const;  ///< geometric
};

double total_of(const Candidate& candidate, const Trials& trials);

/// The least total of all candidates.
double best_total(const std::vector<Prospect>& prospects, const Trials& trials);

/// The least totals after one trial of Effort::measure, after two, and so on to the last.
std::vector<double> measured_totals(Backend backend, const std::vector<Prospect>& prospects, const Trials& trials,
                                    const Weights& weights);

struct Replayed {
  Quality measured;
  Quality estimated;
  Quality online;

  void add(const Replay& replay, const Replayable& matrix, bool blind, const Weights& weights);
};

Replayed replayed(const Replay& replay, bool blind, const Weights& weights = searched_weights);

/// What a caller's products take, tuning included, as Online goes about it.
struct Regret {
  std::map<std::int64_t, Quality> totals;  ///< by their number: the inverse of what they took over plain CSR
  /// By how many products of plain CSR a total was above 1.05 N + 5, at most.
  double worst_excess = std::numeric_limits<double>::lowest();
};

/// From 10 to 100,000 products by each matrix.
Regret regret(const Replay& replay, bool blind, const Weights& weights = searched_weights);

}  // namespace autospmv::testing
