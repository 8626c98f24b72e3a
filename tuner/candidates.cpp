#include "tuner/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace autospmv {

namespace {

// What a kernel costs beside its bytes, in a replayed graph.
double launch_seconds(const Device& device) { return device.backend == Backend::cuda ? 1.5e-6 : 2e-6; }

// The roofline of the bytes, stretched by the imbalance. It only has to rank: trials decide.
double predicted(const Cost& cost, const Device& device, double bandwidth) {
  return cost.launches * launch_seconds(device) + cost.bytes * cost.imbalance / bandwidth;
}

template <class T>
Prospect make_prospect(const Format<T>& format, const Params& params, const Features& features, const Device& device,
                       double bandwidth) {
  const auto& info = format.info();
  Prospect prospect;
  prospect.candidate = {info.name, params};
  prospect.format_version = info.version;
  prospect.deterministic = info.deterministic;
  prospect.baseline = info.baseline;
  const auto cost = format.predict(features, params, device);
  if (cost) {
    prospect.cost = *cost;
    prospect.predicted_seconds = predicted(*cost, device, bandwidth);
  } else {
    prospect.refusal = cost.reason();
  }
  return prospect;
}

bool runs_on(const FormatInfo& info, Backend backend) {
  return std::find(info.backends.begin(), info.backends.end(), backend) != info.backends.end();
}

// A prediction this much worse than the best one of all is not worth a trial, nor are more than so many of a format.
constexpr double hopeless_factor = 2.5;
constexpr int most_of_a_format = 4;

}  // namespace

template <class T>
std::vector<Prospect> all_prospects(const Features& features, const Device& device, double bandwidth) {
  std::vector<Prospect> prospects;
  for (const auto* format : all_formats<T>()) {
    if (!runs_on(format->info(), device.backend)) continue;
    for (const auto& params : format->params(features, device).combinations()) {
      prospects.push_back(make_prospect(*format, params, features, device, bandwidth));
    }
  }
  std::stable_sort(prospects.begin(), prospects.end(), [](const Prospect& a, const Prospect& b) {
    if (a.admitted() != b.admitted()) return a.admitted();
    return a.predicted_seconds < b.predicted_seconds;
  });
  return prospects;
}

std::vector<Prospect> chosen_prospects(const std::vector<Prospect>& prospects, Effort effort, const Limits& limits) {
  std::vector<Prospect> chosen;
  if (effort == Effort::cached || prospects.empty()) return chosen;
  std::map<std::string, int> of_format;
  const double best = prospects.front().predicted_seconds;
  for (const auto& prospect : prospects) {
    if (!prospect.admitted()) continue;
    if (limits.deterministic && !prospect.deterministic && !prospect.baseline) continue;
    const bool hopeful = prospect.predicted_seconds <= hopeless_factor * best &&
                         of_format[prospect.candidate.format] < most_of_a_format;
    if (effort == Effort::exhaustive || prospect.baseline || hopeful) {
      chosen.push_back(prospect);
      ++of_format[prospect.candidate.format];
    }
  }
  // The baselines first: whatever the time limit cuts, the comparison with them stands.
  std::stable_partition(chosen.begin(), chosen.end(), [](const Prospect& prospect) { return prospect.baseline; });
  return chosen;
}

const Prospect& fallback_prospect(const std::vector<Prospect>& prospects) {
  // Plain CSR refuses no matrix, so there always is one.
  return *std::find_if(prospects.begin(), prospects.end(), [](const Prospect& prospect) {
    return prospect.admitted() && prospect.cost.storage_bytes == 0;
  });
}

template std::vector<Prospect> all_prospects<float>(const Features&, const Device&, double);
template std::vector<Prospect> all_prospects<double>(const Features&, const Device&, double);

}  // namespace autospmv
