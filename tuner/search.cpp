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

class ShortList final : public Search {
 public:
  ShortList(const Wanted& wanted, const Limits& limits, const SearchRules& rules) : limits_(limits), rules_(rules) {
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
      // Nothing was learned and little spent: another may take its place.
      --current_->format->trials;
      --trials_;
    }
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

// What the cost model alone says of one format: those that could win, in the format's own order where they are alike.
Wanted blind_list(Wanted of_format, double best, const SearchRules& rules) {
  const auto seconds = [](const Prospect* prospect) { return prospect->prediction.seconds; };
  const auto* const first = *std::min_element(of_format.begin(), of_format.end(),
                                              [&](const auto* a, const auto* b) { return seconds(a) < seconds(b); });
  const double limit = std::min(rules.hopeless * best, rules.alike * seconds(first));
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
  std::map<std::size_t, Wanted> turns;
  for (const auto& [format, of_format] : by_format) {
    const auto list = blind_list(of_format, best, rules);
    for (std::size_t turn = 0; turn < list.size(); ++turn) turns[turn].push_back(list[turn]);
  }
  Wanted order;
  for (auto& [turn, list] : turns) {
    std::stable_sort(list.begin(), list.end(), faster);
    order.insert(order.end(), list.begin(), list.end());
  }
  const auto most = static_cast<std::size_t>(rules.most_blind_trials);
  if (order.size() > most) order.resize(most);
  std::stable_sort(order.begin(), order.end(), faster);
  return order;
}

bool is_blind(const Wanted& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [](const Prospect* prospect) { return prospect->prediction.tier == Tier::model; });
}

}  // namespace

std::unique_ptr<Search> make_search(std::span<const Prospect> prospects, Effort effort, const Limits& limits,
                                    const SearchRules& rules) {
  Wanted wanted;
  if (effort == Effort::measure || effort == Effort::exhaustive) {
    for (const auto& prospect : prospects) {
      if (is_wanted(prospect, limits)) wanted.push_back(&prospect);
    }
  }
  if (effort == Effort::exhaustive || wanted.empty()) return std::make_unique<InOrder>(std::move(wanted));
  if (is_blind(wanted)) return std::make_unique<InOrder>(blind_order(wanted, rules));
  return std::make_unique<ShortList>(wanted, limits, rules);
}

}  // namespace autospmv
