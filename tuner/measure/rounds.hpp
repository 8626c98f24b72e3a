// What a machine that changes its speed does to products that are timed in turn.
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/measure/host_threads.hpp"
#include "tuner/measure/meter.hpp"

namespace autospmv {

/// One sample each of several products, taken one after another.
struct Round {
  struct Taken {
    std::size_t product = 0;
    Sample sample;
  };
  std::vector<Taken> samples;
};

/// A processor runs at another clock for a while, or shares its caches with a neighbour for a while: that makes all
/// products of a round slower or faster alike, and the median of a product then depends on how many of its samples fell
/// into which while. So how fast each round was is estimated from all of its products (median polish of the logarithms;
/// Tukey, Exploratory Data Analysis, 1977, chapter 11) and divided out of their times: 1 is a round as fast as most, 2
/// one that was half as fast. Only undisturbed samples count. A round of one product says nothing of itself: 1.
std::vector<double> slowness_of(const std::vector<Round>& rounds);

/// The samples of so many products with that divided out, times `level`.
std::vector<Samples> evened(const std::vector<Round>& rounds, std::size_t products, double level = 1);

}  // namespace autospmv
