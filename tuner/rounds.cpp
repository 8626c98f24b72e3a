#include "tuner/rounds.hpp"

#include <algorithm>
#include <cmath>

namespace autospmv {

namespace {

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::vector<double> slowness_of(const std::vector<Round>& rounds) {
  constexpr int sweeps = 4;  // it hardly changes after the second
  std::size_t products = 0;
  for (const auto& round : rounds) {
    for (const auto& taken : round.samples) products = std::max(products, taken.product + 1);
  }
  std::vector<double> of_product(products);
  std::vector<double> of_round(rounds.size());
  std::vector<double> left;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    std::vector<std::vector<double>> by_product(products);
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      for (const auto& [product, sample] : rounds[r].samples) {
        if (!sample.disturbed) by_product[product].push_back(std::log(sample.seconds) - of_round[r]);
      }
    }
    for (std::size_t p = 0; p < products; ++p) of_product[p] = median(by_product[p]);
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      left.clear();
      for (const auto& [product, sample] : rounds[r].samples) {
        if (!sample.disturbed) left.push_back(std::log(sample.seconds) - of_product[product]);
      }
      of_round[r] = left.size() > 1 ? median(left) : 0;
    }
    auto sorted = of_round;
    const double usual = median(sorted);
    for (auto& level : of_round) level -= usual;
  }
  for (auto& level : of_round) level = std::exp(level);
  return of_round;
}

}  // namespace autospmv
