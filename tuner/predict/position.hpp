// How alike two matrices are by their features, and two choices of parameters of one format.
#pragma once

#include <cstddef>

#include "core/params.hpp"
#include "features/features.hpp"
#include "tuner/predict/searched_weights.hpp"

namespace autospmv {

/// Where a matrix lies among others: sizes, lengths of rows and their spread, blocks, diagonals, locality. Logarithms
/// where ratios count.
Position position_of(const Features& features, std::size_t value_bytes);

/// How far apart two choices of parameters of one format are: 0 where they are equal, about 1 for each that differs.
double distance(const Params& a, const Params& b);

/// How much of what is known of one choice of parameters is taken to hold for another, 1 where they are equal. Most
/// parameters are sizes, of which the ratio counts; 0 is a way of its own.
double alikeness(const Params& a, const Params& b, const Weights& weights = searched_weights);
/// Less counts for nothing.
inline constexpr double least_alikeness = 0.001;

}  // namespace autospmv
