// The CUDA side of tuner/measure/meter.hpp.
#pragma once

#include <memory>

#include "tuner/measure/meter.hpp"

namespace autospmv::cuda {

std::unique_ptr<TimedProduct> make_timed_product(const Device& device, Launch launch, double sample_seconds,
                                                 bool capturable);
double measure_copy_bandwidth(const Device& device);

}  // namespace autospmv::cuda
