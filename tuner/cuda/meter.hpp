// The CUDA side of tuner/meter.hpp.
#pragma once

#include <cstddef>
#include <memory>

#include "tuner/meter.hpp"

namespace autospmv::cuda {

std::unique_ptr<TimedProduct> make_timed_product(const Device& device, Launch launch, double sample_seconds);

/// Drops what the cache holds of the memory, which is undefined from then on: its lines are free without being written
/// back. Whole lines only; does nothing on devices before compute capability 8.0.
void discard(char* data, std::size_t size, Stream stream);

double measure_copy_bandwidth(const Device& device);

}  // namespace autospmv::cuda
