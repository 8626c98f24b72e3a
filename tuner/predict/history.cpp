#include "tuner/predict/history.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "features/recorded.hpp"
#include "formats/sizes.hpp"
#include "tuner/predict/recorded_costs.hpp"

namespace autospmv {

namespace {

// More than these say little new: 6 reach 0.01 less on an H200, 20 no more. On a processor, where reading one more
// takes a product or two, 12 reach 0.005 more than 6.
std::size_t most_neighbours(Backend backend) { return backend == Backend::host ? 6 : 12; }

// A few megabytes.
constexpr std::size_t most_prefetched = 500;

// Another device of the backend: its own bandwidth is not known, and orders of candidates carry over better than times.
constexpr double sibling_weight = 0.25;

}  // namespace

template <class T>
History<T>::History(std::span<const RecordedMatrix> records, TrialsOf trials_of, const Device& device,
                    const CostModel& model)
    : trials_of_(std::move(trials_of)), device_(device), model_(model) {
  for (const auto& record : records) {
    if (!record.key.value_type.starts_with(value_type_name<T>())) continue;
    const auto features = features_of_record(record.matrix.features);
    if (!features || features->nnz == 0) continue;
    const bool sibling = record.key.device != device.name;
    matrices_.push_back({record.key, record.matrix.label, *features, position_of(*features, sizeof(T)), sibling});
    if (record.layer > 0) ++below_;
  }
  standardize();
}

template <class T>
void History<T>::standardize() {
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
std::vector<Predictor::Neighbour> History<T>::by_distance(const Position& here, const Fingerprint& pattern,
                                                          const Weights& weights) const {
  std::vector<Predictor::Neighbour> others;
  others.reserve(matrices_.size());
  for (std::size_t m = 0; m < matrices_.size(); ++m) {
    const auto& known = matrices_[m];
    if (known.key.pattern == pattern) continue;
    double square = 0;
    for (std::size_t i = 0; i < position_size; ++i) {
      const double apart = weights.importance[i] * (known.position[i] - here[i]) / deviation_[i];
      square += apart * apart;
    }
    const double weight = 1 / (1 + std::pow(std::sqrt(square) / weights.feature_reach, weights.feature_power));
    others.push_back({m, known.sibling ? sibling_weight * weight : weight});
  }
  std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
  return others;
}

template <class T>
Predictor History<T>::near(const Features& features, const Fingerprint& pattern, const Weights& weights) const {
  Predictor near(model_, weights);
  near.history_ = this->weak_from_this().lock();
  std::vector<Predictor::FormatSums> by_format;
  const std::scoped_lock lock(mutex_);
  for (const auto& neighbour : by_distance(position_of(features, sizeof(T)), pattern, weights)) {
    if (near.neighbours_.size() == most_neighbours(device_.backend)) break;
    const auto& ratios = ratios_of(neighbour.matrix);
    if (ratios.empty()) continue;
    near.neighbours_.push_back(neighbour);
    near.neighbours_.back().label = matrices_[neighbour.matrix].label;
    by_format.resize(tried_.size());
    for (const auto& ratio : ratios) add(ratio, neighbour, by_format[ratio.format]);
  }
  std::vector<double> times;
  std::vector<double> setups;
  for (std::size_t f = 0; f < by_format.size(); ++f) {
    auto& of_format = by_format[f];
    double weight = 0;
    for (const auto& sums : of_format.of_params) {
      weight += sums.weight;
      of_format.log_time += sums.log_time;
      of_format.log_setup += sums.log_setup;
    }
    if (weight == 0) continue;
    of_format.log_time /= weight;
    of_format.log_setup /= weight;
    times.push_back(of_format.log_time);
    setups.push_back(of_format.log_setup);
    std::erase_if(of_format.of_params, [](const auto& sums) { return sums.weight == 0; });
    near.formats_.emplace(tried_[f].format, std::move(of_format));
  }
  near.unknown_.log_time = median(times);
  near.unknown_.log_setup = median(setups);
  return near;
}

template <class T>
bool History<T>::prefetch() const {
  const auto next = [&]() -> std::optional<std::size_t> {
    const std::scoped_lock lock(mutex_);
    if (ratios_.size() >= most_prefetched) return std::nullopt;
    for (std::size_t m = 0; m < matrices_.size(); ++m) {
      if (!ratios_.contains(m)) return m;
    }
    return std::nullopt;
  }();
  if (!next) return false;
  // Who asks for neighbours meanwhile does not wait.
  const auto read = read_ratios(matrices_[*next]);
  const std::scoped_lock lock(mutex_);
  if (!ratios_.contains(*next)) keep(*next, read);
  return true;
}

// With mutex_ held.
template <class T>
const std::vector<typename History<T>::LogRatio>& History<T>::ratios_of(std::size_t matrix) const {
  const auto at = ratios_.find(matrix);
  return at != ratios_.end() ? at->second : keep(matrix, read_ratios(matrices_[matrix]));
}

template <class T>
std::vector<typename History<T>::ReadRatio> History<T>::read_ratios(const PastMatrix& known) const {
  std::vector<ReadRatio> read;
  const double csr_bytes = formats::csr_bytes<T>(known.features.rows, known.features.nnz);
  const auto trials = trials_of_(known.key);
  for_each_cost<T>(trials, known.features, device_, [&](const TrialRecord& trial, const Cost& cost) {
    const auto& m = trial.measurement;
    const double setup = model_.conversion_seconds(cost, csr_bytes);
    const bool converts = setup > 0 && m.setup_seconds > 0;
    read.push_back({trial.candidate, std::log(m.warm.median / model_.product_seconds(cost)),
                    converts ? std::log(m.setup_seconds / setup) : 0});
  });
  return read;
}

// With mutex_ held.
template <class T>
const std::vector<typename History<T>::LogRatio>& History<T>::keep(std::size_t matrix,
                                                                   const std::vector<ReadRatio>& read) const {
  std::vector<LogRatio> ratios;
  ratios.reserve(read.size());
  for (const auto& one : read) {
    const auto format = format_index(one.candidate.format);
    auto& index = tried_[format].index;
    const auto choice = index.emplace(one.candidate.params, index.size()).first;
    ratios.push_back({format, choice->second, &choice->first, one.log_time, one.log_setup});
  }
  return ratios_.insert_or_assign(matrix, std::move(ratios)).first->second;
}

template <class T>
std::size_t History<T>::format_index(const std::string& format) const {
  const auto known = formats_.find(format);
  if (known != formats_.end()) return known->second;
  // First, so that where memory runs out the two still agree.
  tried_.reserve(tried_.size() + 1);
  const auto at = formats_.emplace(format, tried_.size()).first;
  tried_.push_back({at->first, {}});
  return at->second;
}

template <class T>
void History<T>::add(const LogRatio& ratio, const Predictor::Neighbour& neighbour,
                     Predictor::FormatSums& of_format) const {
  if (of_format.tier == Tier::model) {
    of_format.tier = matrices_[neighbour.matrix].sibling ? Tier::sibling : Tier::neighbour;
  }
  if (of_format.of_params.size() <= ratio.choice) of_format.of_params.resize(ratio.choice + 1);
  auto& sums = of_format.of_params[ratio.choice];
  sums.params = ratio.params;
  sums.weight += neighbour.weight;
  sums.log_time += neighbour.weight * ratio.log_time;
  sums.square += neighbour.weight * ratio.log_time * ratio.log_time;
  sums.log_setup += neighbour.weight * ratio.log_setup;
}

template class History<float>;
template class History<double>;

}  // namespace autospmv
