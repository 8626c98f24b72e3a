// The constants by which other matrices predict a new one and trials correct that, as far as they were searched for by
// replaying recorded trials. What bounds a search, and so trades time for quality, is chosen: SearchRules.
#pragma once

#include <array>
#include <cstddef>

namespace autospmv {

/// Where a matrix lies among others, see position_of().
inline constexpr std::size_t position_size = 16;
using Position = std::array<double, position_size>;

struct Weights {
  // ---- How near matrices are

  Position importance;   ///< of what makes a position, in its order: how far apart a standard deviation of it is
  double feature_reach;  ///< the distance at which a matrix weighs half of what it does here
  double feature_power;  ///< of the distance over that: how fast it weighs less further away

  // ---- What is expected of a candidate

  double other_way;            ///< how alike parameters are of which one is 0 or missing
  double format_mean;          ///< weight of what its format does on average
  double format_variance;      ///< of what a format does on a matrix that is like no other
  double model_certainty;      ///< weight of what the cost model says by itself, were its variance 1
  double least_of_neighbours;  ///< weight of neighbours for what they say to be more than the mean of the format
  double selection_bias;       ///< how much slower than it says the best of many predictions of a format is taken to be

  // ---- What trials say of other candidates on the same matrix

  double common_doubt;      ///< trials that are worth as much as expecting no error common to all formats
  double kin_doubt;         ///< the same of the errors of one format, beside those of all
  double kin_reach;         ///< distance of parameters over which trials of one format lose weight
  double device_curiosity;  ///< SearchRules::curiosity on a CUDA device
  double host_curiosity;    ///< likewise on a processor
};

}  // namespace autospmv
