// autospmv features: what is known of a matrix before any trial.

#include "features/features.hpp"

#include <iostream>

#include "tools/command.hpp"
#include "tools/input.hpp"
#include "tools/output/json.hpp"
#include "tools/output/record.hpp"
#include "tools/output/table.hpp"

namespace autospmv::tools {

namespace {

void print_text(const MatrixSummary& matrix, const Features& features) {
  std::vector<Row> rows;
  for (const auto& feature : feature_table()) {
    rows.push_back({std::string(feature.name), brief(feature.read(features)), std::string(feature.unit),
                    std::string(feature.meaning)});
  }
  std::cout << headline(matrix) << '\n';
  print_table(std::cout,
              {{.title = "feature", .left = true},
               {.title = "value"},
               {.title = "unit", .left = true},
               {.title = "meaning", .left = true}},
              rows);
  std::cout << std::endl;
}

Json features_json(const MatrixSummary& matrix, const Features& features) {
  Json json = to_json(matrix);
  json["features"] = Json::object();
  for (const auto& feature : feature_table()) {
    json["features"][std::string(feature.name)] = {
        {"value", feature.read(features)}, {"unit", feature.unit}, {"meaning", feature.meaning}};
  }
  return json;
}

template <Scalar T>
int print_features(const Options& options) {
  const auto requested = requested_device(options);
  const auto device = requested ? *requested : default_device();
  const int failures = for_each_matrix<T>(options, [&](const LoadedMatrix<T>& loaded) {
    const auto matrix = summary_of(loaded.label, loaded.matrix);
    const auto features = extract_features(data_of(loaded.matrix).on(device), device);
    if (options.json) {
      print_json(features_json(matrix, features));
    } else {
      print_text(matrix, features);
    }
  });
  return failures > 0 ? 1 : 0;
}

}  // namespace

int run_features(const Options& options) {
  return with_value_type(options.value_type, [&]<class T>() { return print_features<T>(options); });
}

}  // namespace autospmv::tools
