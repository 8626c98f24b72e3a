#include "tuner/predict/predictor.hpp"

#include <algorithm>
#include <cmath>

namespace autospmv {

std::string_view name_of(Tier tier) {
  switch (tier) {
    case Tier::trial:
      return "trial";
    case Tier::neighbour:
      return "neighbour";
    case Tier::sibling:
      return "sibling";
    case Tier::model:
      return "model";
  }
  return "unknown";
}

Predictor::Predictor(const CostModel& model, const Weights& weights) : model_(model), weights_(weights) {
  unknown_.deviation = CostModel::deviation;
}

std::vector<std::string> Predictor::devices() const {
  std::vector<std::string> devices;
  for (const auto& neighbour : neighbours_) {
    if (std::ranges::find(devices, neighbour.device) == devices.end()) devices.emplace_back(neighbour.device);
  }
  return devices;
}

Prediction Predictor::predict(const std::string& format, const Params& params, const Cost& cost,
                              double csr_bytes) const {
  const auto correction = this->correction(format, params);
  return {std::max(model_.product_seconds(cost) * std::exp(correction.log_time), model_.memory_seconds(cost)),
          model_.conversion_seconds(cost, csr_bytes) * std::exp(correction.log_setup), correction.deviation,
          correction.tier};
}

Correction Predictor::correction(const std::string& format, const Params& params) const {
  const auto found = formats_.find(format);
  if (found == formats_.end()) return unknown_;
  const auto& of_format = found->second;
  // What the format does on average, and what the model says by itself, the more the better it is.
  const double model_variance = unknown_.deviation * unknown_.deviation;
  const double model_weight = weights_.model_certainty / model_variance;
  const double mean_weight = weights_.format_mean;
  const double doubt = mean_weight + model_weight;
  double weights = doubt;
  double time = mean_weight * of_format.log_time + model_weight * unknown_.log_time;
  double square = mean_weight * (of_format.log_time * of_format.log_time + weights_.format_variance) +
                  model_weight * (unknown_.log_time * unknown_.log_time + model_variance);
  double setup = mean_weight * of_format.log_setup + model_weight * unknown_.log_setup;
  of_format.params.for_each_alike(params, weights_, [&](std::size_t which, double alike) {
    const auto& sums = of_format.of_params[which];
    weights += alike * sums.weight;
    time += alike * sums.log_time;
    square += alike * sums.square;
    setup += alike * sums.log_setup;
  });
  Correction correction;
  correction.weight = weights - doubt;
  correction.log_time = time / weights;
  correction.deviation = std::sqrt(std::max(0.0, square / weights - correction.log_time * correction.log_time));
  correction.log_setup = setup / weights;
  // What is far away from all that is known is a guess by the mean of the format.
  correction.tier = correction.weight < weights_.least_of_neighbours ? Tier::model : of_format.tier;
  return correction;
}

Predictor blind_predictor(const Device& device) {
  constexpr double any_bandwidth = 1e11;
  return Predictor(CostModel(device, any_bandwidth, default_coefficients(device.backend)));
}

}  // namespace autospmv
