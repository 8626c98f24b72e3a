#include "tuner/search/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tuner/predict/history.hpp"

namespace autospmv {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_wanted(const Prospect& prospect, const Limits& limits) {
  return prospect.admitted() && (limit_against(prospect, limits).empty() || prospect.baseline);
}

using Wanted = std::vector<const Prospect*>;

/// In a fixed order.
class InOrder final : public Search {
 public:
  explicit InOrder(Wanted wanted) : wanted_(std::move(wanted)) {
    // Whatever the time limit cuts, the comparison with plain CSR stands.
    std::stable_partition(wanted_.begin(), wanted_.end(), [](const Prospect* p) { return p->baseline; });
  }

  const Prospect* next() override { return at_ == wanted_.size() ? nullptr : wanted_[at_++]; }
  void report(const Measurement& /*measurement*/, double /*seconds*/) override {}
  [[nodiscard]] std::size_t most() const override { return wanted_.size(); }

 private:
  Wanted wanted_;
  std::size_t at_ = 0;
};

// Logged ratio of measured to predicted time.
double log_ratio_of(const Prospect& prospect, double seconds) {
  return std::log(seconds / prospect.prediction.seconds);
}

// The mean error of prediction of all trials on this matrix, as a logged ratio, which is expected of the others too.
// Few trials say less.
class CommonError {
 public:
  void add(double log_ratio) {
    sum_ += log_ratio;
    ++count_;
  }

  /// Where so many trials are worth as much as expecting none.
  [[nodiscard]] double expected(double doubt) const { return count_ == 0 ? 0 : sum_ / (count_ + doubt); }

 private:
  double sum_ = 0;
  int count_ = 0;
};

// Errors of prediction of the trials of one format on this matrix.
class FormatErrors {
 public:
  void add(const Prospect& prospect, double log_ratio) { ratios_.push_back({&prospect.candidate.params, log_ratio}); }

  struct Expected {
    double seconds;     ///< of a product
    double unexplored;  ///< share of the prediction's deviation that is left: less where its kin were tried
  };

  /// Corrected by them, those of the nearest parameters first, and by that of all formats where there are few.
  [[nodiscard]] Expected expected(const Prospect& prospect, double common, const Weights& weights) const {
    const double doubt = weights.kin_doubt;
    double total = doubt;
    double sum = doubt * common;
    for (const auto& ratio : ratios_) {
      const double weight = std::exp(-distance(prospect.candidate.params, *ratio.params) / weights.kin_reach);
      total += weight;
      sum += weight * ratio.log;
    }
    return {prospect.prediction.seconds * std::exp(sum / total), std::sqrt(doubt / total)};
  }

 private:
  struct Ratio {
    const Params* params;
    double log;
  };
  std::vector<Ratio> ratios_;
};

// What a search knows of one format.
struct FormatState {
  int trials = 0;
  FormatErrors errors;
  const Prospect* first = nullptr;  ///< the most promising of a baseline
};

class ShortList final : public Search {
 public:
  ShortList(const Wanted& wanted, const Limits& limits, const SearchRules& rules, const Weights& weights)
      : limits_(limits), rules_(rules), weights_(weights) {
    entries_.reserve(wanted.size());
    for (const auto* prospect : wanted) {
      auto& format = formats_[prospect->candidate.format];
      entries_.push_back({prospect, &format});
      if (!prospect->baseline) continue;
      if (format.first == nullptr || predicted_total(*prospect, limits) < predicted_total(*format.first, limits)) {
        format.first = prospect;
      }
    }
  }

  const Prospect* next() override {
    current_ = trials_ < rules_.most_trials ? choose() : nullptr;
    if (current_ == nullptr) return nullptr;
    current_->tried = true;
    ++current_->format->trials;
    ++trials_;
    return current_->prospect;
  }

  void report(const Measurement& measurement, double seconds) override {
    spent_ += seconds;
    if (measurement.outcome == Outcome::refused) {
      // Nothing is known by it and little was spent: another may take its place.
      --current_->format->trials;
      --trials_;
    }
    if (!is_timed(measurement)) return;
    const auto& prospect = *current_->prospect;
    const double log_ratio = log_ratio_of(prospect, measurement.warm.median);
    current_->format->errors.add(prospect, log_ratio);
    common_.add(log_ratio);
    best_total_ = std::min(best_total_, total_seconds(measurement, limits_));
    if (prospect.baseline) baseline_ = std::min(baseline_, measurement.warm.median);
  }

  [[nodiscard]] std::size_t most() const override {
    return std::min(entries_.size(), static_cast<std::size_t>(rules_.most_trials));
  }

 private:
  struct Entry {
    const Prospect* prospect;
    FormatState* format;
    bool tried = false;
  };

  [[nodiscard]] double calls() const { return static_cast<double>(limits_.expected_calls); }

  [[nodiscard]] Entry* choose() {
    for (auto& entry : entries_) {
      if (entry.prospect == entry.format->first && !entry.tried) return &entry;
    }
    if (trials_ >= rules_.least_trials && spent_ > rules_.budget_share * calls() * baseline_) return nullptr;
    Entry* best = nullptr;
    double least = infinity;
    double hoped = infinity;
    const double common = common_.expected(weights_.common_doubt);
    for (auto& entry : entries_) {
      if (entry.tried || entry.format->trials >= rules_.most_of_format) continue;
      const auto& prediction = entry.prospect->prediction;
      const auto expected = entry.format->errors.expected(*entry.prospect, common, weights_);
      const auto total_if_faster = [&](double deviations) {
        return total_seconds(prediction.setup_seconds, expected.seconds * std::exp(-deviations), limits_);
      };
      const double total = total_if_faster(rules_.curiosity * prediction.deviation * expected.unexplored);
      if (total < least) {
        least = total;
        best = &entry;
      }
      hoped = std::min(hoped, total_if_faster(rules_.hope * prediction.deviation));
    }
    // Nothing that is left would win even if it were so much faster than expected.
    return hoped > best_total_ ? nullptr : best;
  }

  std::vector<Entry> entries_;
  std::map<std::string, FormatState> formats_;
  CommonError common_;
  Limits limits_;
  SearchRules rules_;
  Weights weights_;
  Entry* current_ = nullptr;
  int trials_ = 0;
  double spent_ = 0;
  double baseline_ = infinity;
  double best_total_ = infinity;
};

// As long as trials are expected to pay.
class ByGain final : public Search {
 public:
  ByGain(const Wanted& wanted, std::span<const TrialRecord> known, const Limits& limits, const SearchRules& rules,
         const Weights& weights)
      : calls_(static_cast<double>(limits.expected_calls)), rules_(rules), weights_(weights) {
    left_.reserve(wanted.size());
    for (const auto* prospect : wanted) {
      const Entry entry{prospect, &formats_[prospect->candidate.format]};
      if (const auto* const trial = trial_of(prospect->candidate, known)) {
        note(entry, trial->measurement);
      } else {
        left_.push_back(entry);
      }
    }
  }

  const Prospect* next() override {
    if (trials_ == rules_.most_trials) return nullptr;
    update_errors();
    double most = 0;
    auto best = left_.end();
    for (auto at = left_.begin(); at != left_.end(); ++at) {
      const double gain = expected_gain(*at);
      if (gain > most) {
        most = gain;
        best = at;
      }
    }
    if (best == left_.end()) return nullptr;
    current_ = *best;
    left_.erase(best);
    ++trials_;
    ++current_.format->trials;
    return current_.prospect;
  }

  void report(const Measurement& measurement, double /*seconds*/) override {
    if (measurement.outcome == Outcome::refused) {
      --trials_;
      --current_.format->trials;
    }
    note(current_, measurement);
  }

  [[nodiscard]] std::size_t most() const override {
    return std::min(left_.size(), static_cast<std::size_t>(rules_.most_trials));
  }

 private:
  struct Entry {
    const Prospect* prospect = nullptr;
    FormatState* format = nullptr;
  };
  struct Timed {
    Entry of;
    double seconds;
  };

  void note(const Entry& entry, const Measurement& measurement) {
    if (is_timed(measurement)) timed_.push_back({entry, measurement.warm.median});
  }

  // A product between two events takes longer than one of many in a row, which is what is predicted: a stream that has
  // nothing to do waits for the launch meanwhile. What all trials take longer than predicted is no error, as long as it
  // is no more than a launch may be.
  void update_errors() {
    std::vector<double> longer;
    longer.reserve(timed_.size());
    for (const auto& trial : timed_) longer.push_back(trial.seconds - trial.of.prospect->prediction.seconds);
    std::sort(longer.begin(), longer.end());
    const double launch = longer.empty() ? 0 : std::clamp(longer[longer.size() / 2], 0.0, rules_.launch_seconds);
    for (const auto& trial : timed_) trial.of.format->errors = {};
    common_ = {};
    best_ = infinity;
    for (const auto& trial : timed_) {
      const double seconds = std::max(trial.seconds - launch, trial.seconds / 2);
      const double log_ratio = log_ratio_of(*trial.of.prospect, seconds);
      trial.of.format->errors.add(*trial.of.prospect, log_ratio);
      common_.add(log_ratio);
      best_ = std::min(best_, seconds);
    }
  }

  // Seconds that all calls are expected to gain, less what the trial must return. The time is taken to be lognormal:
  // what a call gains on average, where it gains anything, is then the value of an option to sell.
  [[nodiscard]] double expected_gain(const Entry& entry) const {
    const auto& prediction = entry.prospect->prediction;
    if (entry.format->trials >= rules_.most_of_format) return 0;
    const double common = common_.expected(doubt_of_common(prediction));
    const double seconds = entry.format->errors.expected(*entry.prospect, common, weights_).seconds;
    const double cost = prediction.setup_seconds + rules_.products_of_verification * seconds +
                        rules_.products_of_trial * std::max(0.0, seconds - best_);
    if (rules_.least_return * cost >= calls_ * best_) return 0;
    const double deviation = std::max(1e-3, share_of_deviation * prediction.deviation);
    const double margin = std::log(best_ / seconds) / deviation;
    const double gain =
        best_ * below(margin) - seconds * std::exp(deviation * deviation / 2) * below(margin - deviation);
    return calls_ * gain - rules_.least_return * cost;
  }

  // Of other devices only the order of candidates is known, and how fast this one is by a model: plain CSR's trial says
  // more of that, and there may be no other.
  [[nodiscard]] double doubt_of_common(const Prediction& prediction) const {
    return prediction.tier == Tier::sibling ? 0 : weights_.common_doubt;
  }

  // Of a standard normal distribution.
  static double below(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

  // Of the deviation that predictions have: hope alone is no reason for a trial.
  static constexpr double share_of_deviation = 0.5;

  std::vector<Entry> left_;
  std::vector<Timed> timed_;
  std::map<std::string, FormatState> formats_;
  CommonError common_;
  double calls_;
  SearchRules rules_;
  Weights weights_;
  Entry current_;
  int trials_ = 0;
  double best_ = infinity;
};

// What another search names, and then those that were in hand when a process died: should one of them be what killed
// it, everything else is known by then.
class DoubtedLast final : public Search {
 public:
  DoubtedLast(std::unique_ptr<Search> first, Wanted doubted)
      : first_(std::move(first)), doubted_(std::move(doubted)), most_(first_->most() + doubted_.size()) {}

  const Prospect* next() override {
    if (const auto* prospect = first_ ? first_->next() : nullptr) return prospect;
    first_.reset();
    return at_ == doubted_.size() ? nullptr : doubted_[at_++];
  }
  void report(const Measurement& measurement, double seconds) override {
    if (first_) first_->report(measurement, seconds);
  }
  [[nodiscard]] std::size_t most() const override { return most_; }

 private:
  std::unique_ptr<Search> first_;  // until it has ended
  Wanted doubted_;
  std::size_t most_;
  std::size_t at_ = 0;
};

struct Sorted {
  Wanted trusted;
  Wanted doubted;
};

Sorted wanted_of(std::span<const Prospect> prospects, const Limits& limits) {
  Sorted sorted;
  for (const auto& prospect : prospects) {
    if (is_wanted(prospect, limits)) (prospect.doubted ? sorted.doubted : sorted.trusted).push_back(&prospect);
  }
  return sorted;
}

std::unique_ptr<Search> with_doubted(std::unique_ptr<Search> search, Wanted doubted) {
  if (doubted.empty()) return search;
  return std::make_unique<DoubtedLast>(std::move(search), std::move(doubted));
}

// What the cost model alone says of one format: those that could win, in the format's own order where they are alike.
Wanted blind_list(Wanted of_format, double best, const SearchRules& rules) {
  const auto seconds = [](const Prospect* prospect) { return prospect->prediction.seconds; };
  const auto* const first = *std::min_element(of_format.begin(), of_format.end(),
                                              [&](const auto* a, const auto* b) { return seconds(a) < seconds(b); });
  const double limit = std::min(rules.blind_cut_factor * best, rules.alike * seconds(first));
  std::erase_if(of_format, [&](const Prospect* prospect) { return !prospect->baseline && seconds(prospect) > limit; });
  std::stable_sort(of_format.begin(), of_format.end(),
                   [](const Prospect* a, const Prospect* b) { return a->rank < b->rank; });
  const auto most = static_cast<std::size_t>(rules.most_blind_of_format);
  if (of_format.size() > most) of_format.resize(most);
  return of_format;
}

Wanted blind_order(const Wanted& wanted, const SearchRules& rules) {
  const auto faster = [](const Prospect* a, const Prospect* b) {
    return a->prediction.seconds < b->prediction.seconds;
  };
  std::map<std::string, Wanted> by_format;
  for (const auto* prospect : wanted) by_format[prospect->candidate.format].push_back(prospect);
  const double best = (*std::min_element(wanted.begin(), wanted.end(), faster))->prediction.seconds;
  std::map<std::size_t, Wanted> by_rank;
  for (const auto& [format, of_format] : by_format) {
    const auto list = blind_list(of_format, best, rules);
    for (std::size_t rank = 0; rank < list.size(); ++rank) by_rank[rank].push_back(list[rank]);
  }
  Wanted order;
  for (auto& [rank, list] : by_rank) {
    std::stable_sort(list.begin(), list.end(), faster);
    order.insert(order.end(), list.begin(), list.end());
  }
  const auto most = static_cast<std::size_t>(rules.most_blind_trials);
  if (order.size() > most) order.resize(most);
  std::stable_sort(order.begin(), order.end(), faster);
  return order;
}

// Whether no prospect is predicted from other matrices.
bool is_by_model(const Wanted& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [](const Prospect* prospect) { return prospect->prediction.tier == Tier::model; });
}

bool is_vague(const Wanted& wanted, const SearchRules& rules) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const Prospect* prospect) { return prospect->prediction.deviation > rules.vague; });
}

}  // namespace

const TrialRecord* trial_of(const Candidate& candidate, std::span<const TrialRecord> known) {
  const auto trial = std::find_if(known.begin(), known.end(), [&](const TrialRecord& record) {
    return record.candidate == candidate && record.measurement.outcome != Outcome::disturbed;
  });
  return trial == known.end() ? nullptr : &*trial;
}

std::unique_ptr<Search> make_search(std::span<const Prospect> prospects, Effort effort, const Limits& limits,
                                    const SearchRules& rules, const Weights& weights) {
  if (effort != Effort::measure && effort != Effort::exhaustive) return std::make_unique<InOrder>(Wanted{});
  auto respected = limits;
  if (effort == Effort::exhaustive) respected.capture = false;  // what cannot be captured is tried to be seen
  auto [wanted, doubted] = wanted_of(prospects, respected);
  std::unique_ptr<Search> search;
  if (effort == Effort::exhaustive || wanted.empty()) {
    search = std::make_unique<InOrder>(std::move(wanted));
  } else if (!is_by_model(wanted)) {
    search = std::make_unique<ShortList>(wanted, limits, rules, weights);
  } else if (is_vague(wanted, rules)) {
    search = std::make_unique<InOrder>(blind_order(wanted, rules));
  } else {
    auto by_model = rules;
    by_model.most_trials = rules.most_trials_by_model;
    search = std::make_unique<ShortList>(wanted, limits, by_model, weights);
  }
  return with_doubted(std::move(search), std::move(doubted));
}

std::unique_ptr<Search> make_online_search(std::span<const Prospect> prospects, std::span<const TrialRecord> known,
                                           const Limits& limits, const SearchRules& rules, const Weights& weights) {
  auto [wanted, doubted] = wanted_of(prospects, limits);
  std::erase_if(doubted, [&](const Prospect* prospect) { return trial_of(prospect->candidate, known) != nullptr; });
  return with_doubted(std::make_unique<ByGain>(wanted, known, limits, rules, weights), std::move(doubted));
}

}  // namespace autospmv
