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

/// What is used where nothing is known: the cheapest by prediction among those that need no conversion and keep to
/// `limits`.
const Prospect& fallback_prospect(const std::vector<Prospect>& prospects, const Limits& limits);

/// The same without a look at the matrix or a measurement of the device: as if its rows were all alike and had no
/// structure that a format could use.
template <class T>
Prospect blind_fallback_prospect(const CsrView<T>& matrix, const Device& device, const Limits& limits);

/// The features of such a matrix.
Features featureless(std::int64_t rows, std::int64_t cols, std::int64_t nnz);

}  // namespace autospmv
