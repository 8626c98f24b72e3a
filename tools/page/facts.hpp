// What a database says, as the page shows it.
#pragma once

#include "db/database.hpp"
#include "tools/options.hpp"
#include "tools/output/json.hpp"

namespace autospmv::tools {

/// Machines, and every matrix with its candidates, winner, baseline, prediction and refusals.
Json facts_of(Database& database, const Options& options);

}  // namespace autospmv::tools
