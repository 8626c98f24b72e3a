#include "tuner/candidates.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <utility>

#include "formats/common/ranking.hpp"

namespace autospmv {

namespace {

// What a kernel costs beside its bytes, in a replayed graph.
double launch_seconds(const Device& device) { return device.backend == Backend::cuda ? 1.5e-6 : 2e-6; }

// It only has to rank: trials decide.
double predicted(const Cost& cost, const Device& device, double bandwidth) {
  return cost.launches * launch_seconds(device) + stretched_bytes(cost) / bandwidth;
}

template <class T>
Prospect make_prospect(const Format<T>& format, const Params& params, int rank, const Features& features,
                       const Device& device, double bandwidth) {
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
    prospect.predicted_seconds = predicted(*cost, device, bandwidth);
  } else {
    prospect.refusal = cost.reason();
  }
  return prospect;
}

bool runs_on(const FormatInfo& info, Backend backend) {
  return std::find(info.backends.begin(), info.backends.end(), backend) != info.backends.end();
}

// A prediction this much worse than the best one of all is not worth a trial; so many of a format are tried.
constexpr double hopeless_factor = 2.5;
constexpr std::size_t most_of_a_format = 5;

// And so many of all formats: the best of each comes before the second best of any.
constexpr std::size_t most_of_all = 40;

// The hopeful prospects of one format, which come by prediction.
std::vector<Prospect> short_list(std::vector<Prospect> of_format, double best) {
  const double limit = std::min(hopeless_factor * best, alike_factor * of_format.front().predicted_seconds);
  std::erase_if(of_format,
                [&](const Prospect& prospect) { return !prospect.baseline && prospect.predicted_seconds > limit; });
  std::stable_sort(of_format.begin(), of_format.end(),
                   [](const Prospect& a, const Prospect& b) { return a.rank < b.rank; });
  if (of_format.size() > most_of_a_format) of_format.resize(most_of_a_format);
  return of_format;
}

}  // namespace

template <class T>
std::vector<Prospect> all_prospects(const Features& features, const Device& device, double bandwidth) {
  std::vector<Prospect> prospects;
  for (const auto* format : all_formats<T>()) {
    if (!runs_on(format->info(), device.backend)) continue;
    int rank = 0;
    for (const auto& params : format->params(features, device).combinations()) {
      prospects.push_back(make_prospect(*format, params, rank++, features, device, bandwidth));
    }
  }
  std::stable_sort(prospects.begin(), prospects.end(), [](const Prospect& a, const Prospect& b) {
    if (a.admitted() != b.admitted()) return a.admitted();
    if (a.predicted_seconds != b.predicted_seconds) return a.predicted_seconds < b.predicted_seconds;
    return a.baseline && !b.baseline;  // what is no better than plain CSR comes after it
  });
  return prospects;
}

std::vector<Prospect> chosen_prospects(const std::vector<Prospect>& prospects, Effort effort, const Limits& limits) {
  std::vector<Prospect> chosen;
  if (effort == Effort::cached || prospects.empty()) return chosen;
  std::map<std::string, std::vector<Prospect>> by_format;
  for (const auto& prospect : prospects) {
    const bool wanted = prospect.deterministic || !limits.deterministic || prospect.baseline;
    if (prospect.admitted() && wanted) by_format[prospect.candidate.format].push_back(prospect);
  }
  const double best = prospects.front().predicted_seconds;
  std::map<std::size_t, std::vector<Prospect>> by_turn;
  for (auto& [format, of_format] : by_format) {
    auto list = effort == Effort::exhaustive ? std::move(of_format) : short_list(std::move(of_format), best);
    for (std::size_t turn = 0; turn < list.size(); ++turn) by_turn[turn].push_back(std::move(list[turn]));
  }
  for (auto& [turn, list] : by_turn) {
    std::stable_sort(list.begin(), list.end(),
                     [](const Prospect& a, const Prospect& b) { return a.predicted_seconds < b.predicted_seconds; });
    std::move(list.begin(), list.end(), std::back_inserter(chosen));
  }
  if (effort != Effort::exhaustive && chosen.size() > most_of_all) chosen.resize(most_of_all);
  // The baselines first, then by prediction: whatever the time limit cuts, the comparison with plain CSR stands.
  std::stable_sort(chosen.begin(), chosen.end(), [](const Prospect& a, const Prospect& b) {
    if (a.baseline != b.baseline) return a.baseline;
    return a.predicted_seconds < b.predicted_seconds;
  });
  return chosen;
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
  const auto features = featureless(matrix.rows, matrix.cols, matrix.nnz);
  return fallback_prospect(all_prospects<T>(features, device, any_bandwidth), limits);
}

template std::vector<Prospect> all_prospects<float>(const Features&, const Device&, double);
template std::vector<Prospect> all_prospects<double>(const Features&, const Device&, double);
template Prospect blind_fallback_prospect(const CsrView<float>&, const Device&, const Limits&);
template Prospect blind_fallback_prospect(const CsrView<double>&, const Device&, const Limits&);

}  // namespace autospmv
