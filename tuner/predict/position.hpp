// How alike two matrices are by their features, and two choices of parameters of one format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/params.hpp"
#include "features/features.hpp"
#include "tuner/predict/searched_weights.hpp"

namespace autospmv {

/// Where a matrix lies among others: sizes, lengths of rows and their spread, blocks, diagonals, locality. Logarithms
/// where ratios count.
Position position_of(const Features& features, std::size_t value_bytes);

/// How far apart two choices of parameters of one format are: 0 where they are equal, about 1 for each that differs.
double distance(const Params& a, const Params& b);

/// How much of what is known of one choice of parameters is taken to hold for another, 1 where they are equal. Most
/// parameters are sizes, of which the ratio counts; 0 is a way of its own.
double alikeness(const Params& a, const Params& b, const Weights& weights = searched_weights);
/// Less counts for nothing.
inline constexpr double least_alikeness = 0.001;

/// Choices of parameters of one format. How alike two values of a parameter are is asked once for all of them that have
/// the value, so that another choice is compared with all in little more than the time to multiply.
class KnownParams {
 public:
  /// The parameters outlive it.
  void add(const Params& params);

  /// Calls take(which, alikeness) for each that is alike at all, in the order in which they were added.
  template <class Take>
  void for_each_alike(const Params& params, const Weights& weights, const Take& take) const {
    const auto take_alike = [&](std::size_t which, double alike) {
      if (alike >= least_alikeness) take(which, alike);
    };
    if (!have_names_of(params)) {
      for (std::size_t i = 0; i < all_.size(); ++i) take_alike(i, alikeness(params, *all_[i], weights));
      return;
    }
    const auto factors = alikeness_of_values(params, weights);
    const auto count = params.values().size();
    const auto* value = value_of_.data();
    for (std::size_t i = 0; i < all_.size(); ++i, value += count) {
      double alike = 1;
      for (std::size_t p = 0; p < count; ++p) alike *= factors[value[p]];
      take_alike(i, alike);
    }
  }

 private:
  struct KnownValue {
    std::size_t parameter = 0;
    std::int64_t value = 0;

    friend bool operator==(const KnownValue&, const KnownValue&) = default;
  };

  /// All of them the same.
  [[nodiscard]] bool have_names_of(const Params& params) const;
  [[nodiscard]] std::vector<double> alikeness_of_values(const Params& params, const Weights& weights) const;

  std::vector<const Params*> all_;
  bool same_names_ = true;               // as choices of one format mostly have
  std::vector<KnownValue> values_;       // that differ, of all parameters
  std::vector<std::uint32_t> value_of_;  // which of them each choice has, for each of its parameters
};

}  // namespace autospmv
