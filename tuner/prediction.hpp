// What is expected of candidates on one matrix, before any trial of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "tuner/cost_model.hpp"
#include "tuner/experience.hpp"

namespace autospmv {

/// What is expected of one candidate.
struct Prediction {
  double seconds = 0;        ///< of one product, warm
  double setup_seconds = 0;  ///< of the conversion
  double deviation = 1;      ///< standard deviation of the logarithm of `seconds`
  Tier tier = Tier::model;
};

/// The cost model, corrected by experience where there is any.
template <class T>
class Predictor {
 public:
  explicit Predictor(const CostModel& model) : model_(model) {}
  Predictor(std::shared_ptr<const Experience<T>> experience, Neighbourhood near)
      : model_(experience->model()), experience_(std::move(experience)), near_(std::move(near)) {}

  [[nodiscard]] Prediction predict(const std::string& format, const Params& params, const Cost& cost,
                                   double csr_bytes) const {
    const auto correction =
        experience_ ? near_.correction(format, params) : Correction{.deviation = model_.deviation()};
    return {std::max(model_.product_seconds(cost) * std::exp(correction.log_time), model_.memory_seconds(cost)),
            model_.conversion_seconds(cost, csr_bytes) * std::exp(correction.log_setup), correction.deviation,
            correction.tier};
  }

  [[nodiscard]] const CostModel& model() const { return model_; }
  /// nullptr where there is none.
  [[nodiscard]] const Experience<T>* experience() const { return experience_.get(); }
  [[nodiscard]] const Neighbourhood& near() const { return near_; }

 private:
  CostModel model_;
  std::shared_ptr<const Experience<T>> experience_;
  Neighbourhood near_;
};

}  // namespace autospmv
