// What is expected of candidates on one matrix, before any trial of it: the cost model, corrected by how far off its
// predictions were on the nearest matrices whose trials are known.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/params.hpp"
#include "tuner/predict/cost_model.hpp"
#include "tuner/predict/position.hpp"
#include "tuner/predict/searched_weights.hpp"

namespace autospmv {

/// Where a prediction comes from, best first.
enum class Tier : std::uint8_t {
  trial,      ///< this matrix on this device: measured, not predicted
  neighbour,  ///< near matrices on this device
  sibling,    ///< near matrices on another device of the backend
  model,      ///< the cost model alone
};

std::string_view name_of(Tier tier);

/// What is expected of one candidate.
struct Prediction {
  double seconds = 0;        ///< of one product, warm
  double setup_seconds = 0;  ///< of the conversion
  double deviation = 1;      ///< standard deviation of the logarithm of `seconds`
  Tier tier = Tier::model;
};

/// A correction of what the cost model predicts. Logged ratios are of measured over predicted time.
struct Correction {
  double log_time = 0;      ///< logged ratio of a product
  double deviation = 1;     ///< standard deviation of that
  double log_setup = 0;     ///< logged ratio of the conversion
  double weight = 0;        ///< of the neighbours that tried such a candidate; 0: a guess
  Tier tier = Tier::model;  ///< of the nearest of them
};

/// Made by History::near(), or of the cost model alone.
class Predictor {
 public:
  /// A matrix of which trials are known.
  struct Neighbour {
    std::size_t matrix = 0;
    double weight = 0;  ///< 1 at the same position on the same device, towards 0 far away
    std::string_view label = {};
    std::string_view device = {};
  };

  explicit Predictor(const CostModel& model, const Weights& weights = searched_weights);

  [[nodiscard]] Prediction predict(const std::string& format, const Params& params, const Cost& cost,
                                   double csr_bytes) const;
  /// Of a format that no neighbour has tried: what formats in general are off by.
  [[nodiscard]] Correction correction(const std::string& format, const Params& params) const;

  /// The nearest known matrices, nearest first.
  [[nodiscard]] const std::vector<Neighbour>& neighbours() const { return neighbours_; }
  /// The devices that they were measured on, that of the nearest first.
  [[nodiscard]] std::vector<std::string> devices() const;
  /// Whether others may be as near, whose trials were not read (Reading::none).
  [[nodiscard]] bool lacks_neighbours() const { return lacks_neighbours_; }

 private:
  template <class T>
  friend class History;

  /// Weighted sums over the neighbours' trials of one choice of parameters.
  struct Sums {
    const Params* params = nullptr;
    double weight = 0;
    double log_time = 0;
    double square = 0;
    double log_setup = 0;
  };
  struct FormatSums {
    std::vector<Sums> of_params;
    KnownParams params;   ///< those of of_params
    double log_time = 0;  ///< mean
    double log_setup = 0;
    Tier tier = Tier::model;  ///< of the nearest neighbour that tried it
  };

  CostModel model_;
  Weights weights_;
  std::shared_ptr<const void> history_;  // which all below refers to
  std::vector<Neighbour> neighbours_;
  bool lacks_neighbours_ = true;  // until History::near() has looked
  std::map<std::string_view, FormatSums> formats_;
  Correction unknown_;
};

/// Predicts what the default cost model says at some bandwidth: an order, no times.
Predictor blind_predictor(const Device& device);

}  // namespace autospmv
