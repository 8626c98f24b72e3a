// Which candidates are tried, in which order, and when to stop. A search knows no device and runs nothing: it is
// tested by replaying recorded trials.
#pragma once

#include <memory>
#include <span>

#include "autospmv/options.hpp"
#include "core/machine/device.hpp"
#include "core/trial.hpp"
#include "core/uncopied.hpp"
#include "formats/ranking.hpp"
#include "tuner/objective.hpp"
#include "tuner/predict/searched_weights.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv {

/// What bounds a search of a short list. Where near matrices are known, a few trials are enough (replaying exhaustive
/// runs, each matrix predicted from 146 others: 10 trials, on average, reach 0.990 of the best in geometric mean).
/// Where the cost model alone orders the candidates, it takes more (40: 0.983), and every format is given trials.
struct SearchRules {
  int most_trials = 12;
  int most_trials_by_model = 12;  ///< where the cost model alone orders them, and well
  int least_trials = 8;           ///< that are made whatever they cost
  int most_of_format = 3;
  /// It ends when nothing that is left would win even if it were so many standard deviations faster than expected.
  double hope = 1.5;
  /// What is tried next promises most if it is by so many of them faster than expected. They shrink where its kin, the
  /// same format with like parameters, were tried: the more curious, the more of its formats a search sees.
  double curiosity = searched_weights.device_curiosity;
  /// Predictions that are further off than this say little of which candidate is the best: every format is given
  /// trials.
  double vague = 0.6;
  /// Time for all trials, in products of the baseline, as a share of the expected calls. With a thousand of them even
  /// the products of small matrices, of microseconds, pay for all trials.
  double budget_share = 2.5;

  int most_blind_trials = 40;
  int most_blind_of_format = 5;
  double blind_cut_factor = 6;  ///< blind: predicted so much slower than the best of all is not worth a trial
  double alike = alike_factor;  ///< blind: within so much of the best of a format, the format's own order says more

  /// Online: a trial must promise so many times what it costs. A conversion slows down the products beside it, and
  /// what promises most of many has mostly been overrated.
  double least_return = 4;
  double products_of_verification = 2;  ///< online: before that, see Verifier
  double products_of_trial = 9;         ///< online: that the caller computes with the candidate
  double launch_seconds = 5e-6;         ///< online: most that a timed product may take longer for being alone
};

/// On a processor a trial costs ten to twenty of its products, and an exhaustive run's best is mostly among the first
/// few, if these are not all alike: replaying exhaustive runs of 59 matrices on two processors, 5 reach 0.992 and 0.984
/// of it where others are known (4: 0.979 and 0.978), and 9 reach 0.996 where none is. Of many calls a few thousandths
/// pay for more.
inline SearchRules search_rules(Backend backend, const Limits& limits = {}, const Weights& weights = searched_weights) {
  SearchRules rules;
  rules.curiosity = backend == Backend::host ? weights.host_curiosity : weights.device_curiosity;
  rules.most_of_format = backend == Backend::host ? 5 : 4;
  if (backend == Backend::host) {
    rules.most_trials = 5;
    rules.most_trials_by_model = 9;
    rules.least_trials = 3;
  }
  if (expects_many_calls(limits)) {
    rules.most_trials *= 3;
    if (backend == Backend::host) rules.most_of_format *= 2;
    rules.most_trials_by_model *= 2;
    rules.hope *= 2;
  }
  return rules;
}

/// What a search is made from. A processor's best of many calls is mostly of a likely format, with other parameters.
inline Choices choices_of(Effort effort, Backend backend, const Limits& limits) {
  if (effort == Effort::exhaustive) return Choices::all;
  const bool pays = effort == Effort::measure && backend == Backend::host && expects_many_calls(limits);
  return pays ? Choices::offered : Choices::likely;
}

class Search : Uncopied {
 public:
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
/// Effort::exhaustive: all that are admitted, those too that cannot be captured where Limits::capture lets none of them
/// win. Efforts without trials, and online: none. Doubted ones come after all
/// others. The prospects outlive the search.
std::unique_ptr<Search> make_search(std::span<const Prospect> prospects, Effort effort, const Limits& limits,
                                    const SearchRules& rules = {}, const Weights& weights = searched_weights);

/// Effort::online, where trials cost the time of the products beside them: always the candidate that promises most in
/// the expected calls, less what its trial costs, until none promises enough. `known` are trials of this matrix,
/// that of the operator in use among them. Doubted ones come after all others.
std::unique_ptr<Search> make_online_search(std::span<const Prospect> prospects, std::span<const TrialRecord> known,
                                           const Limits& limits, const SearchRules& rules = {},
                                           const Weights& weights = searched_weights);

}  // namespace autospmv
