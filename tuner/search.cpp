#include "tuner/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "tuner/experience.hpp"

namespace autospmv {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_wanted(const Prospect& prospect, const Limits& limits) {
  return prospect.admitted() && (prospect.deterministic || !limits.deterministic || prospect.baseline);
}

class AllOf final : public Search {
 public:
  explicit AllOf(std::vector<Prospect> prospects) : prospects_(std::move(prospects)) {
    // Whatever the time limit cuts, the comparison with plain CSR stands.
    std::stable_partition(prospects_.begin(), prospects_.end(), [](const Prospect& p) { return p.baseline; });
  }

  std::optional<Prospect> next() override {
    if (at_ == prospects_.size()) return std::nullopt;
    return prospects_[at_++];
  }
  void report(const Measurement& /*measurement*/, double /*seconds*/) override {}
  [[nodiscard]] std::size_t most() const override { return prospects_.size(); }

 private:
  std::vector<Prospect> prospects_;
  std::size_t at_ = 0;
};

class ShortList final : public Search {
 public:
  ShortList(std::vector<Prospect> prospects, const Limits& limits, const SearchRules& rules)
      : limits_(limits), rules_(rules) {
    bool known = false;
    entries_.reserve(prospects.size());
    for (auto& prospect : prospects) {
      known = known || prospect.prediction.tier != Tier::model;
      entries_.push_back({std::move(prospect)});
    }
    if (!known) {
      rules_.most_trials = rules_.most_blind;
      rules_.most_of_format = rules_.most_blind_of_format;
    }
    for (auto& entry : entries_) {
      if (!entry.prospect.baseline) continue;
      auto& best = first_[entry.prospect.candidate.format];
      if (best == nullptr || predicted_total(entry.prospect, limits) < predicted_total(best->prospect, limits))
        best = &entry;
    }
  }

  std::optional<Prospect> next() override {
    Entry* const chosen = trials_ < rules_.most_trials ? choose() : nullptr;
    if (chosen == nullptr) return std::nullopt;
    chosen->tried = true;
    current_ = chosen;
    ++trials_;
    ++of_format_[chosen->prospect.candidate.format];
    return chosen->prospect;
  }

  void report(const Measurement& measurement, double seconds) override {
    spent_ += seconds;
    if (measurement.outcome != Outcome::passed || !(measurement.warm.median > 0)) return;
    current_->log_miss = std::log(measurement.warm.median / current_->prospect.prediction.seconds);
    current_->measured = true;
    const double total = measurement.setup_seconds + calls() * measurement.warm.median;
    best_total_ = std::min(best_total_, total);
    if (current_->prospect.baseline) baseline_ = std::min(baseline_, measurement.warm.median);
  }

  [[nodiscard]] std::size_t most() const override {
    return std::min(entries_.size(), static_cast<std::size_t>(rules_.most_trials));
  }

 private:
  struct Entry {
    Prospect prospect;
    bool tried = false;
    bool measured = false;
    double log_miss = 0;  ///< log of measured over predicted
  };

  [[nodiscard]] double calls() const { return static_cast<double>(limits_.expected_calls); }

  // What trials of the same format on this matrix missed their predictions by, the nearest parameters first.
  [[nodiscard]] double log_correction(const Entry& entry) const {
    constexpr double reach = 0.8;
    constexpr double doubt = 0.6;
    double weights = doubt;
    double sum = 0;
    for (const auto& other : entries_) {
      if (!other.measured || other.prospect.candidate.format != entry.prospect.candidate.format) continue;
      const double weight =
          std::exp(-distance(entry.prospect.candidate.params, other.prospect.candidate.params) / reach);
      weights += weight;
      sum += weight * other.log_miss;
    }
    return sum / weights;
  }

  [[nodiscard]] Entry* choose() {
    for (auto& [format, entry] : first_) {
      if (!entry->tried) return entry;
    }
    if (trials_ >= rules_.least_trials && spent_ > rules_.budget_share * calls() * baseline_) return nullptr;
    Entry* best = nullptr;
    double least = infinity;
    for (auto& entry : entries_) {
      const auto& prospect = entry.prospect;
      if (entry.tried || of_format_[prospect.candidate.format] >= rules_.most_of_format) continue;
      const double seconds = prospect.prediction.seconds * std::exp(log_correction(entry));
      const double total = prospect.prediction.setup_seconds + calls() * seconds;
      if (total >= least) continue;
      least = total;
      best = &entry;
      // One standard deviation faster than expected, and still no faster than what is there: it cannot be expected to
      // win.
      hopeless_ = prospect.prediction.setup_seconds + calls() * seconds * std::exp(-prospect.prediction.deviation) >
                  best_total_;
    }
    return best != nullptr && hopeless_ ? nullptr : best;
  }

  std::vector<Entry> entries_;
  Limits limits_;
  SearchRules rules_;
  std::map<std::string, Entry*> first_;  // the most promising of each baseline format
  std::map<std::string, int> of_format_;
  Entry* current_ = nullptr;
  int trials_ = 0;
  double spent_ = 0;
  double baseline_ = infinity;
  double best_total_ = infinity;
  bool hopeless_ = false;
};

}  // namespace

std::unique_ptr<Search> make_search(std::vector<Prospect> prospects, Effort effort, const Limits& limits,
                                    const SearchRules& rules) {
  const bool tries = effort == Effort::measure || effort == Effort::exhaustive;
  if (!tries) prospects.clear();
  std::erase_if(prospects, [&](const Prospect& prospect) { return !is_wanted(prospect, limits); });
  if (effort == Effort::exhaustive) return std::make_unique<AllOf>(std::move(prospects));
  return std::make_unique<ShortList>(std::move(prospects), limits, rules);
}

}  // namespace autospmv
