// Weights that choose well on recorded trials.
#pragma once

#include <functional>
#include <span>

#include "tests/tuner/search/replay.hpp"
#include "tuner/predict/weights.hpp"

namespace autospmv::benchmark {

using Replays = std::span<const testing::Replay* const>;

/// Higher is better, 0 where every choice is the best: the logged ratio of the best total to that of the choice, of
/// estimates and of measuring, mean over the matrices, then over the recordings. Each matrix is predicted from all
/// others. Beside what is chosen count what would be if predictions were a little different, and what was found before
/// the last trial: few matrices would else make it jump from weight to weight, and a search would fit the jumps.
double score(Replays replays, const Weights& weights);

/// From neutral weights on, along one weight after the other by ever smaller factors, as long as the score rises. The
/// same recordings always give the same weights. `tell` hears the score after every turn.
Weights search_weights(Replays replays, const std::function<void(double)>& tell = {});

}  // namespace autospmv::benchmark
