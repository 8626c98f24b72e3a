#include "tuner/predict/history.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/machine/instructions.hpp"
#include "core/machine/parallel.hpp"
#include "features/recorded.hpp"
#include "formats/sizes.hpp"
#include "tuner/predict/recorded_costs.hpp"

namespace autospmv {

namespace {

// More than these say little new: of recorded trials, 8 choose as well as 12 and 20 on the device that they were made
// on. But where a format by some parameters is slow on it, only a matrix like few others may have shown that: of
// another device, 12 reach 0.02 more than 6. To read one takes as long as several products of a small matrix.
constexpr std::size_t most_neighbours = 12;
constexpr double own_for_siblings = 1.5;  ///< one of the same device says as much as so many

// A few megabytes.
constexpr std::size_t most_prefetched = 500;

// To read what is known of one, in elements: hundreds of trials.
constexpr std::int64_t work_of_matrix = serial_below / 2;

// Another device of the backend: its own bandwidth is not known, and orders of candidates carry over better than times.
// That of the same device reaches the more, the more it weighs; what was tried on this one is to weigh more.
constexpr double sibling_weight = 0.8;

// By other instructions another order is right: on two processors, with AVX-512 and without, the cost model alone
// chooses as well, and formats of blocks take up to fifteen times as long where they do not fit the registers.
void keep_kin(RecordedPoints& points, const Device& device) {
  std::vector<bool> is_kin;
  for (const auto& environment : points.environments) {
    is_kin.push_back(instructions_in(environment.key.device) == instructions_in(device.name));
  }
  if (std::ranges::find(is_kin, false) == is_kin.end()) return;
  RecordedPoints kin{points.environments, {}, points.dimensions, {}};
  for (std::size_t p = 0; p < points.points.size(); ++p) {
    if (!is_kin[points.points[p].environment]) continue;
    kin.points.push_back(points.points[p]);
    const auto coordinates = points.coordinates_of(p);
    kin.coordinates.insert(kin.coordinates.end(), coordinates.begin(), coordinates.end());
  }
  points = std::move(kin);
}

bool further(const Predictor::Neighbour& a, const Predictor::Neighbour& b) {
  return a.weight < b.weight || (a.weight == b.weight && a.matrix > b.matrix);
}

}  // namespace

template <class T>
const PointMaker& point_maker() {
  // The number grows with whatever makes positions of features.
  static const PointMaker maker{"position 1", position_size,
                                [](const MatrixRecord& matrix, std::span<double> coordinates) {
                                  const auto features = features_of_record(matrix.features);
                                  if (!features || features->nnz == 0) return false;
                                  std::ranges::copy(position_of(*features, sizeof(T)), coordinates.begin());
                                  return true;
                                }};
  return maker;
}

template <class T>
History<T>::History(RecordedPoints points, Known known, const Device& device, const CostModel& model)
    : points_(std::move(points)), device_(device), model_(model), known_(std::move(known)) {
  keep_kin(points_, device_);
  standardize();
}

template <class T>
std::size_t History<T>::matrices_below() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      points_.points, [&](const auto& point) { return points_.environments[point.environment].layer > 0; }));
}

template <class T>
bool History<T>::is_sibling(std::size_t matrix) const {
  return points_.environments[points_.points[matrix].environment].key.device != device_.name;
}

template <class T>
double History<T>::counts(std::size_t matrix) const {
  return is_sibling(matrix) ? 1 : own_for_siblings;
}

template <class T>
void History<T>::standardize() {
  const auto count = static_cast<double>(std::max<std::size_t>(1, matrices()));
  Position squares{};
  for (std::size_t m = 0; m < matrices(); ++m) {
    const auto position = points_.coordinates_of(m);
    for (std::size_t i = 0; i < position_size; ++i) {
      mean_[i] += position[i] / count;
      squares[i] += position[i] * position[i] / count;
    }
  }
  for (std::size_t i = 0; i < position_size; ++i) {
    const double variance = squares[i] - mean_[i] * mean_[i];
    // What is the same for all known matrices tells them from no other.
    deviation_[i] = variance > 1e-9 ? std::sqrt(variance) : 1;
  }
}

// All but the one of this pattern: its own trials are no prediction, they are in the database and count as what they
// are. In the order in which they are known.
template <class T>
std::vector<Predictor::Neighbour> History<T>::others_than(const Position& here, const Fingerprint& pattern,
                                                          const Weights& weights) const {
  std::vector<Predictor::Neighbour> others;
  others.reserve(matrices());
  std::vector<bool> sibling;
  for (const auto& environment : points_.environments) sibling.push_back(environment.key.device != device_.name);
  for (std::size_t m = 0; m < matrices(); ++m) {
    const auto& point = points_.points[m];
    if (point.pattern == pattern) continue;
    const auto position = points_.coordinates_of(m);
    double square = 0;
    for (std::size_t i = 0; i < position_size; ++i) {
      const double apart = weights.importance[i] * (position[i] - here[i]) / deviation_[i];
      square += apart * apart;
    }
    const double weight = 1 / (1 + std::pow(std::sqrt(square) / weights.feature_reach, weights.feature_power));
    others.push_back({m, sibling[point.environment] ? sibling_weight * weight : weight});
  }
  return others;
}

template <class T>
Predictor History<T>::near(const Features& features, const Fingerprint& pattern, const Weights& weights,
                           Reading reading) const {
  Predictor near(model_, weights);
  near.history_ = this->weak_from_this().lock();
  near.lacks_neighbours_ = false;
  std::vector<Predictor::FormatSums> by_format;
  std::vector<Predictor::FormatSums> of_siblings;
  const std::scoped_lock lock(mutex_);
  // Of thousands the nearest few are wanted: a heap gives them without sorting the others.
  auto others = others_than(position_of(features, sizeof(T)), pattern, weights);
  std::ranges::make_heap(others, further);
  if (reading == Reading::all) read_nearest(others);
  for (double counted = 0; !others.empty() && counted < most_neighbours; others.pop_back()) {
    std::ranges::pop_heap(others, further);
    const auto& neighbour = others.back();
    if (reading == Reading::none && !past_.contains(neighbour.matrix)) {
      near.lacks_neighbours_ = true;
      counted += counts(neighbour.matrix);
      continue;
    }
    const auto& known = past(neighbour.matrix);
    if (known.ratios.empty()) continue;
    counted += counts(neighbour.matrix);
    near.neighbours_.push_back(neighbour);
    near.neighbours_.back().label = known.label;
    near.neighbours_.back().device = points_.environments[points_.points[neighbour.matrix].environment].key.device;
    by_format.resize(tried_.size());
    of_siblings.resize(tried_.size());
    auto& sums = is_sibling(neighbour.matrix) ? of_siblings : by_format;
    for (const auto& ratio : known.ratios) add(ratio, neighbour, sums[ratio.format]);
  }
  add_siblings(by_format, of_siblings);
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
    for (const auto& sums : of_format.of_params) of_format.params.add(*sums.params);
    near.formats_.emplace(tried_[f].format, std::move(of_format));
  }
  near.unknown_.log_time = median(times);
  near.unknown_.log_setup = median(setups);
  return near;
}

// With mutex_ held. Those that will be asked for, as far as they are not known yet: found together, for each question
// of a file takes its time, and unpacked by every thread.
template <class T>
void History<T>::read_nearest(const std::vector<Predictor::Neighbour>& others) const {
  std::vector<Predictor::Neighbour> nearest(std::min(most_neighbours, others.size()));
  std::ranges::partial_sort_copy(others, nearest, [](const auto& a, const auto& b) { return further(b, a); });
  std::vector<std::size_t> unread;
  double counted = 0;
  for (const auto& neighbour : nearest) {
    if (counted >= most_neighbours) break;
    counted += counts(neighbour.matrix);
    if (!past_.contains(neighbour.matrix)) unread.push_back(neighbour.matrix);
  }
  if (unread.empty()) return;
  const auto known = known_(points_, unread);
  std::vector<ReadMatrix> read(unread.size());
  const auto count = static_cast<std::int64_t>(unread.size());
  parallel_parts(count * work_of_matrix, count, [&](std::int64_t at) {
    const auto index = static_cast<std::size_t>(at);
    read[index] = this->read(unread[index], known[index]());
  });
  for (std::size_t i = 0; i < unread.size(); ++i) keep(unread[i], read[i]);
}

// How fast another device is says nothing of this one. The order that it gave is put where this device is, by the
// candidates that both have tried near by.
template <class T>
void History<T>::add_siblings(std::vector<Predictor::FormatSums>& own,
                              std::vector<Predictor::FormatSums>& of_siblings) {
  const auto for_both = [&](const auto& take) {
    for (std::size_t f = 0; f < own.size(); ++f) {
      auto& here = own[f].of_params;
      auto& there = of_siblings[f].of_params;
      here.resize(std::max(here.size(), there.size()));
      for (std::size_t choice = 0; choice < there.size(); ++choice) take(here[choice], there[choice]);
    }
  };
  double weight = 0;
  double time = 0;
  double setup = 0;
  for_both([&](const Predictor::Sums& here, const Predictor::Sums& there) {
    if (here.weight == 0 || there.weight == 0) return;
    weight += here.weight;
    time += here.log_time - here.weight * there.log_time / there.weight;
    setup += here.log_setup - here.weight * there.log_setup / there.weight;
  });
  if (weight > 0) {
    time /= weight;
    setup /= weight;
  }
  for_both([&](Predictor::Sums& here, const Predictor::Sums& there) {
    if (there.weight == 0) return;
    here.params = there.params;
    here.weight += there.weight;
    here.square += there.square + 2 * time * there.log_time + time * time * there.weight;
    here.log_time += there.log_time + time * there.weight;
    here.log_setup += there.log_setup + setup * there.weight;
  });
  for (std::size_t f = 0; f < own.size(); ++f) {
    if (own[f].tier == Tier::model) own[f].tier = of_siblings[f].tier;
  }
}

template <class T>
bool History<T>::prefetch() const {
  Known known;
  std::size_t next = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (past_.size() == matrices()) {
      known_ = nullptr;
      return false;
    }
    if (past_.size() >= most_prefetched) return false;
    while (past_.contains(next)) ++next;
    known = known_;
  }
  // Who asks for neighbours meanwhile does not wait.
  const auto one = read(next, known(points_, std::span(&next, 1)).front()());
  const std::scoped_lock lock(mutex_);
  if (!past_.contains(next)) keep(next, one);
  return true;
}

template <class T>
bool History<T>::complete() const {
  const std::scoped_lock lock(mutex_);
  return known_ == nullptr;
}

// With mutex_ held.
template <class T>
const typename History<T>::PastMatrix& History<T>::past(std::size_t matrix) const {
  const auto at = past_.find(matrix);
  return at != past_.end() ? at->second : keep(matrix, read(matrix, known_(points_, std::span(&matrix, 1)).front()()));
}

template <class T>
typename History<T>::ReadMatrix History<T>::read(std::size_t matrix, KnownMatrix known) const {
  ReadMatrix read;
  const auto features = known.matrix ? features_of_record(known.matrix->features) : std::nullopt;
  if (!features) return read;
  read.label = std::move(known.matrix->label);
  const double csr_bytes = formats::csr_bytes<T>(features->rows, features->nnz);
  read.trials = std::move(known.passed);
  read.ratios.reserve(read.trials.size());
  for_each_cost<T>(read.trials, *features, device_, [&](const TrialRecord& trial, const Cost& cost) {
    const auto& m = trial.measurement;
    const double setup = model_.conversion_seconds(cost, csr_bytes);
    const bool converts = setup > 0 && m.setup_seconds > 0;
    read.ratios.push_back({&trial.candidate, std::log(m.warm.median / model_.product_seconds(cost)),
                           converts ? std::log(m.setup_seconds / setup) : 0});
  });
  if (is_sibling(matrix)) take_order_only(read.ratios);
  return read;
}

template <class T>
void History<T>::take_order_only(std::vector<ReadRatio>& ratios) {
  std::vector<double> times;
  times.reserve(ratios.size());
  for (const auto& ratio : ratios) times.push_back(ratio.log_time);
  const double common = median(times);
  for (auto& ratio : ratios) {
    ratio.log_time -= common;
    if (ratio.log_setup != 0) ratio.log_setup -= common;
  }
}

// With mutex_ held.
template <class T>
const typename History<T>::PastMatrix& History<T>::keep(std::size_t matrix, const ReadMatrix& read) const {
  PastMatrix known{read.label, {}};
  known.ratios.reserve(read.ratios.size());
  std::size_t format = 0;
  for (const auto& one : read.ratios) {
    // Those of one format mostly follow each other.
    if (format == tried_.size() || tried_[format].format != one.candidate->format) {
      format = index_of(one.candidate->format);
    }
    auto& index = tried_[format].index;
    const auto choice = index.try_emplace(one.candidate->params, index.size()).first;
    known.ratios.push_back({format, choice->second, &choice->first, one.log_time, one.log_setup});
  }
  return past_.insert_or_assign(matrix, std::move(known)).first->second;
}

template <class T>
std::size_t History<T>::index_of(const std::string& format) const {
  const auto known = std::ranges::find(tried_, format, &TriedParams::format);
  const auto index = static_cast<std::size_t>(known - tried_.begin());
  if (known == tried_.end()) tried_.push_back({format, {}});
  return index;
}

template <class T>
void History<T>::add(const LogRatio& ratio, const Predictor::Neighbour& neighbour,
                     Predictor::FormatSums& of_format) const {
  if (of_format.tier == Tier::model) {
    of_format.tier = is_sibling(neighbour.matrix) ? Tier::sibling : Tier::neighbour;
  }
  if (of_format.of_params.size() <= ratio.choice) of_format.of_params.resize(ratio.choice + 1);
  auto& sums = of_format.of_params[ratio.choice];
  sums.params = ratio.params;
  sums.weight += neighbour.weight;
  sums.log_time += neighbour.weight * ratio.log_time;
  sums.square += neighbour.weight * ratio.log_time * ratio.log_time;
  sums.log_setup += neighbour.weight * ratio.log_setup;
}

template const PointMaker& point_maker<float>();
template const PointMaker& point_maker<double>();
template class History<float>;
template class History<double>;

}  // namespace autospmv
