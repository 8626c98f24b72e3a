// What the studies ask of their matrices: what a product moves, who is faster than whom and by how much. For the files
// that define studies, tools/study_NAME.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/study.hpp"

namespace autospmv::tools {

using Matrices = std::span<const StudiedMatrix>;

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

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

// ---- What the claims are about -------------------------------------------------------------------------------------

/// Of a format that is in the study.
const Contest& contest_of(const StudiedMatrix& studied, std::string_view format);

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

template <class Value>
double geometric_mean_of(Matrices matrices, const Value& value) {
  std::vector<double> values;
  for (const auto& studied : matrices) values.push_back(value(studied));
  return geometric_mean(values);
}

/// A format that refuses the matrix is not its fastest; one that is not in the build says nothing.
std::optional<bool> is_fastest(const StudiedMatrix& studied, std::string_view format);

std::optional<std::int64_t> best_parameter(const StudiedMatrix& studied, std::string_view format,
                                           const std::string& name);

/// The fastest time of a format with this parameter; NaN where it was not tried.
double seconds_with(const StudiedMatrix& studied, std::string_view format, const std::string& name, std::int64_t value);

/// The fastest time of several formats; NaN where none has one.
double fastest_seconds(const StudiedMatrix& studied, std::span<const std::string_view> formats);

/// NaN where either has no time.
double speedup_over(const StudiedMatrix& studied, std::string_view format, std::string_view rival);

double memory_over_csr(const StudiedMatrix& studied, std::string_view format);

/// A format's effective bandwidth over the copy bandwidth, on matrices of which it moves more than the cache holds:
/// only there is it bandwidth that is measured.
std::vector<double> bandwidth_shares(Matrices matrices, std::string_view format);

/// Of some values; NaN of none.
double least(const std::vector<double>& values);
double largest(const std::vector<double>& values);

// ---- The same as quantities of a claim -----------------------------------------------------------------------------

template <class Question>
Quantity share(std::string_view name, Question question) {
  return {name, [question](Matrices all) { return share_of(all, question); }};
}

template <class Value>
Quantity mean(std::string_view name, Value value) {
  return {name, [value](Matrices all) { return geometric_mean_of(all, value); }};
}

/// The mean speed-up of a format over a rival.
Quantity mean_speedup(std::string_view name, std::string_view format, std::string_view rival);

/// The least and the largest of bandwidth_shares.
std::vector<Quantity> bandwidth_range(std::string_view format);

}  // namespace autospmv::tools
