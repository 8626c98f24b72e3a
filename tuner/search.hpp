// Which candidates are tried, in which order, and when to stop. A search knows no device and runs nothing: it is
// tested by replaying recorded trials.
#pragma once

#include <memory>
#include <span>

#include "core/trial.hpp"
#include "tuner/candidates.hpp"
#include "tuner/context.hpp"

namespace autospmv {

/// What bounds a search of a short list.
struct SearchRules {
  int most_trials = 12;    ///< where near matrices are known
  int most_blind = 40;     ///< where the cost model alone orders the candidates
  int most_of_format = 2;  ///< likewise, in the first round
  int most_blind_of_format = 5;
  int least_trials = 6;  ///< that are made whatever they cost
  /// Time for all trials, in products of the baseline, as a share of the expected calls.
  double budget_share = 0.15;
};

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

/// Effort::measure: the baselines, then by expected total cost, setup + expected calls x time. What trials of this
/// matrix have shown of a format corrects what is expected of its other parameters; it ends when nothing that is left
/// could win, or what may be spent is spent. Effort::exhaustive: all that are admitted. Efforts without trials: none.
/// The prospects outlive the search.
std::unique_ptr<Search> make_search(std::span<const Prospect> prospects, Effort effort, const Limits& limits,
                                    const SearchRules& rules = {});

}  // namespace autospmv
