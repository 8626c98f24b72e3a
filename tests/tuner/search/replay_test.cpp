// Searches are replayed on recorded trials: no device runs anything here.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "features/recorded.hpp"
#include "tests/tuner/predict/recorded.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/online/budget.hpp"
#include "tuner/online/step_prices.hpp"
#include "tuner/search/search.hpp"

namespace autospmv {
namespace {

// Of best time / chosen time.
struct Quality {
  double logs = 0;
  double worst = 1;
  int matrices = 0;
  int trials = 0;
  int most_trials = 0;

  void add(double ratio, int made) {
    logs += std::log(ratio);
    worst = std::min(worst, ratio);
    ++matrices;
    trials += made;
    most_trials = std::max(most_trials, made);
  }
  [[nodiscard]] double mean() const { return std::exp(logs / matrices); }
};

struct Replayed {
  Quality measured;
  Quality estimated;
  Quality online;
};

using Trials = std::map<Candidate, const TrialRecord*>;

double total(const TrialRecord& trial, const Limits& limits) {
  return trial.measurement.setup_seconds + static_cast<double>(limits.expected_calls) * trial.measurement.warm.median;
}

// Seconds of all calls, trials included, where a conversion takes as long again from the products beside it.
double online_total(const std::vector<Prospect>& prospects, const Trials& trials, const Limits& limits, int& made) {
  const auto& first = *trials.at(fallback_prospect(prospects, limits).candidate);
  const auto search = make_online_search(prospects, std::vector{first}, limits);
  double best = first.measurement.warm.median;
  double spent = 0;
  made = 1;
  while (const auto* const next = search->next()) {
    const auto& measurement = trials.at(next->candidate)->measurement;
    best = std::min(best, measurement.warm.median);
    spent += 2 * measurement.setup_seconds + SearchRules{}.products_of_trial * (measurement.warm.median - best);
    search->report(measurement, 0);
    ++made;
  }
  return spent + static_cast<double>(limits.expected_calls) * best;
}

// Calls body(prospects, trials) for every matrix, predicted from all others, or by the model alone.
template <class Body>
void for_each_recorded(const testing::Recording& recording, bool blind, const Body& body) {
  const auto records = testing::recorded_matrices(recording);
  const auto model = testing::model_of(recording);
  const auto history = testing::history_of<double>(records, recording.device, model);
  for (const auto& record : records) {
    const auto features = features_of_record(record.matrix.features);
    Trials trials;
    for (const auto& trial : record.trials) trials.emplace(trial.candidate, &trial);
    const auto predictor = blind ? Predictor(model) : history->near(*features, record.key.pattern);
    auto prospects = all_prospects<double>(*features, recording.device, predictor, {}, Choices::likely);
    std::erase_if(prospects, [&](const Prospect& one) { return !trials.contains(one.candidate); });
    body(prospects, trials);
  }
}

// Every matrix is searched as if it were new.
Replayed replay(const testing::Recording& recording, bool blind) {
  const Limits limits;
  Replayed replayed;
  for_each_recorded(recording, blind, [&](const std::vector<Prospect>& prospects, const Trials& trials) {
    double best = INFINITY;
    for (const auto& one : prospects) best = std::min(best, total(*trials.at(one.candidate), limits));

    const auto search = make_search(prospects, Effort::measure, limits, search_rules(recording.device.backend));
    double found = INFINITY;
    int made = 0;
    while (const auto* const next = search->next()) {
      const auto& trial = *trials.at(next->candidate);
      found = std::min(found, total(trial, limits));
      search->report(trial.measurement, trial.measurement.setup_seconds + 40 * trial.measurement.warm.median);
      ++made;
    }
    replayed.measured.add(best / found, made);
    const auto* const estimate = by_estimate(prospects, limits, INT64_MAX).front();
    replayed.estimated.add(best / total(*trials.at(estimate->candidate), limits), 0);
    const double online = online_total(prospects, trials, limits, made);
    replayed.online.add(best / online, made);
  });
  return replayed;
}

TEST(Replay, AFewTrialsFindNearlyTheBestWhereOtherMatricesAreKnown) {
  const auto [measured, estimated, online] = replay(testing::gpu_recording(), false);
  ASSERT_GT(measured.matrices, 30);
  EXPECT_LE(measured.most_trials, SearchRules{}.most_trials);
  EXPECT_GE(measured.mean(), 0.97) << "worst " << measured.worst;
  EXPECT_GE(measured.worst, 0.8);
  EXPECT_GE(estimated.mean(), 0.8) << "worst " << estimated.worst;
  EXPECT_GE(online.mean(), 0.85) << "worst " << online.worst;
  EXPECT_LE(online.trials, 6 * online.matrices);
  RecordProperty("measure", std::to_string(measured.mean()) + " worst " + std::to_string(measured.worst));
  RecordProperty("estimate", std::to_string(estimated.mean()) + " worst " + std::to_string(estimated.worst));
  RecordProperty("online", std::to_string(online.mean()) + " worst " + std::to_string(online.worst));
}

TEST(Replay, MoreTrialsFindThemWhereNothingIsKnown) {
  const auto [measured, estimated, online] = replay(testing::gpu_recording(), true);
  EXPECT_GE(measured.mean(), 0.96) << "worst " << measured.worst;
  EXPECT_LE(measured.most_trials, SearchRules{}.most_blind_trials);
  EXPECT_GE(online.mean(), 0.7) << "worst " << online.worst;
}

TEST(Replay, OnAProcessorTheModelAloneFindsWhatIsNearlyTheBest) {
  const auto [measured, estimated, online] = replay(testing::host_recording(), true);
  ASSERT_GT(measured.matrices, 50);
  EXPECT_GE(measured.mean(), 0.96) << "worst " << measured.worst;
  EXPECT_GE(estimated.mean(), 0.86) << "worst " << estimated.worst;
  RecordProperty("measure", std::to_string(measured.mean()) + " worst " + std::to_string(measured.worst));
  RecordProperty("estimate", std::to_string(estimated.mean()) + " worst " + std::to_string(estimated.worst));
  RecordProperty("online", std::to_string(online.mean()) + " worst " + std::to_string(online.worst));
  RecordProperty("trials", std::to_string(measured.trials) + " online " + std::to_string(online.trials));
}

TEST(Replay, OnAProcessorOthersSayMore) {
  const auto [measured, estimated, online] = replay(testing::host_recording(), false);
  EXPECT_GE(measured.mean(), 0.97) << "worst " << measured.worst;
  EXPECT_GE(estimated.mean(), 0.88) << "worst " << estimated.worst;
  RecordProperty("measure", std::to_string(measured.mean()) + " worst " + std::to_string(measured.worst));
  RecordProperty("estimate", std::to_string(estimated.mean()) + " worst " + std::to_string(estimated.worst));
  RecordProperty("online", std::to_string(online.mean()) + " worst " + std::to_string(online.worst));
  RecordProperty("trials", std::to_string(measured.trials) + " online " + std::to_string(online.trials));
}

// ---- Regret ------------------------------------------------------------------------------------------------------

// Product after product of a caller who knows nothing, as Online goes about it, by what was recorded.
class Caller {
 public:
  Caller(const testing::Recording& recording, const Trials& trials, const TrialRecord& plain)
      : backend_(recording.device.backend),
        trials_(trials),
        plain_(plain.measurement.warm.median),
        best_(plain_),
        prices_(backend_),
        budget_({}, budget_rules(backend_)) {
    budget_.set_plain(plain_);
    multiply(static_cast<std::int64_t>(SearchRules{}.products_of_trial));
  }

  void tune(const std::vector<Prospect>& prospects, const TrialRecord& plain, std::int64_t most) {
    const auto& costs = StepCosts::of(backend_);
    for (const auto& cost : {costs.key, costs.features, costs.prediction, costs.references}) {
      if (!pay(prices_.of(cost, plain_), prices_.of(cost, plain_), most)) return;
    }
    const auto search = make_online_search(prospects, std::vector{plain}, {});
    while (const auto* const next = search->next()) {
      const auto& measurement = trials_.at(next->candidate)->measurement;
      const double seconds = measurement.warm.median;
      const auto& prediction = next->prediction;
      const double verification = products_of_verification * plain_;
      const double expected =
          prices_.of_trial(prediction.setup_seconds, prediction.seconds, verification, plain_, best_);
      if (!pay(expected, trial(measurement.setup_seconds, seconds), most)) return;
      prices_.note_conversion(prediction.setup_seconds, measurement.setup_seconds);
      best_ = std::min(best_, seconds);
      search->report(measurement, 0);
    }
    multiply(most - products_);
  }

  /// Of all products so far, the total over that of plain CSR, at 10, 100, ... products.
  [[nodiscard]] const std::map<std::int64_t, double>& totals() const { return totals_; }
  /// By how many products of plain CSR the total was above 1.05 N + 5, at most.
  [[nodiscard]] double worst_excess() const { return worst_excess_; }

 private:
  // What is much slower than the best is timed no longer than it takes to see that.
  [[nodiscard]] double trial(double setup, double seconds) const {
    const double timed = seconds > 4 * best_ ? 0 : seconds > 2 * best_ ? 2 : SearchRules{}.products_of_trial;
    const double verified = (products_of_verification - 2) * plain_ + 2 * seconds;
    return prices_.of({0, setup + verified}, plain_) + timed * std::max(0.0, seconds - best_);
  }

  bool pay(double expected, double taken, std::int64_t most) {
    const auto until = budget_.products_until(expected, best_);
    multiply(std::min(until, most - products_));
    if (products_ == most) return false;
    budget_.spend(taken);
    spent_ += taken;
    look();
    return true;
  }

  void multiply(std::int64_t count) {
    for (std::int64_t at = 10; at <= products_ + count; at *= 10) {
      if (at > products_)
        totals_[at] =
            (spent_ + computed_ + static_cast<double>(at - products_) * best_) / (static_cast<double>(at) * plain_);
    }
    budget_.earn(count, best_);
    products_ += count;
    computed_ += static_cast<double>(count) * best_;
    look();
  }

  void look() {
    const double total = (spent_ + computed_) / plain_;
    worst_excess_ = std::max(worst_excess_, total - 1.05 * static_cast<double>(products_) - 5);
  }

  // Two of them, and vectors that are drawn and compared.
  static constexpr double products_of_verification = 6;

  Backend backend_;
  const Trials& trials_;
  double plain_;
  double best_;
  StepPrices prices_;
  Budget budget_;
  std::int64_t products_ = 0;
  double computed_ = 0;
  double spent_ = 0;
  std::map<std::int64_t, double> totals_;
  double worst_excess_ = std::numeric_limits<double>::lowest();
};

struct Regret {
  std::map<std::int64_t, Quality> totals;  // the inverse of what products took over plain CSR
  double worst_excess = std::numeric_limits<double>::lowest();
};

// From 1 to 100,000 products by each matrix.
Regret regret(const testing::Recording& recording, bool blind) {
  constexpr std::int64_t most = 100'000;
  Regret regret;
  for_each_recorded(recording, blind, [&](const std::vector<Prospect>& prospects, const Trials& trials) {
    const auto& plain = *trials.at(fallback_prospect(prospects, {}).candidate);
    Caller caller(recording, trials, plain);
    caller.tune(prospects, plain, most);
    for (const auto& [products, total] : caller.totals()) regret.totals[products].add(1 / total, 0);
    regret.worst_excess = std::max(regret.worst_excess, caller.worst_excess());
  });
  return regret;
}

Regret noted_regret(const testing::Recording& recording, bool blind) {
  auto replayed = regret(recording, blind);
  const std::string name = blind ? "blind " : "known ";
  for (const auto& [products, quality] : replayed.totals) {
    ::testing::Test::RecordProperty(name + std::to_string(products),
                                    std::to_string(1 / quality.mean()) + " worst " + std::to_string(1 / quality.worst));
  }
  ::testing::Test::RecordProperty(name + "miss", std::to_string(replayed.worst_excess));
  return replayed;
}

TEST(RegretReplay, StaysWithinThePromiseOnAProcessor) {
  for (const bool blind : {true, false}) {
    const auto replayed = noted_regret(testing::host_recording(), blind);
    EXPECT_LE(replayed.worst_excess, 0) << blind;
    EXPECT_LE(1 / replayed.totals.at(10'000).mean(), 0.82) << blind;
  }
}

TEST(RegretReplay, StaysWithinThePromiseOnADevice) {
  const auto lent = budget_rules(Backend::cuda).head_start - BudgetRules{}.head_start;
  const auto known = noted_regret(testing::gpu_recording(), false);
  EXPECT_LE(known.worst_excess, lent);
  EXPECT_LE(1 / known.totals.at(1000).mean(), 0.8);
  // What the model alone takes to be fast may take a hundred times as long, which is seen when it is verified.
  const auto blind = noted_regret(testing::gpu_recording(), true);
  EXPECT_LE(1 / blind.totals.at(1000).mean(), 0.8);
}

}  // namespace
}  // namespace autospmv
