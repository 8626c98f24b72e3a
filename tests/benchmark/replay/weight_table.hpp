// The weights one by one: what a search may change, and how they are written down.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tuner/predict/weights.hpp"

namespace autospmv::benchmark {

/// What a search may say of one of Weights' members.
struct WeightInfo {
  std::string_view name;
  double Weights::*member;
  double neutral;  ///< where a search begins
  double least;
  double most;
};
std::span<const WeightInfo> weight_table();

/// The same of each importance.
inline constexpr double least_importance = 0.02;
inline constexpr double most_importance = 8;

/// All of them neutral: whatever makes a position counts alike.
Weights neutral_weights();

/// tuner/predict/searched_weights.hpp with these, each to four digits.
std::string header_of(const Weights& weights);

/// What that header will say.
Weights rounded(const Weights& weights);

}  // namespace autospmv::benchmark
