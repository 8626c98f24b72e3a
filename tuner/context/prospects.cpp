#include "tuner/context/prospects.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "tuner/measure/first_launch.hpp"

namespace autospmv {

template <Scalar T>
std::vector<Prospect> prospects_of(const Features& features, const TrialKey& key, const Service& service,
                                   std::span<const FormatChoice> only, Choices choices, const Candidate* in_use) {
  const auto predictor = service.history<T>()->near(features, key.pattern);
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

template std::vector<Prospect> prospects_of<float>(const Features&, const TrialKey&, const Service&,
                                                   std::span<const FormatChoice>, Choices, const Candidate*);
template std::vector<Prospect> prospects_of<double>(const Features&, const TrialKey&, const Service&,
                                                    std::span<const FormatChoice>, Choices, const Candidate*);

}  // namespace autospmv
