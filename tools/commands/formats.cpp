// autospmv formats: the formats of this build.

#include <algorithm>
#include <iostream>

#include "formats/format.hpp"
#include "io/generators.hpp"
#include "tools/command.hpp"
#include "tools/output/json.hpp"
#include "tools/output/table.hpp"

namespace autospmv::tools {

namespace {

// The device of a backend: names of parameters depend on no more than that.
Device device_of(Backend backend) {
  if (backend == Backend::host) return host_device();
  Device device;
  device.backend = backend;
  return device;
}

// Names of the parameters, backend by backend, each once. A format tells its parameters only for a matrix: any will do.
std::vector<std::string> parameter_names(const Format<double>& format) {
  static const auto features = extract_features(generate<double>("gen:circuit:1000").view(), Place{});
  std::vector<std::string> names;
  for (const auto backend : format.info().backends) {
    const auto space = format.params(features, device_of(backend));
    for (const auto& axis : space.axes()) {
      if (std::find(names.begin(), names.end(), axis.name) == names.end()) names.push_back(axis.name);
    }
  }
  return names;
}

std::vector<std::string> names_of(const std::vector<Backend>& backends) {
  std::vector<std::string> names;
  names.reserve(backends.size());
  for (const auto backend : backends) names.emplace_back(name_of(backend));
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void print_text() {
  std::vector<Row> rows;
  for (const auto* format : all_formats<double>()) {
    const auto& info = format->info();
    rows.push_back({info.name, joined(names_of(info.backends)), joined(names_of(info.offered)),
                    joined(parameter_names(*format)), info.summary, info.paper});
  }
  print_table(std::cout,
              {{.title = "format", .left = true},
               {.title = "backends", .left = true},
               {.title = "tried unasked", .left = true},
               {.title = "parameters", .left = true},
               {.title = "summary", .left = true},
               {.title = "paper", .left = true}},
              rows);
}

Json formats_json() {
  Json formats = Json::array();
  for (const auto* format : all_formats<double>()) {
    const auto& info = format->info();
    formats.push_back({{"name", info.name},
                       {"version", info.version},
                       {"summary", info.summary},
                       {"paper", info.paper},
                       {"backends", names_of(info.backends)},
                       {"offered", names_of(info.offered)},
                       {"deterministic", info.deterministic},
                       {"baseline", info.baseline},
                       {"parameters", parameter_names(*format)}});
  }
  return formats;
}

}  // namespace

int run_formats(const Options& options) {
  if (options.json) {
    print_json(formats_json());
  } else {
    print_text();
  }
  return 0;
}

}  // namespace autospmv::tools
