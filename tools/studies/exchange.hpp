// Measured matrices as JSON and back, so that runs on several machines come into one table.
#pragma once

#include <string>
#include <vector>

#include "tools/output/json.hpp"
#include "tools/studies/claims.hpp"

namespace autospmv::tools {

/// Everything that contests and claims are drawn from.
Json to_json(const Study& study, const StudiedMatrix& studied);

/// What `bench --study --json` has printed into a file; summaries are passed over. Throws InvalidArgument,
/// "FILE:LINE: ...", for anything else.
std::vector<StudiedFor> read_studied(const std::string& file);

}  // namespace autospmv::tools
