// Trials that an NVIDIA H100 and two threads of an AMD EPYC gave, every candidate of generated matrices in double: what
// searches are replayed on, and what is installed with the library.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/instructions.hpp"
#include "db/database.hpp"
#include "io/recording.hpp"
#include "tuner/predict/history.hpp"

namespace autospmv::testing {

/// Where trials were recorded.
struct Recording {
  std::string file;  ///< in tools/starter
  Device device;     ///< as far as formats ask
  double bandwidth = 0;
};

inline const Recording& gpu_recording() {
  static const Recording recording = [] {
    Device device;
    device.backend = Backend::cuda;
    device.name = "NVIDIA H100 80GB HBM3";
    device.multiprocessors = 132;
    device.memory_bytes = std::int64_t{80} << 30;
    device.cache_bytes = std::int64_t{50} << 20;
    device.threads_of_multiprocessor = 2048;
    device.blocks_of_multiprocessor = 32;
    device.shared_bytes_of_multiprocessor = 228 << 10;
    device.shared_bytes_of_block = 227 << 10;
    return Recording{"h100_double.txt.xz", device, 2.95e12};
  }();
  return recording;
}

inline const Recording& host_recording() {
  static const Recording recording = [] {
    Device device;
    device.name = "AMD EPYC, AVX-512, 2 threads";
    device.multiprocessors = 2;
    device.memory_bytes = std::int64_t{8} << 30;
    device.cache_bytes = std::int64_t{32} << 20;
    return Recording{"avx512_double.txt.xz", device, 5e10};
  }();
  return recording;
}

/// An older processor of the same model name.
inline const Recording& older_recording() {
  static const Recording recording = [] {
    auto other = host_recording();
    other.file = "avx2_double.txt.xz";
    other.device.name = "AMD EPYC, AVX2, 2 threads";
    return other;
  }();
  return recording;
}

/// The same as if another device of its kind were at hand.
inline Recording by_sibling(Recording recording) {
  auto& name = recording.device.name;
  name = recording.device.backend == Backend::host ? "another, " + std::string(instructions_in(name)) + ", 64 threads"
                                                   : "another";
  return recording;
}

/// The cost model by itself.
inline CostModel model_of(const Recording& recording) {
  return {recording.device, recording.bandwidth, default_coefficients(recording.device.backend)};
}

struct Recorded : RecordedMatrix {
  std::vector<TrialRecord> trials;
};

inline std::vector<Recorded> recorded_matrices(const Recording& recording) {
  std::vector<Recorded> records;
  for (auto& one : read_recording(AUTOSPMV_SOURCE_DIR "/tools/starter/" + recording.file)) {
    records.push_back({{std::move(one.key), std::move(one.matrix)}, std::move(one.trials)});
  }
  return records;
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

/// History::Known from these, and trials_of(key) for each.
template <class TrialsOf>
typename History<double>::Known known_among(std::vector<RecordedMatrix> matrices, TrialsOf trials_of) {
  return [matrices = std::move(matrices), trials_of](const RecordedPoints& all, std::span<const std::size_t> which) {
    std::vector<std::function<KnownMatrix()>> known;
    for (const auto at : which) {
      known.emplace_back([&matrices, &trials_of, key = all.key_of(all.points[at])]() -> KnownMatrix {
        const auto one = std::ranges::find(matrices, key, &RecordedMatrix::key);
        if (one == matrices.end()) return {};
        return {one->matrix, trials_of(key)};
      });
    }
    return known;
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
  return std::make_shared<const History<T>>(points_of<T>(matrices), known_among(matrices, trials_of), device, model);
}

}  // namespace autospmv::testing
