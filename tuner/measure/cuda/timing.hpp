// The CUDA sides of tuner/measure/meter.hpp and tuner/measure/caller_stream.hpp.
#pragma once

#include <cstdint>
#include <memory>

#include "tuner/measure/caller_stream.hpp"
#include "tuner/measure/meter.hpp"

namespace autospmv::cuda {

std::unique_ptr<TimedProduct> make_timed_product(const Device& device, Launch launch, double sample_seconds,
                                                 bool capturable);
double measure_copy_bandwidth(const Device& device);

/// Bytes a second that the memory moves at most, by its clock and its width; 0 where they are not known.
double peak_bandwidth(const Device& device);

/// On the current device.
std::unique_ptr<Stopwatch> make_stopwatch();
std::uint64_t stream_id(Stream stream);

}  // namespace autospmv::cuda
