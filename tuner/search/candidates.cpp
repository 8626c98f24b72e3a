#include "tuner/search/candidates.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "formats/sizes.hpp"
#include "tuner/search/plain_csr.hpp"

namespace autospmv {

namespace {

// Nothing is expected of it.
template <class T>
Prospect unpredicted(const Format<T>& format, const Params& params, const Device& device) {
  const auto& info = format.info();
  Prospect prospect;
  prospect.candidate = {info.name, params};
  prospect.format_version = info.version;
  prospect.deterministic = format.deterministic(params, device);
  prospect.capturable = format.capturable(params, device);
  prospect.baseline = info.baseline;
  return prospect;
}

template <class T>
Prospect make_prospect(const Format<T>& format, const Result<Cost>& cost, const Params& params, int rank,
                       const Features& features, const Device& device, const Predictor& predictor) {
  auto prospect = unpredicted(format, params, device);
  prospect.rank = rank;
  if (cost) {
    prospect.cost = *cost;
    const double csr_bytes = formats::csr_bytes<T>(features.rows, features.nnz);
    prospect.prediction = predictor.predict(prospect.candidate.format, params, *cost, csr_bytes);
  } else {
    prospect.refusal = cost.reason();
  }
  return prospect;
}

// A format and the parameters of its candidates, in its own order.
template <class T>
struct Considered {
  const Format<T>* format;
  std::vector<FormatChoice> named;  ///< none: those that the format offers

  [[nodiscard]] std::vector<Params> params(const Features& features, const Device& device, Choices choices) const {
    const auto offered = format->params(features, device);
    if (named.empty()) return offered.combinations(choices);
    std::vector<Params> all;
    for (const auto& choice : named) {
      for (const auto& params : choice.space(offered).combinations()) {
        if (std::find(all.begin(), all.end(), params) == all.end()) all.push_back(params);
      }
    }
    return all;
  }
};

// By how many standard deviations an estimate of a format with so many candidates counts as slower than expected. The
// best of many predictions has mostly been underestimated (selection bias): the smallest of n errors lies about
// sqrt(2 log n) standard deviations below their mean. Errors within a format resemble each other, so that less of it
// counts.
double deviations_added(int candidates, const Weights& weights) {
  return weights.selection_bias * std::sqrt(2 * std::log1p(candidates));
}

bool comes_before(const Prospect& a, const Prospect& b) {
  if (a.admitted() != b.admitted()) return a.admitted();
  if (a.prediction.seconds != b.prediction.seconds) return a.prediction.seconds < b.prediction.seconds;
  return a.baseline && !b.baseline;  // what is no better than plain CSR comes after it
}

template <class T>
std::vector<Prospect> prospects_among(std::span<const Considered<T>> considered, const Features& features,
                                      const Device& device, const Predictor& predictor, Choices choices) {
  // On one thread: to wake others takes as long as all of them together would save.
  constexpr std::size_t expected = 512;
  std::vector<Prospect> all;
  all.reserve(expected);
  for (const auto& of_format : considered) {
    const auto& format = *of_format.format;
    if (!format.info().runs_on(device.backend)) continue;
    typename Format<T>::Costs costs(format, device);
    const bool offered = of_format.named.empty();
    for (int rank = 0; const auto& params : of_format.params(features, device, choices)) {
      const auto cost = offered ? costs.predict_offered(features, params) : costs.predict(features, params);
      all.push_back(make_prospect(format, cost, params, rank++, features, device, predictor));
    }
  }
  // By pointers, which are moved more quickly.
  std::vector<Prospect*> order;
  order.reserve(all.size());
  for (auto& prospect : all) order.push_back(&prospect);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return comes_before(*a, *b); });
  std::vector<Prospect> prospects;
  prospects.reserve(order.size());
  for (auto* prospect : order) prospects.push_back(std::move(*prospect));
  return prospects;
}

}  // namespace

TrialRecord untried(const Prospect& prospect) {
  return {prospect.candidate, prospect.format_version, prospect.deterministic, {}, prospect.capturable};
}

template <class T>
TrialRecord as_format_says(TrialRecord trial, const Device& device) {
  const auto* format = find_format<T>(trial.candidate.format);
  trial.deterministic = format != nullptr && format->deterministic(trial.candidate.params, device);
  trial.capturable = format != nullptr && format->capturable(trial.candidate.params, device);
  return trial;
}

template <class T>
Prospect tried_prospect(const TrialRecord& trial, const Device& device) {
  const auto said = as_format_says<T>(trial, device);
  const auto& measurement = trial.measurement;
  Prospect prospect;
  prospect.candidate = said.candidate;
  prospect.format_version = said.format_version;
  prospect.deterministic = said.deterministic;
  prospect.capturable = said.capturable;
  prospect.cost.storage_bytes = static_cast<double>(measurement.bytes);
  prospect.prediction = {measurement.warm.median, measurement.setup_seconds, 0, Tier::trial};
  return prospect;
}

template <class T>
std::vector<Prospect> all_prospects(const Features& features, const Device& device, const Predictor& predictor,
                                    std::span<const FormatChoice> only, Choices choices) {
  std::vector<Considered<T>> considered;
  for (const auto* format : all_formats<T>()) {
    if (only.empty() && choices != Choices::all && !format->info().is_offered_on(device.backend)) continue;
    Considered<T> of_format{format, {}};
    std::copy_if(only.begin(), only.end(), std::back_inserter(of_format.named),
                 [&](const FormatChoice& choice) { return choice.format == format->info().name; });
    if (only.empty() || !of_format.named.empty()) considered.push_back(std::move(of_format));
  }
  return prospects_among<T>(considered, features, device, predictor, choices);
}

template <class T>
void include(std::vector<Prospect>& prospects, const Candidate& candidate, const Features& features,
             const Device& device, const Predictor& predictor) {
  const bool there = std::any_of(prospects.begin(), prospects.end(),
                                 [&](const Prospect& prospect) { return prospect.candidate == candidate; });
  const auto* const format = find_format<T>(candidate.format);
  if (there || format == nullptr) return;
  const auto cost = format->predict(features, candidate.params, device);
  prospects.push_back(make_prospect(*format, cost, candidate.params, 0, features, device, predictor));
}

template <class T>
void predict_anew(std::vector<Prospect>& prospects, const Features& features, const Predictor& predictor) {
  const double csr_bytes = formats::csr_bytes<T>(features.rows, features.nnz);
  for (auto& one : prospects) {
    if (!one.admitted()) continue;
    one.prediction = predictor.predict(one.candidate.format, one.candidate.params, one.cost, csr_bytes);
  }
  std::stable_sort(prospects.begin(), prospects.end(), comes_before);
}

template <class T>
void take_known(std::vector<Prospect>& prospects, std::span<const TrialRecord> trials, const Device& device,
                std::span<const FormatChoice> only) {
  for (const auto& trial : trials) {
    auto prospect = std::find_if(prospects.begin(), prospects.end(),
                                 [&](const Prospect& one) { return one.candidate == trial.candidate; });
    const auto& measurement = trial.measurement;
    if (is_timed(measurement)) {
      if (prospect == prospects.end()) {
        if (!is_among(trial.candidate, only)) continue;
        prospect = prospects.insert(prospect, tried_prospect<T>(trial, device));
      }
      const auto& warm = measurement.warm;
      const double spread = (warm.high_quartile - warm.low_quartile) / 2 / warm.median;
      prospect->prediction = {warm.median, measurement.setup_seconds, std::log1p(spread), Tier::trial};
    } else if (prospect != prospects.end() &&
               (measurement.outcome == Outcome::wrong_answer || measurement.outcome == Outcome::failed)) {
      prospect->doubted = true;
    }
  }
}

std::vector<Estimate> estimates_of(const std::vector<Prospect>& prospects, const Limits& limits, std::int64_t csr_bytes,
                                   const Weights& weights) {
  std::map<std::string_view, int> candidates;
  for (const auto& prospect : prospects) {
    // The cost model says nothing of how far it may be off.
    const bool is_known = prospect.admitted() && prospect.prediction.tier != Tier::model;
    candidates[prospect.candidate.format] += is_known ? 1 : 0;
  }
  std::map<std::string_view, double> added;
  for (const auto& [format, count] : candidates) added.emplace(format, deviations_added(count, weights));
  std::vector<Estimate> ranked;
  for (const auto& prospect : prospects) {
    const bool allowed = prospect.admitted() && !prospect.doubted && limit_against(prospect, limits).empty() &&
                         !exceeds_memory(prospect.cost.storage_bytes, csr_bytes, limits);
    if (!allowed) continue;
    const auto& prediction = prospect.prediction;
    const double seconds = prediction.seconds * std::exp(added.at(prospect.candidate.format) * prediction.deviation);
    ranked.push_back({total_seconds(prediction.setup_seconds, seconds, limits), &prospect});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return ranked;
}

std::vector<const Prospect*> by_estimate(const std::vector<Prospect>& prospects, const Limits& limits,
                                         std::int64_t csr_bytes, const Weights& weights) {
  const auto ranked = estimates_of(prospects, limits, csr_bytes, weights);
  std::vector<const Prospect*> chosen;
  chosen.reserve(ranked.size());
  for (const auto& one : ranked) chosen.push_back(one.prospect);
  return chosen;
}

const Prospect& fallback_prospect(const std::vector<Prospect>& prospects, const Limits& limits) {
  const auto first = [&](const auto& suits) {
    return std::find_if(prospects.begin(), prospects.end(), [&](const Prospect& prospect) {
      return limit_against(prospect, limits).empty() && prospect.cost.storage_bytes == 0 && suits(prospect);
    });
  };
  // Plain CSR refuses no matrix and is deterministic, so there always is one, though it may be doubted.
  const auto trusted = first([](const Prospect& prospect) { return prospect.admitted() && !prospect.doubted; });
  if (trusted != prospects.end()) return *trusted;
  return *first([](const Prospect& prospect) { return prospect.admitted() || prospect.doubted; });
}

namespace {

// From the mean length to the longest by a power law: each doubling leaves the same share of the rows, until one is
// left.
void spread_rows(Features& features) {
  const auto bin_of = [](std::int64_t npr) {
    return std::min<std::size_t>(std::bit_width(static_cast<std::uint64_t>(npr)), npr_bins - 1);
  };
  const auto first = bin_of(features.npr_percentile.front());
  const auto last = bin_of(features.npr_max);
  const auto rows = static_cast<double>(features.rows);
  const double share = first < last ? std::pow(rows, -1 / static_cast<double>(last - first)) : 0;
  double left = rows;
  for (auto bin = first; bin <= last; ++bin) {
    const double longer = bin < last ? share * left : 0;
    features.npr_histogram[bin] = std::llround(left - longer);
    left = longer;
    if (bin == first) continue;
    const double length = std::min(std::ldexp(1.0, static_cast<int>(bin)), static_cast<double>(features.npr_max));
    const double beyond = length - features.npr_mean;
    features.npr_variance += static_cast<double>(features.npr_histogram[bin]) * beyond * beyond / rows;
  }
}

}  // namespace

Features featureless(std::int64_t rows, std::int64_t cols, std::int64_t nnz, std::int64_t longest_row) {
  Features features;
  features.rows = rows;
  features.cols = cols;
  features.nnz = nnz;
  if (rows == 0 || nnz == 0) return features;
  const std::int64_t length = (nnz + rows - 1) / rows;
  features.npr_mean = static_cast<double>(nnz) / static_cast<double>(rows);
  features.npr_min = nnz / rows;
  features.npr_max = std::max(length, longest_row);
  features.npr_percentile.fill(length);
  spread_rows(features);
  features.diagonals = diagonals_cap + 1;
  features.lower_bandwidth = rows - 1;
  features.upper_bandwidth = cols - 1;
  features.sorted_columns = false;
  for (std::size_t i = 0; i < block_sizes.size(); ++i) features.block_fill[i] = 1.0 / (block_sizes[i] * block_sizes[i]);
  features.ell_padding = static_cast<double>(rows) * static_cast<double>(features.npr_max) / static_cast<double>(nnz);
  features.sliced_ell_padding.fill(1);
  features.slice_span_mean = static_cast<double>(cols - 1);
  features.slice_span_max = cols - 1;
  features.slice_diagonals_mean = slice_diagonals_cap + 1;
  features.distinct_values = distinct_values_cap + 1;
  return features;
}

Features ordinary_features() { return featureless(1 << 16, 1 << 16, 1 << 20, 1 << 5); }

namespace {

// The formats that need no conversion of some matrix: plain CSR's, and others that read its arrays as they are.
template <class T>
std::vector<Considered<T>> unconverting_formats(const Device& device) {
  const Features features = ordinary_features();
  std::vector<Considered<T>> found;
  for (const auto* format : all_formats<T>()) {
    if (!format->info().runs_on(device.backend)) continue;
    const auto all = format->params(features, device).combinations();
    const bool reads_csr = std::any_of(all.begin(), all.end(), [&](const Params& params) {
      const auto cost = format->predict(features, params, device);
      return cost.admitted() && cost->storage_bytes == 0;
    });
    if (reads_csr || format->info().baseline) found.push_back({format, {}});
  }
  return found;
}

// Those of the host, looked for once.
template <class T>
const std::vector<Considered<T>>& known_unconverting_formats(const Device& device) {
  static const auto formats = unconverting_formats<T>(device);
  return formats;
}

template <class T>
Prospect plain_csr_on_gpu(const CsrView<T>& matrix, std::int64_t longest_row, const Device& device,
                          const Limits& limits) {
  const RowLengths lengths{matrix.rows, matrix.nnz, longest_row};
  const auto unpredicted_of = [&](const Candidate& candidate) {
    return unpredicted(*find_format<T>(candidate.format), candidate.params, device);
  };
  if (lengths.are_skewed()) {
    auto prospect = unpredicted_of(csr_by_shares<T>(lengths, device));
    // It stores less than the matrix does, so that few limits forbid it: what it predicts would take as long as the
    // rest of the choice.
    if (limits.memory_factor >= 1) return prospect;
    const auto features = featureless(matrix.rows, matrix.cols, matrix.nnz, longest_row);
    const auto& [format, params] = prospect.candidate;
    const auto cost = find_format<T>(format)->predict(features, params, device);
    if (cost && !exceeds_memory(cost->storage_bytes, matrix.bytes(), limits)) return prospect;
  }
  return unpredicted_of(csr_by_rows<T>(lengths, device));
}

}  // namespace

template <class T>
Prospect blind_fallback_prospect(const CsrView<T>& matrix, std::int64_t longest_row, const Device& device,
                                 const Limits& limits) {
  if (device.backend == Backend::cuda) return plain_csr_on_gpu(matrix, longest_row, device, limits);
  // It only has to put kernels in order that all move the bytes of plain CSR.
  const auto predictor = blind_predictor(device);
  const auto features = featureless(matrix.rows, matrix.cols, matrix.nnz, longest_row);
  const auto& formats = known_unconverting_formats<T>(device);
  return fallback_prospect(prospects_among<T>(formats, features, device, predictor, Choices::likely), limits);
}

template <class T>
Prospect first_baseline(const Device& device) {
  const auto formats = all_formats<T>();
  const auto* const format = *std::find_if(formats.begin(), formats.end(), [&](const Format<T>* one) {
    return one->info().baseline && one->info().runs_on(device.backend);
  });
  return unpredicted(*format, format->params(Features{}, device).combinations().front(), device);
}

#define AUTOSPMV_CANDIDATES(T)                                                                       \
  template Prospect first_baseline<T>(const Device&);                                                \
  template TrialRecord as_format_says<T>(TrialRecord, const Device&);                                \
  template Prospect tried_prospect<T>(const TrialRecord&, const Device&);                            \
  template void take_known<T>(std::vector<Prospect>&, std::span<const TrialRecord>, const Device&,   \
                              std::span<const FormatChoice>);                                        \
  template std::vector<Prospect> all_prospects<T>(const Features&, const Device&, const Predictor&,  \
                                                  std::span<const FormatChoice>, Choices);           \
  template void include<T>(std::vector<Prospect>&, const Candidate&, const Features&, const Device&, \
                           const Predictor&);                                                        \
  template void predict_anew<T>(std::vector<Prospect>&, const Features&, const Predictor&);          \
  template Prospect blind_fallback_prospect(const CsrView<T>&, std::int64_t, const Device&, const Limits&);
AUTOSPMV_CANDIDATES(float)
AUTOSPMV_CANDIDATES(double)
#undef AUTOSPMV_CANDIDATES

}  // namespace autospmv
