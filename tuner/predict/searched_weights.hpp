// Searched for by replaying exhaustive runs that are not kept. benchmark_replay --search FILE writes such a file from
// the recorded trials in tests/tuner/recorded; those that it finds are better on these matrices, not surely on others.
#pragma once

#include "tuner/predict/weights.hpp"

namespace autospmv {

inline constexpr Weights searched_weights{
    .importance = {1.194, 0.4911, 0.1026, 1.207, 1.331, 0.1324, 2.508, 0.07352, 1.221, 2.721, 0.5107, 0.9077, 0.588,
                   0.2956, 1.154, 0.08752},
    .feature_reach = 0.6768,
    .feature_power = 2.2,
    .other_way = 0.01422,
    .format_mean = 0.0437,
    .format_variance = 0.3757,
    .model_certainty = 0.016,
    .least_of_neighbours = 0.0003179,
    .selection_bias = 0.3,
    .common_doubt = 1,
    .kin_doubt = 0.6,
    .kin_reach = 0.8,
    .device_curiosity = 0,
    .host_curiosity = 1,
};

}  // namespace autospmv
