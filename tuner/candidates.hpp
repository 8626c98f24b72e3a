// What could be tried on a matrix, in the order worth trying.
#pragma once

#include <string>
#include <vector>

#include "core/trial.hpp"
#include "formats/format.hpp"
#include "tuner/context.hpp"

namespace autospmv {

/// A candidate before it is tried.
struct Prospect {
  Candidate candidate;
  int format_version = 0;
  bool deterministic = true;
  bool baseline = false;
  int rank = 0;                  ///< place in the format's own order, best guess first
  std::string refusal;           ///< why the format does not take the matrix; empty where it does
  Cost cost;                     ///< meaningless where refused
  double predicted_seconds = 0;  ///< likewise

  [[nodiscard]] bool admitted() const { return refusal.empty(); }
};

/// Every combination of every format's parameters on this device, admitted ones first, by predicted time.
template <class T>
std::vector<Prospect> all_prospects(const Features& features, const Device& device, double bandwidth);

/// The admitted prospects that an effort tries: all of them, or a few of each format whose prediction could win. The
/// baselines are always among them, and come first.
std::vector<Prospect> chosen_prospects(const std::vector<Prospect>& prospects, Effort effort, const Limits& limits);

/// What is used where nothing is known: the cheapest by prediction among those that need no conversion.
const Prospect& fallback_prospect(const std::vector<Prospect>& prospects);

}  // namespace autospmv
