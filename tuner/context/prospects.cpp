#include "tuner/context/prospects.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "tuner/measure/first_launch.hpp"

namespace autospmv {

template <Scalar T>
Predictor predictor_of(const Features& features, const TrialKey& key, const Service& service, Reading reading) {
  const auto history = reading == Reading::all ? service.history<T>() : service.known_history<T>();
  return history != nullptr ? history->near(features, key.pattern, searched_weights, reading)
                            : Predictor(service.cost_model());
}

template <Scalar T>
std::vector<Prospect> prospects_of(const Features& features, const TrialKey& key, const Service& service,
                                   const Predictor& predictor, std::span<const FormatChoice> only, Choices choices,
                                   const Candidate* in_use) {
  auto prospects = all_prospects<T>(features, service.device(), predictor, only, choices);
  if (in_use != nullptr) include<T>(prospects, *in_use, features, service.device(), predictor);
  for (const auto& suspect : service.database().suspects(key)) {
    for (auto& prospect : prospects) {
      if (prospect.candidate != suspect.candidate || !prospect.admitted()) continue;
      prospect.doubted = true;
      if (suspect.deaths < fatal_deaths) continue;
      prospect.refusal = std::to_string(suspect.deaths) + " processes died while launching it";
      service.warn(suspect.candidate.text() + " is skipped: " + prospect.refusal);
    }
  }
  std::stable_partition(prospects.begin(), prospects.end(), [](const Prospect& prospect) { return !prospect.doubted; });
  return prospects;
}

#define AUTOSPMV_PROSPECTS(T)                                                                                        \
  template Predictor predictor_of<T>(const Features&, const TrialKey&, const Service&, Reading);                     \
  template std::vector<Prospect> prospects_of<T>(const Features&, const TrialKey&, const Service&, const Predictor&, \
                                                 std::span<const FormatChoice>, Choices, const Candidate*);
AUTOSPMV_PROSPECTS(float)
AUTOSPMV_PROSPECTS(double)
#undef AUTOSPMV_PROSPECTS

}  // namespace autospmv
