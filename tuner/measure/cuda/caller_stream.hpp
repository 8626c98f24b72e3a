// The CUDA side of tuner/measure/caller_stream.hpp.
#pragma once

#include <cstdint>
#include <memory>

#include "tuner/measure/caller_stream.hpp"

namespace autospmv::cuda {

/// On the current device.
std::unique_ptr<Stopwatch> make_stopwatch();
std::uint64_t stream_id(Stream stream);

}  // namespace autospmv::cuda
