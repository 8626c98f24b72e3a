#include "tuner/experience.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "features/recorded.hpp"
#include "formats/common/rules.hpp"
#include "tuner/recorded_costs.hpp"

namespace autospmv {

namespace {

// How fast what neighbours say loses weight with the distance, of features and of parameters, and how much the mean
// of a format counts beside them. These and the importance of the features were searched for by replaying exhaustive
// runs of 147 matrices on an H200, each predicted from all others: the best prediction reaches 0.94 (double) and 0.95
// (float) of the best time in geometric mean, 0.70 at worst; where features all count alike, 0.92 and 0.52. The power
// is the one that runs of 59 on a processor agree to: 0.90 there, 0.87 with 1.445, which is as good on the H200.
constexpr double feature_reach = 0.6768;
constexpr double feature_power = 2.2;
constexpr double alike_of_other_ways = 0.01422;
constexpr double least_alike = 0.001;  // less counts for nothing
constexpr double mean_weight = 0.0437;
constexpr double model_certainty = 0.016;   // searched for on a processor, where the model is good
constexpr double least_weight = 0.0003179;  // of neighbours, for what they say to be more than the mean
constexpr double mean_variance = 0.3757;    // of what a format does on a matrix that is like no other

// Those of a position, in its order.
constexpr Position importance = {1.194, 0.4911, 0.1026, 1.207,  1.331, 0.1324, 2.508, 0.07352,
                                 1.221, 2.721,  0.5107, 0.9077, 0.588, 0.2956, 1.154, 0.08752};

// More than these say little new: 6 reach 0.03 less on a processor and 0.01 less on an H200, 20 no more.
constexpr std::size_t most_neighbours = 12;

// A few megabytes.
constexpr std::size_t most_read_ahead = 500;

// Another device of the backend: its own bandwidth is not known, and orders of candidates carry over better than times.
constexpr double sibling_weight = 0.25;

double log2_of(double value) { return std::log2(std::max(value, 1e-9)); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
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
          std::log2(1 + static_cast<double>(f.npr_percentile[3])),
          log2_of(std::max(1.0, f.slice_diagonals_mean / mean))};
}

namespace {

// Calls both(x, y) for each parameter that a and b have, and one() for each that only one of them has, until one of
// these returns false.
template <class Both, class One>
void for_each_param(const Params& a, const Params& b, const Both& both, const One& one) {
  const auto left = a.values();
  const auto right = b.values();
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < left.size() || j < right.size()) {
    if (i < left.size() && j < right.size() && left[i].same_name(right[j])) {
      if (!both(left[i++].value, right[j++].value)) return;
    } else {
      const bool only_left = j == right.size() || (i < left.size() && left[i].name < right[j].name);
      ++(only_left ? i : j);
      if (!one()) return;
    }
  }
}

// How much of what is known of one choice of parameters is taken to hold for another. Most parameters are sizes, of
// which the ratio counts; 0 is a way of its own.
double alikeness(const Params& a, const Params& b) {
  double alike = 1;
  const auto other_way = [&] { return (alike *= alike_of_other_ways) >= least_alike; };
  const auto both = [&](std::int64_t x, std::int64_t y) {
    if (x == y) return true;
    if (x <= 0 || y <= 0) return other_way();
    const double ratio = static_cast<double>(std::min(x, y)) / static_cast<double>(std::max(x, y));
    const double square = ratio * ratio;
    return (alike *= square * square) >= least_alike;
  };
  for_each_param(a, b, both, other_way);
  return alike;
}

}  // namespace

double distance(const Params& a, const Params& b) {
  constexpr double most_of_a_parameter = 1.5;
  double sum = 0;
  const auto both = [&](std::int64_t x, std::int64_t y) {
    if (x == y) return true;
    const auto ratio = static_cast<double>(x) / static_cast<double>(y);
    sum += x > 0 && y > 0 ? std::min(most_of_a_parameter, std::abs(std::log2(ratio)) / 2) : 1;
    return true;
  };
  for_each_param(a, b, both, [&] { return ++sum, true; });
  return sum;
}

Correction Neighbourhood::correction(const std::string& format, const Params& params) const {
  const auto found = formats_.find(format);
  if (found == formats_.end()) return unknown_;
  const auto& of_format = found->second;
  // What the format does on average, and what the model says by itself, the more the better it is.
  const double model_variance = unknown_.deviation * unknown_.deviation;
  const double model_weight = model_certainty / model_variance;
  const double doubt = mean_weight + model_weight;
  double weights = doubt;
  double time = mean_weight * of_format.log_time + model_weight * unknown_.log_time;
  double square = mean_weight * (of_format.log_time * of_format.log_time + mean_variance) +
                  model_weight * (unknown_.log_time * unknown_.log_time + model_variance);
  double setup = mean_weight * of_format.log_setup + model_weight * unknown_.log_setup;
  for (const auto& sums : of_format.sums) {
    const double alike = alikeness(params, *sums.params);
    if (alike < least_alike) continue;
    weights += alike * sums.weight;
    time += alike * sums.log_time;
    square += alike * sums.square;
    setup += alike * sums.log_setup;
  }
  Correction correction;
  correction.weight = weights - doubt;
  correction.log_time = time / weights;
  correction.deviation = std::sqrt(std::max(0.0, square / weights - correction.log_time * correction.log_time));
  correction.log_setup = setup / weights;
  // What is far away from all that is known is a guess by the mean of the format.
  correction.tier = correction.weight < least_weight ? Tier::model : of_format.tier;
  return correction;
}

template <class T>
Experience<T>::Experience(std::span<const RecordedMatrix> records, TrialsOf trials_of, const Device& device,
                          const CostModel& model)
    : trials_of_(std::move(trials_of)), device_(device), model_(model) {
  for (const auto& record : records) {
    if (!record.key.value_type.starts_with(value_type_name<T>())) continue;
    const auto features = features_of_record(record.matrix.features);
    if (!features || features->nnz == 0) continue;
    const bool sibling = record.key.device != device.name;
    matrices_.push_back({record.key, record.matrix.label, *features, position_of(*features, sizeof(T)), sibling});
  }
  standardize();
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

// All but the one of this pattern: its own trials are no prediction, they are in the database and count as what they
// are.
template <class T>
std::vector<Neighbourhood::Neighbour> Experience<T>::by_distance(const Position& here,
                                                                 const Fingerprint& pattern) const {
  std::vector<Neighbourhood::Neighbour> others;
  others.reserve(matrices_.size());
  for (std::size_t m = 0; m < matrices_.size(); ++m) {
    const auto& known = matrices_[m];
    if (known.key.pattern == pattern) continue;
    double square = 0;
    for (std::size_t i = 0; i < position_size; ++i) {
      const double apart = importance[i] * (known.position[i] - here[i]) / deviation_[i];
      square += apart * apart;
    }
    const double weight = 1 / (1 + std::pow(std::sqrt(square) / feature_reach, feature_power));
    others.push_back({m, known.sibling ? sibling_weight * weight : weight});
  }
  std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
  return others;
}

template <class T>
Neighbourhood Experience<T>::near(const Features& features, const Fingerprint& pattern) const {
  Neighbourhood near;
  std::vector<Neighbourhood::OfFormat> of_formats;
  const std::scoped_lock lock(mutex_);
  for (const auto& neighbour : by_distance(position_of(features, sizeof(T)), pattern)) {
    if (near.neighbours_.size() == most_neighbours) break;
    const auto& ratios = learned(neighbour.matrix);
    if (ratios.empty()) continue;
    near.neighbours_.push_back(neighbour);
    of_formats.resize(choices_.size());
    for (const auto& ratio : ratios) add(ratio, neighbour, of_formats[ratio.format]);
  }
  std::vector<double> times;
  std::vector<double> setups;
  for (std::size_t f = 0; f < of_formats.size(); ++f) {
    auto& of_format = of_formats[f];
    double weights = 0;
    for (const auto& sums : of_format.sums) {
      weights += sums.weight;
      of_format.log_time += sums.log_time;
      of_format.log_setup += sums.log_setup;
    }
    if (weights == 0) continue;
    of_format.log_time /= weights;
    of_format.log_setup /= weights;
    times.push_back(of_format.log_time);
    setups.push_back(of_format.log_setup);
    std::erase_if(of_format.sums, [](const auto& sums) { return sums.weight == 0; });
    near.formats_.emplace(choices_[f].format, std::move(of_format));
  }
  near.unknown_.deviation = model_.deviation();
  near.unknown_.log_time = median(std::move(times));
  near.unknown_.log_setup = median(std::move(setups));
  return near;
}

template <class T>
bool Experience<T>::read_ahead() const {
  const auto next = [&]() -> std::optional<std::size_t> {
    const std::scoped_lock lock(mutex_);
    if (learned_.size() >= most_read_ahead) return std::nullopt;
    for (std::size_t m = 0; m < matrices_.size(); ++m) {
      if (!learned_.contains(m)) return m;
    }
    return std::nullopt;
  }();
  if (!next) return false;
  // Who asks for neighbours meanwhile does not wait.
  const auto lessons = lessons_of(matrices_[*next]);
  const std::scoped_lock lock(mutex_);
  if (!learned_.contains(*next)) keep(*next, lessons);
  return true;
}

// With mutex_ held.
template <class T>
const std::vector<typename Experience<T>::Ratio>& Experience<T>::learned(std::size_t matrix) const {
  const auto at = learned_.find(matrix);
  return at != learned_.end() ? at->second : keep(matrix, lessons_of(matrices_[matrix]));
}

template <class T>
std::vector<typename Experience<T>::Lesson> Experience<T>::lessons_of(const Known& known) const {
  std::vector<Lesson> lessons;
  const double csr_bytes = formats::csr_bytes<T>(known.features.rows, known.features.nnz);
  const auto trials = trials_of_(known.key);
  for_each_cost<T>(trials, known.features, device_, [&](const TrialRecord& trial, const Cost& cost) {
    const auto& m = trial.measurement;
    const double setup = model_.conversion_seconds(cost, csr_bytes);
    const bool converts = setup > 0 && m.setup_seconds > 0;
    lessons.push_back({trial.candidate, std::log(m.warm.median / model_.product_seconds(cost)),
                       converts ? std::log(m.setup_seconds / setup) : 0});
  });
  return lessons;
}

// With mutex_ held.
template <class T>
const std::vector<typename Experience<T>::Ratio>& Experience<T>::keep(std::size_t matrix,
                                                                      const std::vector<Lesson>& lessons) const {
  std::vector<Ratio> ratios;
  ratios.reserve(lessons.size());
  for (const auto& lesson : lessons) {
    const auto format = format_index(lesson.candidate.format);
    auto& index = choices_[format].index;
    const auto choice = index.emplace(lesson.candidate.params, index.size()).first;
    ratios.push_back({format, choice->second, &choice->first, lesson.log_time, lesson.log_setup});
  }
  return learned_.insert_or_assign(matrix, std::move(ratios)).first->second;
}

template <class T>
std::size_t Experience<T>::format_index(const std::string& format) const {
  const auto known = formats_.find(format);
  if (known != formats_.end()) return known->second;
  // First, so that where memory runs out the two still agree.
  choices_.reserve(choices_.size() + 1);
  const auto at = formats_.emplace(format, choices_.size()).first;
  choices_.push_back({at->first, {}});
  return at->second;
}

template <class T>
void Experience<T>::add(const Ratio& ratio, const Neighbourhood::Neighbour& neighbour,
                        Neighbourhood::OfFormat& of_format) const {
  if (of_format.tier == Tier::model) {
    of_format.tier = matrices_[neighbour.matrix].sibling ? Tier::sibling : Tier::neighbour;
  }
  if (of_format.sums.size() <= ratio.choice) of_format.sums.resize(ratio.choice + 1);
  auto& sums = of_format.sums[ratio.choice];
  sums.params = ratio.params;
  sums.weight += neighbour.weight;
  sums.log_time += neighbour.weight * ratio.log_time;
  sums.square += neighbour.weight * ratio.log_time * ratio.log_time;
  sums.log_setup += neighbour.weight * ratio.log_setup;
}

template class Experience<float>;
template class Experience<double>;

}  // namespace autospmv
