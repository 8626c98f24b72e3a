// The table of the papers' comparisons.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tools/study.hpp"

namespace autospmv::tools {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

using Matrices = std::span<const StudiedMatrix>;

// ---- What a product moves ----------------------------------------------------------------------------------------

double vector_bytes(const MatrixSummary& matrix) {
  return static_cast<double>((matrix.rows + matrix.cols) * matrix.value_bytes);
}

double csr_arrays(const MatrixSummary& matrix, double /*memory*/) { return csr_product_bytes(matrix); }

double everything_stored(const MatrixSummary& matrix, double memory) { return memory + vector_bytes(matrix); }

// ELLPACK-R: its threads stop where their rows end, so that a length a row is read and no padding.
double entries_and_lengths(const MatrixSummary& matrix, double /*memory*/) {
  constexpr std::int64_t index_bytes = sizeof(std::int32_t);
  const auto arrays = matrix.rows * index_bytes + matrix.nnz * (index_bytes + matrix.value_bytes);
  return static_cast<double>(arrays) + vector_bytes(matrix);
}

// ---- What the claims are about -----------------------------------------------------------------------------------

// Of a format that is in the study.
const Contest& contest_of(const StudiedMatrix& studied, std::string_view format) {
  return *std::find_if(studied.contests.begin(), studied.contests.end(),
                       [&](const Contest& contest) { return contest.contender->format == format; });
}

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

// A format that refuses the matrix is not its fastest; one that is not in the build says nothing.
std::optional<bool> is_fastest(const StudiedMatrix& studied, std::string_view format) {
  const auto& contest = contest_of(studied, format);
  if (contest.status == "missing") return std::nullopt;
  return fastest_of(studied) == &contest;
}

std::optional<std::int64_t> best_parameter(const StudiedMatrix& studied, std::string_view format,
                                           const std::string& name) {
  const auto& best = contest_of(studied, format).best;
  return best ? best->candidate.params.find(name) : std::nullopt;
}

/// The fastest time of a format with this parameter; NaN where it was not tried.
double seconds_with(const StudiedMatrix& studied, std::string_view format, const std::string& name,
                    std::int64_t value) {
  double fastest = unknown;
  for (const auto& trial : studied.trials) {
    if (trial.candidate.format != format || trial.candidate.params.find(name) != value) continue;
    if (trial.measurement.outcome != Outcome::passed) continue;
    fastest = std::fmin(fastest, median_of(trial.measurement.warm));
  }
  return fastest;
}

double memory_over_csr(const StudiedMatrix& studied, std::string_view format) {
  return memory_of(studied, contest_of(studied, format)) / csr_memory(studied.matrix);
}

// ---- ELLR-T ------------------------------------------------------------------------------------------------------

/// Of the copy bandwidth, on matrices that do not fit the cache, where bandwidth is what is measured.
std::vector<double> ellr_t_bandwidth_shares(Matrices matrices) {
  std::vector<double> shares;
  for (const auto& studied : matrices) {
    const auto& contest = contest_of(studied, "ellr_t");
    if (!contest.best || entries_and_lengths(studied.matrix, 0) <= studied.cache_bytes) continue;
    shares.push_back(effective_bandwidth(studied, contest) / studied.copy_bandwidth);
  }
  return shares;
}

Study ellr_t() {
  return {
      .name = "ellr_t",
      .paper =
          "Vazquez, Ortega, Fernandez, Garzon, \"Improving the performance of the sparse matrix vector product with "
          "GPUs\", 2010, V",
      .byte_count =
          "bytes read and written over time, as the CUDA guide counts that the paper refers to: x, y and the stored "
          "arrays once, for ELLR-T without padding, which it does not read",
      .contenders = {{"CRS", "csr_scalar", Role::rival, true, csr_arrays},
                     {"CRS(vector)", "csr_vector", Role::rival, true, csr_arrays},
                     {"SpMV4GPU", "csr_padded", Role::rival, false, everything_stored},
                     {"ELLPACK", "ell", Role::rival, false, everything_stored},
                     {"HYB", "hyb", Role::rival, false, everything_stored},
                     {"Sliced ELLPACK", "sliced_ell", Role::described, false, everything_stored},
                     {"BELLPACK", "bell", Role::described, false, everything_stored},
                     {"ELLR-T", "ellr_t", Role::own, false, entries_and_lengths}},
      .claims = {{"ELLR-T is the fastest of its set on every matrix",
                  {{"share of matrices where it is",
                    [](Matrices all) {
                      return share_of(all, [](const StudiedMatrix& one) { return is_fastest(one, "ellr_t"); });
                    }}}},
                 {"its effective bandwidth on large matrices is 57-80 % of the peak (90-128 of 159 GB/s)",
                  {{"least share of the copy bandwidth beyond the cache",
                    [](Matrices all) {
                      const auto shares = ellr_t_bandwidth_shares(all);
                      return shares.empty() ? unknown : *std::min_element(shares.begin(), shares.end());
                    }},
                   {"largest",
                    [](Matrices all) {
                      const auto shares = ellr_t_bandwidth_shares(all);
                      return shares.empty() ? unknown : *std::max_element(shares.begin(), shares.end());
                    }}}},
                 {"its best T is at most 8",
                  {{"share of matrices where it is",
                    [](Matrices all) {
                      return share_of(all, [](const StudiedMatrix& one) -> std::optional<bool> {
                        const auto threads = best_parameter(one, "ellr_t", "T");
                        return threads ? std::optional(*threads <= 8) : std::nullopt;
                      });
                    }}}},
                 {"its best block is at least 128", {{"share of matrices where it is", [](Matrices all) {
                                                        return share_of(
                                                            all, [](const StudiedMatrix& one) -> std::optional<bool> {
                                                              const auto block = best_parameter(one, "ellr_t", "block");
                                                              return block ? std::optional(*block >= 128)
                                                                           : std::nullopt;
                                                            });
                                                      }}}}}};
}

// ---- Three formats -----------------------------------------------------------------------------------------------

// Rows that are alike: padding them to the longest of all could still be worth it.
bool has_even_rows(const StudiedMatrix& studied) { return studied.longest_row <= 4 * studied.mean_row; }

double hll_memory(Matrices matrices, bool even_rows) {
  return geometric_mean_of(matrices, [&](const StudiedMatrix& one) {
    return has_even_rows(one) == even_rows ? memory_over_csr(one, "hll") : unknown;
  });
}

// Diagonals are there where storing them takes less than storing columns.
std::optional<bool> hdia_pays(const StudiedMatrix& studied) {
  const double diagonals = memory_over_csr(studied, "hdia");
  const double columns = memory_over_csr(studied, "hll");
  if (!(diagonals < columns)) return std::nullopt;
  return is_fastest(studied, "hdia");
}

std::optional<bool> two_threads_pay(const StudiedMatrix& studied, std::string_view format) {
  const double one = seconds_with(studied, format, "threads", 1);
  const double two = seconds_with(studied, format, "threads", 2);
  if (std::isnan(one) || std::isnan(two)) return std::nullopt;
  return two < one;
}

Study three_formats() {
  return {.name = "three-formats",
          .paper =
              "Barbieri, Cardellini, Fanfarillo, Filippone, \"Three storage formats for sparse matrices on GPGPUs\", "
              "2015, 4",
          .byte_count = "the paper counts none; here x, y and the memory of the format once",
          .contenders = {{"DIA", "dia", Role::rival, false, everything_stored},
                         {"HDIA", "hdia", Role::own, false, everything_stored},
                         {"ELL", "ell", Role::rival, false, everything_stored},
                         {"ELL-G", "ell_g", Role::own, false, everything_stored},
                         {"HLL", "hll", Role::own, false, everything_stored},
                         {"HYB", "hyb", Role::rival, false, everything_stored},
                         {"ELLR-T", "ellr_t", Role::rival, false, everything_stored}},
          .claims = {{"HLL takes about the memory of CSR",
                      {{"HLL over CSR where the longest row is at most 4 times the mean",
                        [](Matrices all) { return hll_memory(all, true); }},
                       {"HLL over CSR elsewhere", [](Matrices all) { return hll_memory(all, false); }}}},
                     {"HDIA is the fastest where there are diagonals (pde50-pde100, nlpkkt, FEM_3D_thermal2)",
                      {{"share of matrices where it is, of those where HDIA takes less memory than HLL",
                        [](Matrices all) { return share_of(all, hdia_pays); }}}},
                     {"2 threads a row seldom pay",
                      {{"share of matrices where they do, ELL-G",
                        [](Matrices all) {
                          return share_of(all, [](const StudiedMatrix& one) { return two_threads_pay(one, "ell_g"); });
                        }},
                       {"HLL", [](Matrices all) {
                          return share_of(all, [](const StudiedMatrix& one) { return two_threads_pay(one, "hll"); });
                        }}}}}};
}

}  // namespace

std::span<const Study> all_studies() {
  static const std::vector<Study> studies = {ellr_t(), three_formats()};
  return studies;
}

}  // namespace autospmv::tools
