// Recorded trials beside what their formats expect of them: what both a fit of the cost model and the history start
// from.
#pragma once

#include <span>

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
  for (const auto& trial : trials) {
    const auto* format = find_format<T>(trial.candidate.format);
    if (format == nullptr || !(trial.measurement.warm.median > 0)) continue;
    if (const auto cost = format->predict(features, trial.candidate.params, device)) take(trial, *cost);
  }
}

}  // namespace autospmv
