// Which candidates are tried, in which order, and when to stop. A search knows no device and runs nothing: it is
// tested by replaying recorded trials.
#pragma once

#include <memory>
#include <span>

#include "autospmv/options.hpp"
#include "core/device.hpp"
#include "core/trial.hpp"
#include "formats/common/ranking.hpp"
#include "tuner/candidates.hpp"

namespace autospmv {

/// What bounds a search of a short list. Where near matrices are known, a few trials are enough (replaying exhaustive
/// runs, each matrix predicted from 146 others: 10 trials, on average, reach 0.990 of the best in geometric mean).
/// Where the cost model alone orders the candidates, it takes more (40: 0.983), and every format has its turn.
struct SearchRules {
  int most_trials = 12;
  int least_trials = 8;  ///< that are made whatever they cost
  int most_of_format = 3;
  /// It ends when nothing that is left would win even if it were so many standard deviations faster than expected.
  double hope = 1.5;
  /// Predictions that are further off than this say little of which candidate is the best: every format has its turn.
  double vague = 0.6;
  /// Time for all trials, in products of the baseline, as a share of the expected calls. With a thousand of them even
  /// the products of small matrices, of microseconds, pay for all trials.
  double budget_share = 2.5;

  int most_blind_trials = 40;
  int most_blind_of_format = 5;
  double hopeless = 6;          ///< blind: predicted so much slower than the best of all is not worth a trial
  double alike = alike_factor;  ///< blind: within so much of the best of a format, the format's own order says more

  /// Online: a trial must promise so many times what it costs. A conversion slows down the products beside it, and
  /// what promises most of many has mostly been overrated.
  double least_return = 4;
  double products_of_verification = 2;  ///< online: before that, see Verifier
  double products_of_trial = 9;         ///< online: that the caller computes with the candidate
  double launch_seconds = 5e-6;         ///< online: most that a timed product may take longer for being alone
};

/// On a processor a trial costs ten to twenty of its products, and what predictions miss is seldom worth that: where
/// the cost model alone orders the candidates, 7 trials reach 0.975 of the best, with near matrices known 0.985
/// (replays of exhaustive runs of 76 matrices).
inline SearchRules search_rules(Backend backend) {
  SearchRules rules;
  if (backend == Backend::host) {
    rules.hope = 0.7;
    rules.least_trials = 3;
    rules.most_of_format = 5;
  }
  return rules;
}

class Search {
 public:
  Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  virtual ~Search() = default;

  /// The candidate to try next, one of those it was made of; nullptr when the search has ended.
  virtual const Prospect* next() = 0;

  /// What the trial of the last one gave, and how long it took, all included.
  virtual void report(const Measurement& measurement, double seconds) = 0;

  /// How many trials there will be at most.
  [[nodiscard]] virtual std::size_t most() const = 0;
};

/// What spares another trial of the candidate: the first known one that did not run out of time; nullptr: none.
const TrialRecord* trial_of(const Candidate& candidate, std::span<const TrialRecord> known);

/// Effort::measure: the baselines, then by expected total cost, setup + expected calls x time. What trials of this
/// matrix have shown of a format corrects what is expected of its other parameters; it ends when nothing that is left
/// could win, or what may be spent is spent. Where no prospect is predicted from other matrices, and the cost model's
/// predictions are vague: the best of each format by the cost model, then the second best of each, and so on.
/// Effort::exhaustive: all that are admitted. Efforts without trials, and online: none. Doubted ones come after all
/// others. The prospects outlive the search.
std::unique_ptr<Search> make_search(std::span<const Prospect> prospects, Effort effort, const Limits& limits,
                                    const SearchRules& rules = {});

/// Effort::online, where trials cost the time of the products beside them: always the candidate that promises most in
/// the expected calls, less what its trial costs, until none promises enough. `known` are trials of this matrix,
/// that of the operator in use among them. Doubted ones come after all others.
std::unique_ptr<Search> make_online_search(std::span<const Prospect> prospects, std::span<const TrialRecord> known,
                                           const Limits& limits, const SearchRules& rules = {});

}  // namespace autospmv
