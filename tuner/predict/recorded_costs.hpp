// Recorded trials beside what their formats expect of them: what both a fit of the cost model and the history start
// from.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "core/machine/device.hpp"
#include "core/trial.hpp"
#include "features/features.hpp"
#include "formats/format.hpp"

namespace autospmv {

/// Calls take(trial, cost) for every trial of a matrix. Formats that are not known here, and candidates that they
/// refuse, are passed over.
template <class T, class Take>
void for_each_cost(std::span<const TrialRecord> trials, const Features& features, const Device& device,
                   const Take& take) {
  // Those of one format mostly follow each other.
  for (auto begin = trials.begin(); begin != trials.end();) {
    const auto& name = begin->candidate.format;
    const auto end =
        std::find_if(begin, trials.end(), [&](const auto& trial) { return trial.candidate.format != name; });
    const std::span of_format(std::exchange(begin, end), end);
    const auto* format = find_format<T>(name);
    if (format == nullptr) continue;
    typename Format<T>::Costs costs(*format, device);
    for (const auto& trial : of_format) {
      if (!(trial.measurement.warm.median > 0)) continue;
      if (const auto cost = costs.predict(features, trial.candidate.params)) take(trial, *cost);
    }
  }
}

}  // namespace autospmv
