// Trials that an NVIDIA H200 and two threads of an AMD EPYC gave, every candidate of generated matrices in double: what
// searches are replayed on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "db/database.hpp"
#include "io/archive.hpp"
#include "tuner/predict/history.hpp"

namespace autospmv::testing {

/// Where trials were recorded.
struct Recording {
  std::string file;  ///< in tests/tuner/recorded
  Device device;     ///< as far as formats ask
  double bandwidth = 0;
};

inline const Recording& gpu_recording() {
  static const Recording recording = [] {
    Device device;
    device.backend = Backend::cuda;
    device.name = "NVIDIA H200";
    device.multiprocessors = 132;
    device.memory_bytes = std::int64_t{140} << 30;
    device.cache_bytes = std::int64_t{60} << 20;
    device.threads_of_multiprocessor = 2048;
    device.blocks_of_multiprocessor = 32;
    device.shared_bytes_of_multiprocessor = 228 << 10;
    device.shared_bytes_of_block = 227 << 10;
    return Recording{"h200_double.txt.xz", device, 4.13e12};
  }();
  return recording;
}

inline const Recording& host_recording() {
  static const Recording recording = [] {
    Device device;
    device.name = "AMD EPYC, 2 threads";
    device.multiprocessors = 2;
    device.memory_bytes = std::int64_t{8} << 30;
    device.cache_bytes = std::int64_t{32} << 20;
    return Recording{"host_double.txt.xz", device, 5e10};
  }();
  return recording;
}

/// The cost model by itself.
inline CostModel model_of(const Recording& recording) {
  return {recording.device, recording.bandwidth, default_coefficients(recording.device.backend)};
}

struct Recorded : RecordedMatrix {
  std::vector<TrialRecord> trials;
};

/// Of each matrix a line "matrix LABEL TYPE NAME=VALUE ..." of features, then its trials, "trial FORMAT PARAMS
/// MICROSECONDS SETUP BYTES", apart by tabs and spaces.
inline std::vector<Recorded> recorded_matrices(const Recording& recording) {
  const auto text = read_text(AUTOSPMV_SOURCE_DIR "/tests/tuner/recorded/" + recording.file);
  std::istringstream lines(std::string(text.begin(), text.end()));
  std::vector<Recorded> records;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string kind;
    std::getline(fields, kind, '\t');
    if (kind == "matrix") {
      auto& record = records.emplace_back();
      // A pattern that is no other's.
      record.key.pattern = *Fingerprint::parse(std::string(28, '0') + std::to_string(1000 + records.size()));
      record.key.backend = name_of(recording.device.backend);
      record.key.device = recording.device.name;
      std::getline(fields, record.matrix.label, '\t');
      std::getline(fields, record.key.value_type, '\t');
      for (std::string feature; fields >> feature;) {
        const auto equals = feature.find('=');
        record.matrix.features.emplace_back(feature.substr(0, equals), std::stod(feature.substr(equals + 1)));
      }
    } else {
      auto& trial = records.back().trials.emplace_back();
      std::string params;
      std::getline(fields, trial.candidate.format, '\t');
      std::getline(fields, params, '\t');
      trial.candidate.params = *Params::parse(params);
      auto& m = trial.measurement;
      m.outcome = Outcome::passed;
      fields >> m.warm.median >> m.setup_seconds >> m.bytes;
      m.warm.median *= 1e-6;
      m.setup_seconds *= 1e-6;
      m.warm.samples = 3;
    }
  }
  return records;
}

/// Writes what recorded_matrices() reads: all that a database knows of matrices in double on devices of a backend.
inline void write_recording(Database& database, const std::string& backend, std::ostream& out) {
  const auto number = [](const char* format, double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return std::string(text.data());
  };
  for (const auto& record : database.recorded(backend, "double")) {
    out << "matrix\t" << record.matrix.label << '\t' << record.key.value_type << '\t';
    const char* apart = "";
    for (const auto& [name, value] : record.matrix.features) {
      out << std::exchange(apart, " ") << name << '=' << number("%.17g", value);
    }
    out << '\n';
    for (const auto& trial : database.passed(record.key)) {
      const auto& m = trial.measurement;
      out << "trial\t" << trial.candidate.format << '\t' << trial.candidate.params.text() << '\t'
          << number("%.2f", m.warm.median * 1e6) << ' ' << number("%.1f", m.setup_seconds * 1e6) << ' ' << m.bytes
          << '\n';
    }
  }
}

/// What a database that knows these matrices, at most once each, gives for them.
template <class T>
RecordedPoints points_of(const std::vector<RecordedMatrix>& matrices) {
  RecordedPoints all;
  all.dimensions = position_size;
  for (const auto& matrix : matrices) {
    if (!matrix.key.value_type.starts_with(value_type_name<T>())) continue;
    auto key = matrix.key;
    key.pattern = {};
    const auto known = std::find_if(all.environments.begin(), all.environments.end(),
                                    [&](const auto& environment) { return environment.key == key; });
    const auto environment = static_cast<std::uint32_t>(known - all.environments.begin());
    if (known == all.environments.end()) all.environments.push_back({key, 0, 0});
    std::array<double, position_size> position{};
    if (!point_maker<T>().make(matrix.matrix, position)) continue;
    all.points.push_back({matrix.key.pattern, environment});
    all.coordinates.insert(all.coordinates.end(), position.begin(), position.end());
  }
  return all;
}

/// History::MatrixOf from these.
inline auto matrix_among(std::vector<RecordedMatrix> matrices) {
  return [matrices = std::move(matrices)](const RecordedPoints& all,
                                          const RecordedPoint& point) -> std::optional<MatrixRecord> {
    const auto key = all.key_of(point);
    for (const auto& one : matrices) {
      if (one.key == key) return one.matrix;
    }
    return std::nullopt;
  };
}

/// The history of those records, which outlive it.
template <class T>
std::shared_ptr<const History<T>> history_of(const std::vector<Recorded>& records, const Device& device,
                                             const CostModel& model) {
  const auto trials_of = [&records](const TrialKey& key) {
    const auto at = std::find_if(records.begin(), records.end(), [&](const auto& one) { return one.key == key; });
    return at == records.end() ? std::vector<TrialRecord>{} : at->trials;
  };
  const std::vector<RecordedMatrix> matrices(records.begin(), records.end());
  return std::make_shared<const History<T>>(points_of<T>(matrices), matrix_among(matrices), trials_of, device, model);
}

}  // namespace autospmv::testing
