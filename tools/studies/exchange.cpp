#include "tools/studies/exchange.hpp"

#include <fstream>

#include "core/error.hpp"
#include "core/printable.hpp"

namespace autospmv::tools {

namespace {

constexpr double gbs = 1e-9;

Json trial_json(const TrialRecord& trial) {
  const auto& m = trial.measurement;
  return {{"candidate", trial.candidate.text()},
          {"outcome", name_of(m.outcome)},
          {"detail", m.detail},
          {"median_us", median_of(m.warm) * us},
          {"samples", m.warm.samples},
          {"setup_us", m.setup_seconds * us},
          {"bytes", m.bytes}};
}

double number(const Json& json, const char* name) {
  const auto& value = json.at(name);
  return value.is_null() ? unknown : value.get<double>();
}

Candidate candidate_from(const std::string& text) {
  const auto space = std::min(text.find(' '), text.size());
  const auto params = Params::parse(std::string_view(text).substr(std::min(text.size(), space + 1)));
  if (!params) throw InvalidArgument("'" + printable(text) + "' is no candidate");
  return {text.substr(0, space), *params};
}

TrialRecord trial_from(const Json& json) {
  TrialRecord trial;
  trial.candidate = candidate_from(json.at("candidate").get<std::string>());
  const auto outcome = parse_outcome(json.at("outcome").get<std::string>());
  if (!outcome) throw InvalidArgument("no such outcome");
  auto& m = trial.measurement;
  m.outcome = *outcome;
  m.detail = json.at("detail").get<std::string>();
  const double median = number(json, "median_us") / us;
  m.warm = {median, median, median, json.at("samples").get<int>()};
  m.setup_seconds = number(json, "setup_us") / us;
  m.bytes = json.at("bytes").get<std::int64_t>();
  return trial;
}

MatrixSummary summary_from(const Json& json) {
  const auto type = json.at("value_type").get<std::string>();
  if (type != value_type_name<float>() && type != value_type_name<double>()) {
    throw InvalidArgument("value type '" + printable(type) + "'");
  }
  const auto bytes = static_cast<std::int64_t>(type == value_type_name<float>() ? sizeof(float) : sizeof(double));
  return {json.at("matrix").get<std::string>(),
          json.at("rows").get<std::int64_t>(),
          json.at("columns").get<std::int64_t>(),
          json.at("nonzeros").get<std::int64_t>(),
          type,
          bytes};
}

StudiedMatrix studied_from(const Json& json) {
  StudiedMatrix studied;
  studied.matrix = summary_from(json);
  studied.backend = json.at("backend").get<std::string>();
  studied.device = json.at("device").get<std::string>();
  studied.mean_row = number(json, "mean_row");
  studied.longest_row = number(json, "longest_row");
  studied.row_variance = number(json, "row_variance");
  studied.copy_bandwidth = number(json, "copy_bandwidth_gbs") / gbs;
  studied.cache_bytes = number(json, "cache_bytes");
  for (const auto& trial : json.at("trials")) studied.trials.push_back(trial_from(trial));
  return studied;
}

}  // namespace

Json to_json(const Study& study, const StudiedMatrix& studied) {
  Json json = {{"study", study.name}};
  json.update(to_json(studied.matrix));
  json["backend"] = studied.backend;
  json["device"] = studied.device;
  json["copy_bandwidth_gbs"] = studied.copy_bandwidth * gbs;
  json["cache_bytes"] = studied.cache_bytes;
  json["mean_row"] = studied.mean_row;
  json["longest_row"] = studied.longest_row;
  json["row_variance"] = studied.row_variance;
  json["trials"] = Json::array();
  for (const auto& trial : studied.trials) json["trials"].push_back(trial_json(trial));
  return json;
}

std::vector<StudiedFor> read_studied(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw InvalidArgument(printable(file) + ": cannot be read");
  std::vector<StudiedFor> all;
  int number_of_line = 0;
  for (std::string line; std::getline(in, line);) {
    ++number_of_line;
    const auto complain = [&](const char* why) {
      throw InvalidArgument(printable(file) + ":" + std::to_string(number_of_line) +
                            ": not what bench --study --json prints: " + printable(why));
    };
    try {
      const auto json = Json::parse(line);
      const auto studies = find_studies(json.at("study").get<std::string>());
      if (studies.size() != 1) throw InvalidArgument("of several studies");
      if (json.contains("summary")) continue;
      all.emplace_back(studies.front(), study_matrix(*studies.front(), studied_from(json)));
    } catch (const nlohmann::json::exception& error) {
      complain(error.what());
    } catch (const InvalidArgument& error) {
      complain(error.what());
    }
  }
  if (all.empty()) throw InvalidArgument(printable(file) + ": no matrix of a study in it");
  return all;
}

}  // namespace autospmv::tools
