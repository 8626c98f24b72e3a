// The records as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "core/machine/device.hpp"
#include "core/trial.hpp"
#include "tools/output/record.hpp"

namespace autospmv::tools {

/// Keys keep the order in which they were set.
using Json = nlohmann::ordered_json;

/// One value a line on standard output, at once: readers follow long runs as they go.
void print_json(const Json& value);

Json to_json(const Device& device);
Json to_json(const Candidate& candidate);

/// A trial with everything that was measured.
Json to_json(const TrialRecord& trial);

/// matrix, rows, columns, nonzeros, value_type.
Json to_json(const MatrixSummary& matrix);

/// The plan of a matrix: what `tune` prints. The bandwidth is that of a copy, in bytes a second.
Json to_json(const TuneRecord& record, const Device& device, double copy_bandwidth);

}  // namespace autospmv::tools
