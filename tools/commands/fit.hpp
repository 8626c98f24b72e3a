// autospmv db fit: the coefficients of the cost model from the recorded trials of this machine's device.
#pragma once

#include "tools/options.hpp"

namespace autospmv::tools {

int fit(const Options& options);

}  // namespace autospmv::tools
