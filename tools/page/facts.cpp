#include "tools/page/facts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "features/recorded.hpp"
#include "formats/format.hpp"
#include "formats/sizes.hpp"
#include "tools/database/actions.hpp"
#include "tools/input.hpp"
#include "tools/output/record.hpp"
#include "tuner/objective.hpp"
#include "tuner/predict/history.hpp"

namespace autospmv::tools {

namespace {

/// The device of a key, as far as formats ask: this machine's, where it has it.
Device device_of(const TrialKey& key) {
  static const auto here = [] {
    auto devices = cuda_devices();
    devices.push_back(host_device());
    return devices;
  }();
  for (const auto& device : here) {
    if (device.name == key.device && name_of(device.backend) == key.backend) return device;
  }
  Device device = host_device();
  if (key.backend == name_of(Backend::cuda)) {
    // An H200's: what a candidate moves depends little on it, and predictions are made from trials of the device
    // itself.
    device = Device();
    device.backend = Backend::cuda;
    device.multiprocessors = 132;
    device.threads_of_multiprocessor = 2048;
    device.memory_bytes = std::int64_t{140} << 30;
    device.cache_bytes = std::int64_t{50} << 20;
  }
  device.name = key.device;
  return device;
}

/// All that is said of matrices on one device.
class KnownDevice {
 public:
  KnownDevice(Database& database, const TrialKey& key)
      : device_(device_of(key)), bandwidth_(bandwidth_in(database, key)) {
    const auto model = model_of(database, key);
    // Of whatever versions of the formats.
    const auto known = [&database](const RecordedPoints& all, std::span<const std::size_t> which) {
      std::vector<std::function<KnownMatrix()>> each;
      for (const auto at : which) {
        each.emplace_back([&database, &all, at] {
          return KnownMatrix{database.matrix_at(all, all.points[at]), database.passed(all.key_of(all.points[at]))};
        });
      }
      return each;
    };
    const auto history = [&]<class T>() {
      return std::make_shared<const History<T>>(
          database.points(key.backend, std::string(value_type_name<T>()), point_maker<T>()), known, device_, model);
    };
    float_ = history.template operator()<float>();
    double_ = history.template operator()<double>();
  }

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] std::optional<double> bandwidth() const { return bandwidth_; }

  template <class T>
  [[nodiscard]] const History<T>& history() const {
    if constexpr (std::is_same_v<T, float>) {
      return *float_;
    } else {
      return *double_;
    }
  }

 private:
  static std::optional<double> bandwidth_in(Database& database, const TrialKey& key) {
    std::optional<double> best;
    for (const auto& machine : database.machines()) {
      const bool same = machine.backend == key.backend && machine.device == key.device;
      if (same && machine.copy_bandwidth > best.value_or(0)) best = machine.copy_bandwidth;
    }
    return best;
  }

  [[nodiscard]] CostModel model_of(Database& database, const TrialKey& key) const {
    auto coefficients = default_coefficients(device_.backend);
    for (const auto& [name, value] : database.coefficients(key.backend, key.device)) {
      for (const auto& info : coefficient_table()) {
        if (name == info.name && value >= info.least && value <= info.most) coefficients.*info.member = value;
      }
    }
    constexpr double usual_of_gpu = 2e12;
    constexpr double usual_of_host = 5e10;
    const double usual = device_.backend == Backend::cuda ? usual_of_gpu : usual_of_host;
    return {device_, bandwidth_.value_or(usual), coefficients};
  }

  Device device_;
  std::optional<double> bandwidth_;
  std::shared_ptr<const History<float>> float_;
  std::shared_ptr<const History<double>> double_;
};

Json optional_number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

template <class T>
class MatrixFacts {
 public:
  MatrixFacts(Database& database, const KnownDevice& place, const TunedMatrix& entry, const Limits& limits)
      : database_(database),
        place_(place),
        entry_(entry),
        limits_(limits),
        features_(features_of_record(entry.matrix.features)),
        trials_(database.trials(entry.key)) {
    sort_by_total(trials_, limits_);
  }

  Json json() {
    const auto& matrix = entry_.matrix;
    Json json{{"name", matrix.label.empty() ? entry_.key.pattern.text() : matrix.label},
              {"source", matrix.source},
              {"fingerprint", entry_.key.pattern.text()},
              {"rows", matrix.rows},
              {"columns", matrix.cols},
              {"nonzeros", matrix.nnz},
              {"type", entry_.key.value_type + (entry_.key.operation == "n" ? "" : ", transposed")},
              {"device", entry_.key.device},
              {"trials", entry_.trials}};
    if (features_ && features_->npr_mean > 0) {
      json["npr_mean"] = features_->npr_mean;
      json["npr_spread"] = std::sqrt(features_->npr_variance) / features_->npr_mean;
    }
    json["copy_gbs"] = place_.bandwidth() ? Json(*place_.bandwidth() * 1e-9) : Json(nullptr);
    add_winner(json);
    add_candidates(json);
    add_refusals(json);
    return json;
  }

 private:
  static const Format<T>* format_of(const TrialRecord& trial) { return find_format<T>(trial.candidate.format); }

  std::optional<Cost> cost_of(const TrialRecord& trial) const {
    const auto* format = format_of(trial);
    if (format == nullptr || !features_) return std::nullopt;
    const auto cost = format->predict(*features_, trial.candidate.params, place_.device());
    return cost ? std::optional<Cost>(*cost) : std::nullopt;
  }

  Json candidate_json(const TrialRecord& trial) const {
    const auto& m = trial.measurement;
    Json json{{"text", trial.candidate.text()},
              {"format", trial.candidate.format},
              {"us", m.warm.median * us},
              {"low_us", m.warm.low_quartile * us},
              {"high_us", m.warm.high_quartile * us},
              {"setup_us", m.setup_seconds * us},
              {"bytes", m.bytes}};
    if (const auto cost = cost_of(trial)) {
      json["moved"] = cost->bytes;
      if (place_.bandwidth()) json["floor_us"] = cost->bytes / *place_.bandwidth() * us;
    }
    return json;
  }

  void add_winner(Json& json) {
    const auto winner = winner_of(trials_, limits_, entry_.matrix.csr_bytes);
    const TrialRecord* baseline = nullptr;
    for (const auto& trial : trials_) {
      const auto* format = format_of(trial);
      const bool is_baseline = format != nullptr && format->info().baseline && is_timed(trial.measurement);
      if (!is_baseline) continue;
      if (baseline == nullptr || trial.measurement.warm.median < baseline->measurement.warm.median) baseline = &trial;
    }
    json["winner"] = winner ? candidate_json(*winner) : Json(nullptr);
    json["baseline"] = baseline != nullptr ? candidate_json(*baseline) : Json(nullptr);
    if (winner) add_prediction(json, *winner);
    if (winner && json["winner"].contains("floor_us")) {
      json["share"] = 100 * json["winner"]["floor_us"].template get<double>() / (winner->measurement.warm.median * us);
    }
    double cost = 0;
    for (const auto& dated : database_.history(entry_.key)) {
      const auto& m = dated.trial.measurement;
      cost += m.setup_seconds;
      for (const auto& timing : {m.warm, m.cold, m.loop}) cost += timing.samples * timing.median;
    }
    json["cost_us"] = cost * us;
    if (baseline == nullptr || !winner) return;
    const auto& then = baseline->measurement;
    const auto& now = winner->measurement;
    json["speedup"] = optional_number(then.warm.median / now.warm.median);
    json["cost_products"] = optional_number(cost / then.warm.median);
    const double gain = then.warm.median - now.warm.median;
    const double price = now.setup_seconds - then.setup_seconds;
    if (price <= 0 && gain >= 0) {
      json["break_even"] = 0;
    } else {
      json["break_even"] = gain > 0 ? optional_number(std::ceil(price / gain)) : Json(nullptr);
    }
  }

  // From all matrices but this one.
  void add_prediction(Json& json, const TrialRecord& winner) const {
    const auto cost = cost_of(winner);
    if (!cost || place_.history<T>().matrices() < 2) return;
    const auto predictor = place_.history<T>().near(*features_, entry_.key.pattern);
    if (predictor.neighbours().empty()) return;
    const double csr_bytes = formats::csr_bytes<T>(features_->rows, features_->nnz);
    const auto& candidate = winner.candidate;
    json["predicted_us"] =
        optional_number(predictor.predict(candidate.format, candidate.params, *cost, csr_bytes).seconds * us);
  }

  // The fastest of each format, and what won, fastest first.
  void add_candidates(Json& json) const {
    std::vector<const TrialRecord*> timed;
    for (const auto& trial : trials_) {
      if (is_timed(trial.measurement)) timed.push_back(&trial);
    }
    std::stable_sort(timed.begin(), timed.end(), [](const auto* a, const auto* b) {
      return a->measurement.warm.median < b->measurement.warm.median;
    });
    const auto chosen = json["winner"].is_null() ? std::string() : json["winner"]["text"].template get<std::string>();
    std::set<std::string> met;
    json["candidates"] = Json::array();
    for (const auto* trial : timed) {
      const bool first = met.insert(trial->candidate.format).second;
      if (first || trial->candidate.text() == chosen) json["candidates"].push_back(candidate_json(*trial));
    }
  }

  void add_refusals(Json& json) const {
    std::map<std::pair<std::string, std::string>, int> counts;
    for (const auto& trial : trials_) {
      const auto& m = trial.measurement;
      if (is_timed(m)) continue;
      const std::string outcome(name_of(m.outcome));
      ++counts[{trial.candidate.format, m.detail.empty() ? outcome : outcome + ": " + m.detail}];
    }
    json["refusals"] = Json::array();
    for (const auto& [what, count] : counts) {
      json["refusals"].push_back({{"format", what.first}, {"reason", what.second}, {"count", count}});
    }
  }

  Database& database_;
  const KnownDevice& place_;
  const TunedMatrix& entry_;
  const Limits& limits_;
  std::optional<Features> features_;
  std::vector<TrialRecord> trials_;
};

}  // namespace

Json facts_of(Database& database, const Options& options) {
  Json facts{{"matrices", Json::array()}, {"machines", Json::array()}};
  std::map<std::pair<std::string, std::string>, KnownDevice> places;
  using Subject = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::set<Subject> met;
  using Machine = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<Machine, int> machines;
  std::set<std::pair<std::string, std::string>> kinds;
  // The most recent environment of a device comes first, and is the one that is shown.
  for (const auto& entry : entries_of(database, options)) {
    const auto& key = entry.key;
    if (!met.emplace(key.pattern.text(), key.value_type, key.operation, key.backend, key.device).second) continue;
    auto at = places.find({key.backend, key.device});
    if (at == places.end()) at = places.emplace(std::pair{key.backend, key.device}, KnownDevice(database, key)).first;
    const bool is_float = key.value_type.starts_with(value_type_name<float>());
    facts["matrices"].push_back(
        with_value_type(is_float ? value_type_name<float>() : value_type_name<double>(),
                        [&]<class T>() { return MatrixFacts<T>(database, at->second, entry, options.limits).json(); }));
    ++machines[{key.device, key.backend, key.toolkit, key.driver, key.library}];
    kinds.emplace(key.device, key.value_type);
  }
  for (const auto& [machine, matrices] : machines) {
    const auto& [device, backend, toolkit, driver, library] = machine;
    const auto bandwidth = places.at({backend, device}).bandwidth();
    facts["machines"].push_back({{"device", device},
                                 {"backend", backend},
                                 {"toolkit", toolkit},
                                 {"driver", driver},
                                 {"library", library},
                                 {"copy_gbs", bandwidth ? Json(*bandwidth * 1e-9) : Json(nullptr)},
                                 {"matrices", matrices}});
  }
  facts["places"] = Json::array();
  for (const auto& [device, type] : kinds) facts["places"].push_back({device, type});
  return facts;
}

}  // namespace autospmv::tools
