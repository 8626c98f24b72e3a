#include "tuner/measure/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace autospmv {

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
    for (std::size_t p = 0; p < products; ++p) of_product[p] = summarize(std::move(by_product[p])).median;
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      left.clear();
      for (const auto& [product, sample] : rounds[r].samples) {
        if (!sample.disturbed) left.push_back(std::log(sample.seconds) - of_product[product]);
      }
      of_round[r] = left.size() > 1 ? summarize(left).median : 0;
    }
    const double usual = summarize(of_round).median;
    for (auto& level : of_round) level -= usual;
  }
  for (auto& level : of_round) level = std::exp(level);
  return of_round;
}

std::vector<Samples> evened(const std::vector<Round>& rounds, std::size_t products, double level) {
  const auto slowness = slowness_of(rounds);
  std::vector<Samples> samples(products);
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    for (const auto& [product, sample] : rounds[r].samples) {
      samples[product].add({level * sample.seconds / slowness[r], sample.disturbed});
    }
  }
  return samples;
}

}  // namespace autospmv
