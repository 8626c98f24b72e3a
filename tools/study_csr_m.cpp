// CSR-M, CSR-B and ELLPACK-R against the formats that they change.

#include <cmath>

#include "tools/study_questions.hpp"

namespace autospmv::tools {

namespace {

constexpr double index_bytes = sizeof(std::int32_t);

// The paper's formulas (2) to (5), which are for single precision: 4 bytes an index, and so many a value. Beside the
// arrays, CSR has an element of x for each nonzero, and all have y twice.
double by_formula(const MatrixSummary& matrix, double indices_of_nonzero, double values_of_nonzero, double lengths) {
  const auto value_bytes = static_cast<double>(matrix.value_bytes);
  const double of_nonzero = indices_of_nonzero * index_bytes + values_of_nonzero * value_bytes;
  return static_cast<double>(matrix.nnz) * of_nonzero + lengths * index_bytes +
         2 * static_cast<double>(matrix.rows) * value_bytes;
}

double by_formula_2(const StudiedMatrix& studied, const Contest& /*contest*/) {
  return by_formula(studied.matrix, 1, 2, static_cast<double>(studied.matrix.rows + 1));
}

double by_formula_3(const StudiedMatrix& studied, const Contest& /*contest*/) {
  return by_formula(studied.matrix, 0, 2, static_cast<double>(studied.matrix.rows + 1));
}

double by_formula_4(const StudiedMatrix& studied, const Contest& /*contest*/) {
  return by_formula(studied.matrix, 1, 1, 0);
}

double by_formula_5(const StudiedMatrix& studied, const Contest& /*contest*/) {
  return by_formula(studied.matrix, 1, 1, static_cast<double>(studied.matrix.rows));
}

// Rows are short where they leave threads of a half-warp without work.
bool has_short_rows(const StudiedMatrix& studied) { return studied.mean_row < 16; }

std::vector<double> seconds_of_other_csr_kernels(const StudiedMatrix& studied) {
  std::vector<double> seconds;
  for (const auto* format : {"csr_vector", "csr_gathered"}) {
    const auto& contest = contest_of(studied, format);
    if (contest.best) seconds.push_back(seconds_of(contest));
  }
  return seconds;
}

std::optional<bool> is_first_on_short_rows(const StudiedMatrix& studied) {
  const auto others = seconds_of_other_csr_kernels(studied);
  const auto& bound = contest_of(studied, "csr_bound");
  if (!has_short_rows(studied) || !bound.best || others.empty()) return std::nullopt;
  return seconds_of(bound) < least(others);
}

std::optional<bool> is_last_on_long_rows(const StudiedMatrix& studied) {
  const auto others = seconds_of_other_csr_kernels(studied);
  const auto& bound = contest_of(studied, "csr_bound");
  if (has_short_rows(studied) || !bound.best || others.empty()) return std::nullopt;
  return seconds_of(bound) > largest(others);
}

double half_warps_over_warps(const StudiedMatrix& studied) {
  return seconds_with(studied, "csr_vector", "T", 32) / seconds_with(studied, "csr_vector", "T", 16);
}

double bandwidth_of_csr_m_over_csr_o(const StudiedMatrix& studied) {
  return effective_bandwidth(studied, contest_of(studied, "csr_gathered")) /
         effective_bandwidth(studied, contest_of(studied, "csr_vector"));
}

}  // namespace

Study csr_m_study() {
  return {
      .name = "csr_m",
      .paper =
          "Yin, Zhang, Xu, Hu, He, \"Optimizing sparse matrix-vector multiplication based on GPU\", 2012, 6: "
          "Figures 12-17",
      .byte_count =
          "the paper's formulas (2) to (5): the stored entries without padding, an element of x for each nonzero "
          "of CSR, none elsewhere, and y twice",
      .contenders = {{"CSR-O", "csr_vector", Role::rival, true, by_formula_2},
                     {"CSR-M", "csr_gathered", Role::own, true, by_formula_3},
                     {"CSR-B", "csr_bound", Role::own, true, by_formula_2},
                     {"ELLPACK", "ell", Role::rival, false, by_formula_4},
                     {"ELLPACK-R", "ellr_t", Role::own, false, by_formula_5}},
      .claims = {{"CSR-B is the fastest of the CSR kernels where rows are short (Economics 6.1, Epidemiology 3.9)",
                  {share("share of matrices with fewer than 16 nonzeros a row where it is", is_first_on_short_rows)}},
                 {"it is the slowest of them where rows are long (21.6 nonzeros and more)",
                  {share("share of the other matrices where it is", is_last_on_long_rows)}},
                 {"CSR-M, whose x was gathered beforehand, is faster than CSR-O, at less bandwidth",
                  {mean_speedup("mean speed-up, the gathering included", "csr_gathered", "csr_vector"),
                   mean("its bandwidth over that of CSR-O", bandwidth_of_csr_m_over_csr_o)}},
                 {"16 threads a row (CSR-O) are faster than a warp (CSR-R)",
                  {mean("mean speed-up where both were tried", half_warps_over_warps)}},
                 {"ELLPACK-R is faster than ELLPACK", {mean_speedup("mean speed-up", "ellr_t", "ell")}}}};
}

}  // namespace autospmv::tools
