// What could be tried on a matrix, in the order worth trying.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/trial.hpp"
#include "formats/format.hpp"
#include "tuner/objective.hpp"
#include "tuner/predict/predictor.hpp"
#include "tuner/search/format_choice.hpp"

namespace autospmv {

/// Where the formats that candidates name are found.
template <class T>
using FormatLookup = std::function<const Format<T>*(std::string_view)>;

/// A candidate before it is tried.
struct Prospect {
  Candidate candidate;
  int format_version = 0;
  bool deterministic = true;
  bool capturable = true;
  bool baseline = false;
  int rank = 0;           ///< place in the format's own order, best guess first
  std::string refusal;    ///< why the format does not take the matrix; empty where it does
  Cost cost;              ///< meaningless where refused
  Prediction prediction;  ///< likewise
  bool doubted = false;   ///< a process died while launching it, or it failed: tried last, and no estimate

  [[nodiscard]] bool admitted() const { return refusal.empty(); }
};

/// The record of a trial that was not made yet.
TrialRecord untried(const Prospect& prospect);

/// Why these limits let no such candidate win, whatever it takes; empty where they do not.
inline std::string_view limit_against(const Prospect& prospect, const Limits& limits) {
  return limit_against(prospect.deterministic, prospect.capturable, limits);
}

/// Of a candidate that was tried: what is expected of it is what it took.
template <class T>
Prospect tried_prospect(const TrialRecord& trial, const Device& device);

/// The trial of a candidate that is deterministic and capturable as far as its format says; what a database says of it
/// is not asked.
template <class T>
TrialRecord as_format_says(TrialRecord trial, const Device& device);

/// Every combination of every format's parameters on this device, or those that are named or likely to win, each once:
/// admitted ones first, by predicted time.
template <class T>
std::vector<Prospect> all_prospects(const Features& features, const Device& device, const Predictor& predictor,
                                    std::span<const FormatChoice> only = {}, Choices choices = Choices::all);

/// Adds one that is not among them, if its format is in this build.
template <class T>
void include(std::vector<Prospect>& prospects, const Candidate& candidate, const Features& features,
             const Device& device, const Predictor& predictor);

/// Predicts them once more, by another predictor, and puts them in its order.
template <class T>
void predict_anew(std::vector<Prospect>& prospects, const Features& features, const Predictor& predictor);

/// What trials of this matrix have shown, in place of what was predicted; who failed is doubted. What was timed without
/// being among the prospects joins them, if it is of those that are named.
template <class T>
void take_known(std::vector<Prospect>& prospects, std::span<const TrialRecord> trials, const Device& device,
                std::span<const FormatChoice> only = {});

inline double predicted_total(const Prospect& prospect, const Limits& limits) {
  return total_seconds(prospect.prediction.setup_seconds, prospect.prediction.seconds, limits);
}

/// The admitted ones within the limits, by predicted total. A prediction that may be far off counts as slower than it
/// says: what loses much when it is wrong must promise more.
std::vector<const Prospect*> by_estimate(const std::vector<Prospect>& prospects, const Limits& limits,
                                         std::int64_t csr_bytes, const Weights& weights = searched_weights);

/// The same, with the totals that order them.
struct Estimate {
  double seconds = 0;
  const Prospect* prospect = nullptr;
};
std::vector<Estimate> estimates_of(const std::vector<Prospect>& prospects, const Limits& limits, std::int64_t csr_bytes,
                                   const Weights& weights = searched_weights);

/// What is used where nothing is known: the cheapest by prediction among those that need no conversion and keep to
/// `limits`.
const Prospect& fallback_prospect(const std::vector<Prospect>& prospects, const Limits& limits);

/// The same without a measurement of the device or a look at more of the matrix than its longest row: on the host as if
/// rows were the rarer the longer they are, and had no structure that a format could use; on a GPU see plain_csr.hpp.
template <class T>
Prospect blind_fallback_prospect(const CsrView<T>& matrix, std::int64_t longest_row, const Device& device,
                                 const Limits& limits);

/// The same without a look at anything, which takes the least memory: plain CSR by the best guess of the first format
/// that is a baseline.
template <class T>
Prospect first_baseline(const Device& device);

/// The features of such a matrix.
Features featureless(std::int64_t rows, std::int64_t cols, std::int64_t nnz, std::int64_t longest_row);

/// Those of one that no format has a reason to refuse for its size or its rows.
Features ordinary_features();

}  // namespace autospmv
