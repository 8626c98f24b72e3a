#include "tuner/experience.hpp"

#include <algorithm>
#include <cmath>

#include "features/recorded.hpp"
#include "formats/common/rules.hpp"
#include "tuner/recorded_costs.hpp"

namespace autospmv {

namespace {

// How fast what neighbours say loses weight with the distance, of features and of parameters, and how much the median
// of a format counts beside them. These and the importance of the features were searched for by replaying exhaustive
// runs of 155 matrices on an H200, each predicted from all others: the best prediction reaches 0.926 of the best time
// in geometric mean, where features that all count alike reach 0.88.
constexpr double feature_reach = 1.2;
constexpr double param_reach = 0.3;
constexpr double median_weight = 0.05;
constexpr double median_variance = 0.5;  // of what a format does on a matrix that is like no other

// Those of a position, in its order.
constexpr Position importance = {2, 0.35, 1.4, 1.4, 2, 0.15, 1.4, 0.7, 2, 1.4, 0.2, 0.2, 0.5, 0.5, 1.4};

// More than these say little new.
constexpr std::size_t most_neighbours = 6;

// Another device of the backend: its own bandwidth is not known, and orders of candidates carry over better than times.
constexpr double sibling_weight = 0.25;

double log2_of(double value) { return std::log2(std::max(value, 1e-9)); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

float likeness_of(const Params& a, const Params& b) {
  return static_cast<float>(std::exp(-distance(a, b) / param_reach));
}

}  // namespace

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

Position position_of(const Features& f, std::size_t value_bytes) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(1, f.rows));
  const auto cols = static_cast<double>(std::max<std::int64_t>(1, f.cols));
  const double mean = std::max(f.npr_mean, 1e-3);
  const auto longest = static_cast<double>(std::max<std::int64_t>(1, f.npr_max));
  const auto values = static_cast<double>(value_bytes);
  const double bytes = static_cast<double>(f.nnz) * (4 + values) + 4 * rows + values * (rows + cols);
  return {log2_of(bytes),
          log2_of(rows),
          log2_of(cols),
          std::log2(1 + mean),
          std::log1p(std::sqrt(f.npr_variance) / mean),
          log2_of(longest / mean),
          std::log2(1 + longest),
          static_cast<double>(f.empty_rows) / rows,
          f.block_fill[0],
          f.block_fill[1],
          f.block_fill[3],
          log2_of(std::max(1.0, f.sliced_ell_padding[1])),
          log2_of((1 + f.slice_span_mean) / cols),
          std::log2(1 + static_cast<double>(f.diagonals)),
          std::log2(1 + static_cast<double>(f.npr_percentile[3]))};
}

double distance(const Params& a, const Params& b) {
  // Both are ordered by name. Most parameters are sizes, of which the ratio counts; 0 is a way of its own.
  constexpr double most_of_a_parameter = 1.5;
  double sum = 0;
  auto left = a.values().begin();
  auto right = b.values().begin();
  while (left != a.values().end() || right != b.values().end()) {
    const bool only_left = right == b.values().end() || (left != a.values().end() && left->first < right->first);
    const bool only_right = left == a.values().end() || (right != b.values().end() && right->first < left->first);
    if (only_left) {
      ++sum;
      ++left;
    } else if (only_right) {
      ++sum;
      ++right;
    } else {
      const auto x = static_cast<double>(left->second);
      const auto y = static_cast<double>(right->second);
      if (x != y) sum += x > 0 && y > 0 ? std::min(most_of_a_parameter, std::abs(std::log2(x / y)) / 2) : 1;
      ++left;
      ++right;
    }
  }
  return sum;
}

template <class T>
Experience<T>::Experience(std::span<const RecordedMatrix> records, const Device& device, const CostModel& model) {
  for (const auto& record : records) {
    if (!record.key.value_type.starts_with(value_type_name<T>())) continue;
    const auto features = features_of_record(record.matrix.features);
    if (features && features->nnz > 0) learn(record, *features, device, model);
  }
  standardize();
  summarize_formats();
}

template <class T>
typename Experience<T>::OfFormat& Experience<T>::of_format(const std::string& name) {
  const auto [at, is_new] = format_index_.emplace(name, formats_.size());
  if (is_new) formats_.emplace_back();
  return formats_[at->second];
}

template <class T>
void Experience<T>::learn(const RecordedMatrix& record, const Features& features, const Device& device,
                          const CostModel& model) {
  const auto matrix = matrices_.size();
  const double csr_bytes = formats::csr_bytes<T>(features.rows, features.nnz);
  std::size_t learned = 0;
  for_each_cost<T>(record, features, device, [&](const TrialRecord& trial, const Cost& cost) {
    auto& known = of_format(trial.candidate.format);
    const auto [at, is_new] = known.index.emplace(trial.candidate.params, known.params.size());
    if (is_new) known.params.push_back(trial.candidate.params);
    const double setup = model.conversion_seconds(cost, csr_bytes);
    const double setup_ratio =
        setup > 0 && trial.measurement.setup_seconds > 0 ? std::log(trial.measurement.setup_seconds / setup) : 0;
    known.by_matrix[matrix].push_back(
        {at->second, static_cast<float>(std::log(trial.measurement.warm.median / model.product_seconds(cost))),
         static_cast<float>(setup_ratio)});
    ++learned;
  });
  if (learned == 0) return;
  trials_ += learned;
  matrices_.push_back(
      {record.key.pattern, record.matrix.label, position_of(features, sizeof(T)), record.key.device != device.name});
}

template <class T>
void Experience<T>::standardize() {
  const auto count = static_cast<double>(std::max<std::size_t>(1, matrices_.size()));
  for (std::size_t i = 0; i < position_size; ++i) {
    double sum = 0;
    double squares = 0;
    for (const auto& known : matrices_) {
      sum += known.position[i];
      squares += known.position[i] * known.position[i];
    }
    mean_[i] = sum / count;
    const double variance = squares / count - mean_[i] * mean_[i];
    // What is the same for all known matrices tells them from no other.
    deviation_[i] = variance > 1e-9 ? std::sqrt(variance) : 1;
  }
}

template <class T>
void Experience<T>::summarize_formats() {
  std::vector<double> all_times;
  std::vector<double> all_setups;
  for (auto& of_format : formats_) {
    const auto count = of_format.params.size();
    of_format.likeness.resize(count * count);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        of_format.likeness[i * count + j] = likeness_of(of_format.params[i], of_format.params[j]);
      }
    }
    std::vector<double> times;
    std::vector<double> setups;
    for (const auto& [matrix, ratios] : of_format.by_matrix) {
      for (const auto& ratio : ratios) {
        times.push_back(ratio.log_time);
        setups.push_back(ratio.log_setup);
      }
    }
    of_format.log_time = median(std::move(times));
    of_format.log_setup = median(std::move(setups));
    all_times.push_back(of_format.log_time);
    all_setups.push_back(of_format.log_setup);
  }
  unknown_.log_time = median(std::move(all_times));
  unknown_.log_setup = median(std::move(all_setups));
}

template <class T>
Neighbourhood Experience<T>::near(const Features& features, const Fingerprint& pattern) const {
  const auto here = position_of(features, sizeof(T));
  Neighbourhood near;
  near.neighbours.reserve(matrices_.size());
  for (std::size_t m = 0; m < matrices_.size(); ++m) {
    const auto& known = matrices_[m];
    // Its own trials are no prediction: they are in the database, and count as what they are.
    if (known.pattern == pattern) continue;
    double square = 0;
    for (std::size_t i = 0; i < position_size; ++i) {
      const double apart = importance[i] * (known.position[i] - here[i]) / deviation_[i];
      square += apart * apart;
    }
    const double weight = 1 / (1 + std::pow(std::sqrt(square) / feature_reach, 3));
    near.neighbours.push_back({m, known.sibling ? sibling_weight * weight : weight});
  }
  const auto kept = std::min(most_neighbours, near.neighbours.size());
  std::partial_sort(near.neighbours.begin(), near.neighbours.begin() + static_cast<std::ptrdiff_t>(kept),
                    near.neighbours.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
  near.neighbours.resize(kept);
  sum_up(near);
  return near;
}

template <class T>
void Experience<T>::sum_up(Neighbourhood& near) const {
  near.sums.resize(formats_.size());
  near.tiers.assign(formats_.size(), Tier::model);
  for (std::size_t f = 0; f < formats_.size(); ++f) {
    near.sums[f].resize(formats_[f].params.size());
    for (const auto& neighbour : near.neighbours) {
      const auto ratios = formats_[f].by_matrix.find(neighbour.matrix);
      if (ratios == formats_[f].by_matrix.end()) continue;
      if (near.tiers[f] == Tier::model) {
        near.tiers[f] = matrices_[neighbour.matrix].sibling ? Tier::sibling : Tier::neighbour;
      }
      const auto weight = static_cast<float>(neighbour.weight);
      for (const auto& ratio : ratios->second) {
        auto& sums = near.sums[f][ratio.params];
        sums.weight += weight;
        sums.log_time += weight * ratio.log_time;
        sums.square += weight * ratio.log_time * ratio.log_time;
        sums.log_setup += weight * ratio.log_setup;
      }
    }
  }
}

template <class T>
Correction Experience<T>::correction(const Neighbourhood& near, const std::string& format, const Params& params) const {
  const auto found = format_index_.find(format);
  if (found == format_index_.end()) return unknown_;
  Correction correction;
  const auto& of_format = formats_[found->second];
  const auto& sums = near.sums[found->second];
  const auto count = sums.size();
  const auto known = of_format.index.find(params);
  std::vector<float> unknown;
  const float* likeness = nullptr;
  if (known != of_format.index.end()) {
    likeness = of_format.likeness.data() + known->second * count;
  } else {
    for (const auto& other : of_format.params) unknown.push_back(likeness_of(params, other));
    likeness = unknown.data();
  }
  double weights = median_weight;
  double time = median_weight * of_format.log_time;
  double square = median_weight * (of_format.log_time * of_format.log_time + median_variance);
  double setup = median_weight * of_format.log_setup;
  for (std::size_t i = 0; i < count; ++i) {
    const auto alike = static_cast<double>(likeness[i]);
    weights += alike * sums[i].weight;
    time += alike * sums[i].log_time;
    square += alike * sums[i].square;
    setup += alike * sums[i].log_setup;
  }
  correction.weight = weights - median_weight;
  correction.log_time = time / weights;
  correction.deviation = std::sqrt(std::max(0.0, square / weights - correction.log_time * correction.log_time));
  correction.log_setup = setup / weights;
  // What is far away from all that is known is a guess by the median of the format.
  correction.tier = correction.weight < median_weight ? Tier::model : near.tiers[found->second];
  return correction;
}

template class Experience<float>;
template class Experience<double>;

}  // namespace autospmv
