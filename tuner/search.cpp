#include "tuner/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tuner/experience.hpp"

namespace autospmv {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_wanted(const Prospect& prospect, const Limits& limits) {
  return prospect.admitted() && (prospect.deterministic || !limits.deterministic || prospect.baseline);
}

using Wanted = std::vector<const Prospect*>;

class AllOf final : public Search {
 public:
  explicit AllOf(Wanted wanted) : wanted_(std::move(wanted)) {
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

class ShortList final : public Search {
 public:
  ShortList(const Wanted& wanted, const Limits& limits, const SearchRules& rules) : limits_(limits), rules_(rules) {
    const bool blind = std::all_of(wanted.begin(), wanted.end(),
                                   [](const Prospect* prospect) { return prospect->prediction.tier == Tier::model; });
    if (blind) {
      rules_.most_trials = rules_.most_blind;
      rules_.most_of_format = rules_.most_blind_of_format;
    }
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
    if (measurement.outcome != Outcome::passed || !(measurement.warm.median > 0)) return;
    const auto& prospect = *current_->prospect;
    current_->format->misses.push_back(
        {&prospect.candidate.params, std::log(measurement.warm.median / prospect.prediction.seconds)});
    best_total_ = std::min(best_total_, measurement.setup_seconds + calls() * measurement.warm.median);
    if (prospect.baseline) baseline_ = std::min(baseline_, measurement.warm.median);
  }

  [[nodiscard]] std::size_t most() const override {
    return std::min(entries_.size(), static_cast<std::size_t>(rules_.most_trials));
  }

 private:
  struct Miss {
    const Params* params;
    double log_ratio;  ///< of measured over predicted
  };
  struct OfFormat {
    int trials = 0;
    std::vector<Miss> misses;
    const Prospect* first = nullptr;  ///< the most promising of a baseline
  };
  struct Entry {
    const Prospect* prospect;
    OfFormat* format;
    bool tried = false;
  };

  [[nodiscard]] double calls() const { return static_cast<double>(limits_.expected_calls); }

  // What trials of the same format on this matrix missed their predictions by, the nearest parameters first.
  static double log_correction(const Entry& entry) {
    constexpr double reach = 0.8;
    constexpr double doubt = 0.6;
    double weights = doubt;
    double sum = 0;
    for (const auto& miss : entry.format->misses) {
      const double weight = std::exp(-distance(entry.prospect->candidate.params, *miss.params) / reach);
      weights += weight;
      sum += weight * miss.log_ratio;
    }
    return sum / weights;
  }

  [[nodiscard]] Entry* choose() {
    for (auto& entry : entries_) {
      if (entry.prospect == entry.format->first && !entry.tried) return &entry;
    }
    if (trials_ >= rules_.least_trials && spent_ > rules_.budget_share * calls() * baseline_) return nullptr;
    Entry* best = nullptr;
    double least = infinity;
    double hoped = infinity;
    for (auto& entry : entries_) {
      if (entry.tried || entry.format->trials >= rules_.most_of_format) continue;
      const auto& prediction = entry.prospect->prediction;
      const double products = calls() * prediction.seconds * std::exp(log_correction(entry));
      const double total = prediction.setup_seconds + products;
      if (total < least) {
        least = total;
        best = &entry;
      }
      hoped = std::min(hoped, prediction.setup_seconds + products * std::exp(-prediction.deviation));
    }
    // Nothing that is left would win even if it were a standard deviation faster than expected.
    return hoped > best_total_ ? nullptr : best;
  }

  std::vector<Entry> entries_;
  std::map<std::string, OfFormat> formats_;
  Limits limits_;
  SearchRules rules_;
  Entry* current_ = nullptr;
  int trials_ = 0;
  double spent_ = 0;
  double baseline_ = infinity;
  double best_total_ = infinity;
};

}  // namespace

std::unique_ptr<Search> make_search(std::span<const Prospect> prospects, Effort effort, const Limits& limits,
                                    const SearchRules& rules) {
  Wanted wanted;
  if (effort == Effort::measure || effort == Effort::exhaustive) {
    for (const auto& prospect : prospects) {
      if (is_wanted(prospect, limits)) wanted.push_back(&prospect);
    }
  }
  if (effort == Effort::exhaustive) return std::make_unique<AllOf>(std::move(wanted));
  return std::make_unique<ShortList>(wanted, limits, rules);
}

}  // namespace autospmv
