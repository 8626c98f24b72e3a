// bench --study: what its options ask for.
#pragma once

#include "tools/options.hpp"

namespace autospmv::tools {

/// Throws InvalidArgument for options that contradict each other. Gives the program's exit status.
int run_studies(const Options& options);

}  // namespace autospmv::tools
