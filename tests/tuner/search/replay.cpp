#include "tests/tuner/search/replay.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "features/recorded.hpp"
#include "tuner/online/budget.hpp"
#include "tuner/online/step_prices.hpp"

namespace autospmv::testing {

Replay::Replay(const Recording& recording, const std::function<bool(const std::string&)>& wanted)
    : recording_(recording), model_(model_of(recording)), records_(recorded_matrices(recording)) {
  if (wanted) std::erase_if(records_, [&](const Recorded& record) { return !wanted(record.matrix.label); });
  history_ = history_of<double>(records_, recording_.device, model_);
  matrices_.reserve(records_.size());
  for (const auto& record : records_) {
    auto& matrix = matrices_.emplace_back();
    matrix.label = record.matrix.label;
    matrix.features = *features_of_record(record.matrix.features);
    matrix.pattern = record.key.pattern;
    for (const auto& trial : record.trials) matrix.trials.emplace(trial.candidate, &trial);
    matrix.prospects =
        all_prospects<double>(matrix.features, recording_.device, Predictor(model_), {}, Choices::likely);
    std::erase_if(matrix.prospects, [&](const Prospect& one) { return !matrix.trials.contains(one.candidate); });
  }
}

std::vector<Prospect> Replay::prospects(const Replayable& matrix, bool blind, const Weights& weights) const {
  auto prospects = matrix.prospects;
  if (!blind)
    predict_anew<double>(prospects, matrix.features, history_->near(matrix.features, matrix.pattern, weights));
  return prospects;
}

void Quality::add(double ratio, int made) {
  logs += std::log(ratio);
  worst = std::min(worst, ratio);
  ++matrices;
  trials += made;
  most_trials = std::max(most_trials, made);
}

double Quality::mean() const { return std::exp(logs / matrices); }

double total_of(const Candidate& candidate, const Trials& trials) {
  return total_seconds(trials.at(candidate)->measurement, Limits{});
}

namespace {

// Seconds of all calls, trials included, where a conversion takes as long again from the products beside it.
double online_total(const std::vector<Prospect>& prospects, const Trials& trials, const Weights& weights, int& made) {
  const Limits limits;
  const auto& first = *trials.at(fallback_prospect(prospects, limits).candidate);
  const auto search = make_online_search(prospects, std::vector{first}, limits, {}, weights);
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

}  // namespace

double best_total(const std::vector<Prospect>& prospects, const Trials& trials) {
  double best = INFINITY;
  for (const auto& one : prospects) best = std::min(best, total_of(one.candidate, trials));
  return best;
}

std::vector<double> measured_totals(Backend backend, const std::vector<Prospect>& prospects, const Trials& trials,
                                    const Weights& weights) {
  const auto search = make_search(prospects, Effort::measure, {}, search_rules(backend, {}, weights), weights);
  std::vector<double> found;
  while (const auto* const next = search->next()) {
    const double total = total_of(next->candidate, trials);
    found.push_back(found.empty() ? total : std::min(found.back(), total));
    const auto& measurement = trials.at(next->candidate)->measurement;
    search->report(measurement, measurement.setup_seconds + 40 * measurement.warm.median);
  }
  return found;
}

void Replayed::add(const Replay& replay, const Replayable& matrix, bool blind, const Weights& weights) {
  const auto prospects = replay.prospects(matrix, blind, weights);
  const auto& trials = matrix.trials;
  const double best = best_total(prospects, trials);
  const auto found = measured_totals(replay.recording().device.backend, prospects, trials, weights);
  measured.add(best / found.back(), static_cast<int>(found.size()));
  const auto& estimate = *by_estimate(prospects, {}, INT64_MAX, weights).front();
  estimated.add(best / total_of(estimate.candidate, trials), 0);
  int made = 0;
  const double total = online_total(prospects, trials, weights, made);
  online.add(best / total, made);
}

Replayed replayed(const Replay& replay, bool blind, const Weights& weights) {
  Replayed replayed;
  for (const auto& matrix : replay.matrices()) replayed.add(replay, matrix, blind, weights);
  return replayed;
}

namespace {

// Product after product of a caller who knows nothing, as Online goes about it, by what was recorded.
class Caller {
 public:
  Caller(Backend backend, double nonzeros_of_row, const Trials& trials, const TrialRecord& plain)
      : costs_(StepCosts::of(backend)),
        trials_(trials),
        plain_(plain.measurement.warm.median),
        best_(plain_),
        prices_(backend, nonzeros_of_row),
        budget_({}, budget_rules(backend)) {
    budget_.set_plain(plain_);
    multiply(static_cast<std::int64_t>(SearchRules{}.products_of_trial));
  }

  void tune(const std::vector<Prospect>& prospects, const TrialRecord& plain, const Weights& weights,
            std::int64_t most) {
    const auto price = [&](const StepCost& cost) { return prices_.of(cost, plain_); };
    if (!pay(price(costs_.key), price(costs_.key), most)) return;
    const double taken = price(costs_.features) + price(costs_.prediction) + price(costs_.references);
    if (!pay(taken + price(costs_.candidate), taken, most)) return;
    const auto search = make_online_search(prospects, std::vector{plain}, {}, {}, weights);
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
    return prices_.of({.seconds = setup + verified}, plain_) + timed * std::max(0.0, seconds - best_);
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

  StepCosts costs_;
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

}  // namespace

Regret regret(const Replay& replay, bool blind, const Weights& weights) {
  constexpr std::int64_t most = 100'000;
  Regret regret;
  for (const auto& matrix : replay.matrices()) {
    const auto prospects = replay.prospects(matrix, blind, weights);
    const auto& plain = *matrix.trials.at(fallback_prospect(prospects, {}).candidate);
    Caller caller(replay.recording().device.backend, matrix.features.npr_mean, matrix.trials, plain);
    caller.tune(prospects, plain, weights, most);
    for (const auto& [products, total] : caller.totals()) regret.totals[products].add(1 / total, 0);
    regret.worst_excess = std::max(regret.worst_excess, caller.worst_excess());
  }
  return regret;
}

}  // namespace autospmv::testing
