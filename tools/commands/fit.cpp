#include "tools/commands/fit.hpp"

#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "features/recorded.hpp"
#include "formats/sizes.hpp"
#include "tools/input.hpp"
#include "tools/output/json.hpp"
#include "tools/output/table.hpp"
#include "tuner/predict/cost_model.hpp"
#include "tuner/predict/recorded_costs.hpp"

namespace autospmv::tools {

namespace {

struct Samples {
  std::vector<CostSample> all;
  std::map<std::string, std::size_t> groups;  ///< by format
  std::size_t matrices = 0;
};

template <Scalar T>
void add_samples(Database& database, const Device& device, Samples& samples) {
  const std::string backend(name_of(device.backend));
  const auto catalogue = format_catalogue();
  for (const auto& record : database.recorded(backend, value_type_name<T>())) {
    const bool ours = record.key.device == device.name;
    const auto features = ours ? features_of_record(record.matrix.features) : std::nullopt;
    if (!features) continue;
    ++samples.matrices;
    const double csr_bytes = formats::csr_bytes<T>(features->rows, features->nnz);
    const auto trials = database.passed(record.key, catalogue);
    for_each_cost<T>(trials, *features, device, [&](const TrialRecord& trial, const Cost& cost) {
      const auto group = samples.groups.emplace(trial.candidate.format, samples.groups.size()).first->second;
      samples.all.push_back({group, cost, csr_bytes, trial.measurement.warm.median, trial.measurement.setup_seconds});
    });
  }
}

void print_fit(const CoefficientFit& fit, const Coefficients& before, const Samples& samples, const Device& device) {
  std::cout << device.name << ": " << samples.all.size() << " trials of " << samples.groups.size() << " formats on "
            << samples.matrices << " matrices\n";
  std::vector<Row> rows;
  for (const auto& info : coefficient_table()) {
    rows.push_back({std::string(info.name), std::string(info.unit), brief(before.*info.member),
                    brief(fit.coefficients.*info.member)});
  }
  print_table(std::cout,
              {{.title = "coefficient", .left = true},
               {.title = "unit", .left = true},
               {.title = "before"},
               {.title = "fitted"}},
              rows);
  std::cout << "mean error of log2(time), up to a factor for each format: " << fixed(fit.error_before, 3) << " before, "
            << fixed(fit.error_after, 3) << " after; of log2(setup): " << fixed(fit.setup_error_before, 3)
            << " before, " << fixed(fit.setup_error_after, 3) << " after\n";
}

Json fit_json(const CoefficientFit& fit, const Coefficients& before, const Samples& samples, const Device& device) {
  Json json{{"device", device.name},
            {"trials", samples.all.size()},
            {"matrices", samples.matrices},
            {"error_before", fit.error_before},
            {"error_after", fit.error_after},
            {"setup_error_before", fit.setup_error_before},
            {"setup_error_after", fit.setup_error_after}};
  for (const auto& info : coefficient_table()) {
    const std::string name(info.name);
    json["coefficients"][name] = {{"before", before.*info.member}, {"fitted", fit.coefficients.*info.member}};
  }
  return json;
}

}  // namespace

int fit(const Options& options) {
  const Context context(context_options(options));
  const auto& device = service_of(context).device();
  const std::string backend(name_of(device.backend));
  Samples samples;
  add_samples<float>(service_of(context).database(), device, samples);
  add_samples<double>(service_of(context).database(), device, samples);
  if (samples.all.empty()) throw Error("nothing to fit: the database has no trials of " + device.name);
  const auto before = service_of(context).cost_model().coefficients();
  const auto fitted = fit_coefficients(device, service_of(context).copy_bandwidth(), before, samples.all);
  std::vector<std::pair<std::string, double>> values;
  for (const auto& info : coefficient_table()) {
    values.emplace_back(std::string(info.name), fitted.coefficients.*info.member);
  }
  service_of(context).database().record_coefficients(backend, device.name, values);
  if (options.json) {
    print_json(fit_json(fitted, before, samples, device));
  } else {
    print_fit(fitted, before, samples, device);
  }
  return 0;
}

}  // namespace autospmv::tools
