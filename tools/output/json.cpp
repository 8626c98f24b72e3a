#include "tools/output/json.hpp"

#include <iostream>

namespace autospmv::tools {

namespace {

Json timing_json(const Timing& timing) {
  if (timing.samples == 0) return nullptr;
  return {{"median_us", timing.median * us},
          {"low_quartile_us", timing.low_quartile * us},
          {"high_quartile_us", timing.high_quartile * us},
          {"samples", timing.samples}};
}

Json steps_in(const StepTimes& times, double unit) {
  return {{"fingerprint", times.fingerprint / unit}, {"lookup", times.lookup / unit},
          {"features", times.features / unit},       {"prediction", times.prediction / unit},
          {"trials", times.trials / unit},           {"conversion", times.conversion / unit}};
}

Json winner_json(const TuneRecord& record) {
  Json winner = to_json(record.choice);
  const auto& m = record.measurement;
  const bool tried = m.warm.samples > 0;
  winner["median_us"] = median_of(m.warm) * us;
  winner["loop_us"] = median_of(m.loop) * us;
  winner["setup_us"] = tried ? Json(m.setup_seconds * us) : Json(nullptr);
  winner["bytes"] = tried ? Json(m.bytes) : Json(nullptr);
  winner["gflops"] = gflops(record.matrix, seconds_of(record));
  winner["csr_equivalent_gbs"] = csr_equivalent_gbs(record.matrix, seconds_of(record));
  return winner;
}

Json baseline_json(const TuneRecord& record) {
  if (!record.baseline) return nullptr;
  Json baseline = to_json(record.baseline->candidate);
  baseline["median_us"] = baseline_seconds(record) * us;
  return baseline;
}

}  // namespace

void print_json(const Json& value) {
  // Names of files need not be UTF-8, and what is no ASCII may steer a terminal.
  std::cout << value.dump(-1, ' ', true, Json::error_handler_t::replace) << std::endl;
}

Json to_json(const Device& device) {
  return {{"backend", name_of(device.backend)},
          {"ordinal", device.ordinal},
          {"name", device.name},
          {"multiprocessors", device.multiprocessors},
          {"clock_mhz", device.clock_mhz},
          {"memory_bytes", device.memory_bytes},
          {"cache_bytes", device.cache_bytes},
          {"toolkit", device.toolkit},
          {"driver", device.driver}};
}

Json to_json(const Candidate& candidate) {
  Json params = Json::object();
  for (const auto& [name, value] : candidate.params.values()) params[std::string(name)] = value;
  return {{"format", candidate.format}, {"params", params}};
}

Json to_json(const TrialRecord& trial) {
  const auto& m = trial.measurement;
  Json json = to_json(trial.candidate);
  json["format_version"] = trial.format_version;
  json["deterministic"] = trial.deterministic;
  json["capturable"] = trial.capturable;
  json["outcome"] = name_of(m.outcome);
  json["detail"] = m.detail;
  json["warm"] = timing_json(m.warm);
  json["cold"] = timing_json(m.cold);
  json["loop_us"] = median_of(m.loop) * us;
  json["setup_us"] = m.setup_seconds * us;
  json["setup_products"] = m.setup_seconds / median_of(m.warm);
  json["bytes"] = m.bytes;
  json["worst_error"] = m.worst_error;
  return json;
}

Json to_json(const MatrixSummary& matrix) {
  return {{"matrix", matrix.label},
          {"rows", matrix.rows},
          {"columns", matrix.cols},
          {"nonzeros", matrix.nnz},
          {"value_type", matrix.value_type}};
}

Json to_json(const TuneRecord& record, const Device& device, double copy_bandwidth) {
  Json json = to_json(record.matrix);
  json["backend"] = name_of(device.backend);
  json["device"] = device.name;
  json["toolkit"] = device.toolkit;
  json["clock_mhz"] = device.clock_mhz;
  json["copy_bandwidth_gbs"] = copy_bandwidth * 1e-9;
  json["from_database"] = record.from_database;
  json["layer"] = record.layer;
  json["source"] = source_of(record);
  json["tier"] = record.prediction ? Json(name_of(record.prediction->tier)) : Json(nullptr);
  json["trials"] = record.trials;
  json["winner"] = winner_json(record);
  json["baseline"] = baseline_json(record);
  json["speedup"] = speedup(record);
  json["steps_us"] = steps_in(record.times, 1 / us);
  json["steps_products"] = steps_in(record.times, seconds_of(record));
  return json;
}

}  // namespace autospmv::tools
