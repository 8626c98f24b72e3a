// What could be tried on a matrix, as far as a context knows.
#pragma once

#include <span>
#include <vector>

#include "tuner/context/service.hpp"
#include "tuner/predict/history.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv {

/// What predicts the times of candidates on a matrix of these features. Where nothing is to be read, it knows what the
/// context does by now.
template <Scalar T>
Predictor predictor_of(const Features& features, const TrialKey& key, const Service& service,
                       Reading reading = Reading::all);

/// Every candidate on a matrix of these features, or those that are named or likely, as all_prospects() has them, and
/// the one that is in use; suspects come last, doubted, and are refused where too many processes died of them.
template <Scalar T>
std::vector<Prospect> prospects_of(const Features& features, const TrialKey& key, const Service& service,
                                   const Predictor& predictor, std::span<const FormatChoice> only = {},
                                   Choices choices = Choices::all, const Candidate* in_use = nullptr);

}  // namespace autospmv
