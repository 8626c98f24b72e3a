#include "tests/benchmark/replay/weight_search.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/benchmark/replay/weight_table.hpp"

namespace autospmv::benchmark {

namespace {

using testing::Replay;
using testing::Replayable;

// Of half of an estimate's score, how far the total of a candidate may lie above the least to count nearly as much.
constexpr double smear = 0.1;

// What measuring loses is little beside what estimates lose, and it is what most plans are made by.
constexpr double weight_of_measuring = 2;

// What a weight costs that is half or twice the neutral one: those that change nothing else stay where they are.
constexpr double pull = 5e-4;

double estimate_score(const Replayable& matrix, const std::vector<Prospect>& prospects, double best,
                      const Weights& weights) {
  const auto estimates = estimates_of(prospects, {}, INT64_MAX, weights);
  const auto score_of = [&](const Estimate& one) {
    return std::log(best / testing::total_of(one.prospect->candidate, matrix.trials));
  };
  double sum = 0;
  double shares = 0;
  for (const auto& one : estimates) {
    const double share = std::pow(estimates.front().seconds / one.seconds, 1 / smear);
    if (share < 1e-3) break;
    shares += share;
    sum += share * score_of(one);
  }
  return (score_of(estimates.front()) + sum / shares) / 2;
}

double measure_score(Backend backend, const Replayable& matrix, const std::vector<Prospect>& prospects, double best,
                     const Weights& weights) {
  const auto found = testing::measured_totals(backend, prospects, matrix.trials, weights);
  // Without the first, which is a baseline whatever the weights are.
  double sum = 0;
  for (std::size_t i = 1; i < found.size(); ++i) sum += std::log(best / found[i]);
  const double last = std::log(best / found.back());
  return found.size() > 1 ? (last + sum / static_cast<double>(found.size() - 1)) / 2 : last;
}

double score_of(const Replay& replay, const Weights& weights) {
  const auto backend = replay.recording().device.backend;
  double sum = 0;
  for (const auto& matrix : replay.matrices()) {
    const auto prospects = replay.prospects(matrix, false, weights);
    const double best = testing::best_total(prospects, matrix.trials);
    sum += estimate_score(matrix, prospects, best, weights) +
           weight_of_measuring * measure_score(backend, matrix, prospects, best, weights);
    // On a device, where the model alone says little, weights change nothing of what is tried.
    if (backend != Backend::host) continue;
    sum += measure_score(backend, matrix, replay.prospects(matrix, true, weights), best, weights);
  }
  return sum / static_cast<double>(replay.matrices().size());
}

// One of the weights.
struct Coordinate {
  std::function<double&(Weights&)> of;
  double neutral;
  double least;
  double most;
};

std::vector<Coordinate> coordinates() {
  std::vector<Coordinate> all;
  for (std::size_t i = 0; i < position_size; ++i) {
    const auto of = [i](Weights& weights) -> double& { return weights.importance[i]; };
    all.push_back({of, 1, least_importance, most_importance});
  }
  for (const auto& info : weight_table()) {
    const auto of = [member = info.member](Weights& weights) -> double& { return weights.*member; };
    all.push_back({of, info.neutral, info.least, info.most});
  }
  return all;
}

double distance_from_neutral(Weights weights) {
  double sum = 0;
  for (const auto& one : coordinates()) {
    const double apart = std::log2(one.of(weights) / one.neutral);
    sum += apart * apart;
  }
  return sum;
}

// Goes on to the next along a coordinate that is better than `at`, up or else down.
bool step(Replays replays, const Coordinate& along, double factor, Weights& at, double& best) {
  for (const double by : {factor, 1 / factor}) {
    auto next = at;
    double& value = along.of(next);
    value = std::clamp(value * by, along.least, along.most);
    if (value == along.of(at)) continue;
    const double here = score(replays, next);
    if (here <= best) continue;
    best = here;
    at = next;
    return true;
  }
  return false;
}

}  // namespace

double score(Replays replays, const Weights& weights) {
  double sum = 0;
  for (const auto* replay : replays) sum += score_of(*replay, weights);
  return sum / static_cast<double>(replays.size()) - pull * distance_from_neutral(weights);
}

Weights search_weights(Replays replays, const std::function<void(double)>& tell) {
  constexpr int most_turns = 3;  // by one factor
  auto all = coordinates();
  auto at = neutral_weights();
  double best = score(replays, at);
  std::mt19937_64 random(1);
  for (const double factor : {4.0, 2.0, 1.5, 1.25, 1.1}) {
    bool moved = true;
    for (int turn = 0; moved && turn < most_turns; ++turn) {
      moved = false;
      // In another order each turn; std::shuffle's is each library's own.
      for (std::size_t i = all.size() - 1; i > 0; --i) std::swap(all[i], all[random() % (i + 1)]);
      for (const auto& along : all) moved = step(replays, along, factor, at, best) || moved;
      if (tell) tell(best);
    }
  }
  return rounded(at);
}

}  // namespace autospmv::benchmark
