#include "tuner/candidates.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "formats/common/rules.hpp"

namespace autospmv {

namespace {

template <class T>
Prospect make_prospect(const Format<T>& format, const Params& params, const Features& features, const Device& device,
                       const Predictor<T>& predictor) {
  const auto& info = format.info();
  Prospect prospect;
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

// By how many standard deviations an estimate counts as slower than expected. From replaying exhaustive runs, each
// matrix predicted from the others: without it, the worst choice took twice as long.
constexpr double caution = 0.3;

}  // namespace

template <class T>
std::vector<Prospect> all_prospects(const Features& features, const Device& device, const Predictor<T>& predictor) {
  std::vector<Prospect> prospects;
  for (const auto* format : all_formats<T>()) {
    if (!runs_on(format->info(), device.backend)) continue;
    for (const auto& params : format->params(features, device).combinations()) {
      prospects.push_back(make_prospect(*format, params, features, device, predictor));
    }
  }
  std::stable_sort(prospects.begin(), prospects.end(), [](const Prospect& a, const Prospect& b) {
    if (a.admitted() != b.admitted()) return a.admitted();
    if (a.prediction.seconds != b.prediction.seconds) return a.prediction.seconds < b.prediction.seconds;
    return a.baseline && !b.baseline;  // what is no better than plain CSR comes after it
  });
  return prospects;
}

double predicted_total(const Prospect& prospect, const Limits& limits) {
  return prospect.prediction.setup_seconds + static_cast<double>(limits.expected_calls) * prospect.prediction.seconds;
}

std::vector<Prospect> by_estimate(std::vector<Prospect> prospects, const Limits& limits, std::int64_t csr_bytes) {
  const double most_bytes = limits.memory_factor * static_cast<double>(csr_bytes);
  std::erase_if(prospects, [&](const Prospect& prospect) {
    return !prospect.admitted() || (limits.deterministic && !prospect.deterministic) ||
           prospect.cost.storage_bytes > most_bytes;
  });
  for (auto& prospect : prospects) prospect.prediction.seconds *= std::exp(caution * prospect.prediction.deviation);
  std::stable_sort(prospects.begin(), prospects.end(), [&](const Prospect& a, const Prospect& b) {
    return predicted_total(a, limits) < predicted_total(b, limits);
  });
  return prospects;
}

const Prospect& fallback_prospect(const std::vector<Prospect>& prospects, const Limits& limits) {
  // Plain CSR refuses no matrix and is deterministic, so there always is one.
  return *std::find_if(prospects.begin(), prospects.end(), [&](const Prospect& prospect) {
    const bool wanted = prospect.deterministic || !limits.deterministic;
    return prospect.admitted() && wanted && prospect.cost.storage_bytes == 0;
  });
}

Features featureless(std::int64_t rows, std::int64_t cols, std::int64_t nnz) {
  Features features;
  features.rows = rows;
  features.cols = cols;
  features.nnz = nnz;
  if (rows == 0 || nnz == 0) return features;
  const std::int64_t length = (nnz + rows - 1) / rows;
  features.npr_mean = static_cast<double>(nnz) / static_cast<double>(rows);
  features.npr_min = nnz / rows;
  features.npr_max = length;
  features.npr_percentile.fill(length);
  const auto bin = std::min<std::size_t>(std::bit_width(static_cast<std::uint64_t>(length)), npr_bins - 1);
  features.npr_histogram[bin] = rows;
  features.diagonals = diagonals_cap + 1;
  features.lower_bandwidth = rows - 1;
  features.upper_bandwidth = cols - 1;
  features.sorted_columns = false;
  for (std::size_t i = 0; i < block_sizes.size(); ++i) features.block_fill[i] = 1.0 / (block_sizes[i] * block_sizes[i]);
  features.ell_padding = 1;
  features.sliced_ell_padding.fill(1);
  features.slice_span_mean = static_cast<double>(cols - 1);
  features.slice_span_max = cols - 1;
  features.distinct_values = distinct_values_cap + 1;
  return features;
}

template <class T>
Prospect blind_fallback_prospect(const CsrView<T>& matrix, const Device& device, const Limits& limits) {
  // It only has to put kernels in order that all move the bytes of plain CSR.
  constexpr double any_bandwidth = 1e11;
  const Predictor<T> predictor(CostModel(device, any_bandwidth, default_coefficients(device.backend)));
  const auto features = featureless(matrix.rows, matrix.cols, matrix.nnz);
  return fallback_prospect(all_prospects<T>(features, device, predictor), limits);
}

template std::vector<Prospect> all_prospects(const Features&, const Device&, const Predictor<float>&);
template std::vector<Prospect> all_prospects(const Features&, const Device&, const Predictor<double>&);
template Prospect blind_fallback_prospect(const CsrView<float>&, const Device&, const Limits&);
template Prospect blind_fallback_prospect(const CsrView<double>&, const Device&, const Limits&);

}  // namespace autospmv
