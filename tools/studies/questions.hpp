// What the studies ask of their matrices: what a product moves, who is faster than whom and by how much. For the files
// that define studies. Formats are named as their contenders are.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/studies/study.hpp"

namespace autospmv::tools {

using Names = std::vector<std::string_view>;

// ---- The studies, a file each --------------------------------------------------------------------------------------

Study ellr_t_study();
Study three_formats_study();
Study ipcsr_study();
Study csr_m_study();
Study suraa_study();

// ---- What a product moves ------------------------------------------------------------------------------------------

/// x read once, y written once.
double vector_bytes(const MatrixSummary& matrix);

double csr_arrays(const StudiedMatrix& studied, const Contest& contest);
double everything_stored(const StudiedMatrix& studied, const Contest& contest);

// ---- Of one matrix -------------------------------------------------------------------------------------------------

/// Of a contender that is in the study.
const Contest& contest_of(const StudiedMatrix& studied, std::string_view name);

/// Whether it is one of the paper's matrices of these names, or what stands in for it.
bool is_one_of(const StudiedMatrix& studied, const std::vector<PaperMatrix>& matrices, const Names& names);

/// One that refuses the matrix is not its fastest; one that is not in the build says nothing.
std::optional<bool> is_fastest(const StudiedMatrix& studied, std::string_view name);

std::optional<std::int64_t> best_parameter(const StudiedMatrix& studied, std::string_view name,
                                           const std::string& parameter);

/// The fastest time of a contender's candidates with this parameter; NaN where none of them has one.
double seconds_with(const StudiedMatrix& studied, std::string_view name, const std::string& parameter,
                    std::int64_t value);

/// The fastest time of several; NaN where none has one.
double fastest_seconds(const StudiedMatrix& studied, const Names& names);

/// Over the fastest of the rivals; NaN where either has no time.
double speedup_over(const StudiedMatrix& studied, std::string_view name, const Names& rivals);

/// Of one over another; NaN where either has no time.
double memory_over(const StudiedMatrix& studied, std::string_view name, std::string_view other);
double memory_over_csr(const StudiedMatrix& studied, std::string_view name);

/// The comparison as an answer: nothing where there is none.
inline std::optional<bool> exceeds(double value, double bound) {
  return std::isnan(value) || std::isnan(bound) ? std::nullopt : std::optional(value > bound);
}

// ---- Of all of them ------------------------------------------------------------------------------------------------

/// Share of the matrices where the answer is yes, among those where there is one.
template <class Question>
double share_of(Matrices matrices, const Question& question) {
  int yes = 0;
  int asked = 0;
  for (const auto& studied : matrices) {
    const std::optional<bool> answer = question(studied);
    if (!answer) continue;
    ++asked;
    yes += *answer ? 1 : 0;
  }
  return asked > 0 ? static_cast<double>(yes) / asked : unknown;
}

/// The values that are known.
template <class Value>
std::vector<double> values_of(Matrices matrices, const Value& value) {
  std::vector<double> values;
  for (const auto& studied : matrices) {
    if (const double one = value(studied); std::isfinite(one)) values.push_back(one);
  }
  return values;
}

/// A contender's effective bandwidth over the copy bandwidth, on matrices of which it moves more than the cache holds:
/// only there is it bandwidth that is measured.
std::vector<double> bandwidth_shares(Matrices matrices, std::string_view name);

/// Sum of the throughputs over all matrices; where one has no time, it adds nothing.
double aggregate_gflops(Matrices matrices, std::string_view name);

/// By how much a value grows where another is tenfold: least squares of their logarithms. NaN below three matrices.
template <class Value, class Other>
double growth_a_decade(Matrices matrices, const Value& value, const Other& other);
double growth_a_decade(std::span<const double> values, std::span<const double> others);

/// Of some values; NaN of none.
double least(const std::vector<double>& values);
double largest(const std::vector<double>& values);

// ---- The same as quantities of a claim -----------------------------------------------------------------------------

template <class Question>
Quantity share(std::string name, Question question) {
  return {std::move(name), [question](Matrices all) { return share_of(all, question); }};
}

/// In geometric mean.
template <class Value>
Quantity mean(std::string name, Value value) {
  return {std::move(name), [value](Matrices all) { return geometric_mean(values_of(all, value)); }};
}

template <class Value>
Quantity arithmetic(std::string name, Value value) {
  return {std::move(name), [value](Matrices all) { return arithmetic_mean(values_of(all, value)); }};
}

/// The mean speed-up over the fastest of the rivals, as papers average: arithmetically.
Quantity average_speedup(std::string title, std::string_view name, const Names& rivals);

/// That with its bound, the geometric mean, and the average of the contender "NAME (tuned)".
std::vector<Quantity> speedups(std::string_view name, const Names& rivals, Bound at_least);

/// The least and the mean of bandwidth_shares.
std::vector<Quantity> bandwidth_range(std::string_view name, double least_bound, double mean_bound);

template <class Value, class Other>
double growth_a_decade(Matrices matrices, const Value& value, const Other& other) {
  std::vector<double> values;
  std::vector<double> others;
  for (const auto& studied : matrices) {
    values.push_back(value(studied));
    others.push_back(other(studied));
  }
  return growth_a_decade(values, others);
}

}  // namespace autospmv::tools
