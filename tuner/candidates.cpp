#include "tuner/candidates.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "core/parallel.hpp"
#include "formats/common/rules.hpp"

namespace autospmv {

namespace {

template <class T>
Prospect make_prospect(const Format<T>& format, const Params& params, int rank, const Features& features,
                       const Device& device, const Predictor<T>& predictor) {
  const auto& info = format.info();
  Prospect prospect;
  prospect.rank = rank;
  prospect.candidate = {info.name, params};
  prospect.format_version = info.version;
  prospect.deterministic = format.deterministic(params, device);
  prospect.baseline = info.baseline;
  const auto cost = format.predict(features, params, device);
  if (cost) {
    prospect.cost = *cost;
    const double csr_bytes = formats::csr_bytes<T>(features.rows, features.nnz);
    prospect.prediction = predictor.predict(info.name, params, *cost, csr_bytes);
  } else {
    prospect.refusal = cost.reason();
  }
  return prospect;
}

bool runs_on(const FormatInfo& info, Backend backend) {
  return std::find(info.backends.begin(), info.backends.end(), backend) != info.backends.end();
}

// As much as so many nonzeros: enough for several threads.
constexpr std::int64_t work_of_predictions = 1 << 20;

// The best of many predictions has mostly been lucky: the smallest of n errors lies about sqrt(2 log n) standard
// deviations below their mean. Errors within a format resemble each other, so that less of it counts: how much was
// searched for by replaying exhaustive runs of 147 matrices on an H200, each predicted from all others.
constexpr double luck = 0.3;

// By how many standard deviations an estimate of a format with so many candidates counts as slower than expected.
double caution(int candidates) { return luck * std::sqrt(2 * std::log1p(candidates)); }

}  // namespace

template <class T>
std::vector<Prospect> all_prospects(const Features& features, const Device& device, const Predictor<T>& predictor) {
  // Hundreds of candidates are predicted while a product takes microseconds: every thread takes its formats.
  const auto formats = all_formats<T>();
  std::vector<std::vector<Prospect>> by_format(formats.size());
  std::atomic<std::size_t> next = 0;
  parallel_region(work_of_predictions, [&](int /*thread*/, int /*threads*/) {
    for (auto f = next++; f < formats.size(); f = next++) {
      if (!runs_on(formats[f]->info(), device.backend)) continue;
      int rank = 0;
      for (const auto& params : formats[f]->params(features, device).combinations()) {
        by_format[f].push_back(make_prospect(*formats[f], params, rank++, features, device, predictor));
      }
    }
  });
  std::vector<Prospect*> order;
  for (auto& of_format : by_format) {
    for (auto& prospect : of_format) order.push_back(&prospect);
  }
  std::stable_sort(order.begin(), order.end(), [](const Prospect* a, const Prospect* b) {
    if (a->admitted() != b->admitted()) return a->admitted();
    if (a->prediction.seconds != b->prediction.seconds) return a->prediction.seconds < b->prediction.seconds;
    return a->baseline && !b->baseline;  // what is no better than plain CSR comes after it
  });
  std::vector<Prospect> prospects;
  prospects.reserve(order.size());
  for (auto* prospect : order) prospects.push_back(std::move(*prospect));
  return prospects;
}

double predicted_total(const Prospect& prospect, const Limits& limits) {
  return prospect.prediction.setup_seconds + static_cast<double>(limits.expected_calls) * prospect.prediction.seconds;
}

std::vector<const Prospect*> by_estimate(const std::vector<Prospect>& prospects, const Limits& limits,
                                         std::int64_t csr_bytes) {
  const double most_bytes = limits.memory_factor * static_cast<double>(csr_bytes);
  std::map<std::string_view, int> candidates;
  for (const auto& prospect : prospects) {
    // The cost model says nothing of how far it may be off.
    const bool is_known = prospect.admitted() && prospect.prediction.tier != Tier::model;
    candidates[prospect.candidate.format] += is_known ? 1 : 0;
  }
  std::map<std::string_view, double> cautions;
  for (const auto& [format, count] : candidates) cautions.emplace(format, caution(count));
  std::vector<std::pair<double, const Prospect*>> ranked;
  for (const auto& prospect : prospects) {
    const bool allowed = prospect.admitted() && !prospect.doubted &&
                         (prospect.deterministic || !limits.deterministic) &&
                         !(prospect.cost.storage_bytes > most_bytes);
    if (!allowed) continue;
    const auto& prediction = prospect.prediction;
    const double seconds = prediction.seconds * std::exp(cautions.at(prospect.candidate.format) * prediction.deviation);
    ranked.emplace_back(prediction.setup_seconds + static_cast<double>(limits.expected_calls) * seconds, &prospect);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const Prospect*> chosen;
  chosen.reserve(ranked.size());
  for (const auto& one : ranked) chosen.push_back(one.second);
  return chosen;
}

const Prospect& fallback_prospect(const std::vector<Prospect>& prospects, const Limits& limits) {
  const auto first = [&](const auto& suits) {
    return std::find_if(prospects.begin(), prospects.end(), [&](const Prospect& prospect) {
      const bool wanted = prospect.deterministic || !limits.deterministic;
      return wanted && prospect.cost.storage_bytes == 0 && suits(prospect);
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

template <class T>
Prospect blind_fallback_prospect(const CsrView<T>& matrix, std::int64_t longest_row, const Device& device,
                                 const Limits& limits) {
  // It only has to put kernels in order that all move the bytes of plain CSR.
  constexpr double any_bandwidth = 1e11;
  const Predictor<T> predictor(CostModel(device, any_bandwidth, default_coefficients(device.backend)));
  const auto features = featureless(matrix.rows, matrix.cols, matrix.nnz, longest_row);
  return fallback_prospect(all_prospects<T>(features, device, predictor), limits);
}

template <class T>
Prospect first_baseline(const Device& device) {
  const auto formats = all_formats<T>();
  const auto* const format = *std::find_if(formats.begin(), formats.end(), [&](const Format<T>* one) {
    return one->info().baseline && runs_on(one->info(), device.backend);
  });
  Prospect prospect;
  prospect.candidate = {format->info().name, format->params(Features{}, device).combinations().front()};
  prospect.format_version = format->info().version;
  prospect.deterministic = format->deterministic(prospect.candidate.params, device);
  prospect.baseline = true;
  return prospect;
}

template Prospect first_baseline<float>(const Device&);
template Prospect first_baseline<double>(const Device&);
template std::vector<Prospect> all_prospects(const Features&, const Device&, const Predictor<float>&);
template std::vector<Prospect> all_prospects(const Features&, const Device&, const Predictor<double>&);
template Prospect blind_fallback_prospect(const CsrView<float>&, std::int64_t, const Device&, const Limits&);
template Prospect blind_fallback_prospect(const CsrView<double>&, std::int64_t, const Device&, const Limits&);

}  // namespace autospmv
