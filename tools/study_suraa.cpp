// SURAA against CSR, HYB, BSR, CSR5, SELL-P and the two kernels of ELL-WARP, on matrices with rows of very different
// lengths.

#include <array>

#include "tools/study_questions.hpp"

namespace autospmv::tools {

namespace {

// ---- What a product moves: the paper's formulas (6) to (13), as printed but for the bytes of a value, which are 8
// there

struct Sizes {
  double rows;
  double cols;
  double nnz;
  double value_bytes;

  explicit Sizes(const MatrixSummary& matrix)
      : rows(static_cast<double>(matrix.rows)),
        cols(static_cast<double>(matrix.cols)),
        nnz(static_cast<double>(matrix.nnz)),
        value_bytes(static_cast<double>(matrix.value_bytes)) {}

  [[nodiscard]] double entries() const { return nnz * (4 + value_bytes); }
};

double by_formula_6(const StudiedMatrix& studied, const Contest& /*contest*/) {
  const Sizes of(studied.matrix);
  return of.entries() + of.value_bytes * (of.rows + of.cols) + (8 + of.value_bytes) * (of.cols - studied.mean_row);
}

double by_formula_9(const StudiedMatrix& studied, const Contest& /*contest*/) {
  const Sizes of(studied.matrix);
  return of.entries() + 4 * (2 * of.rows + of.cols) + of.rows / 8 + 4;
}

double by_formula_10(const StudiedMatrix& studied, const Contest& contest) {
  const Sizes of(studied.matrix);
  constexpr double lanes = 32;
  const auto sigma = static_cast<double>(contest.best->candidate.params.find("sigma").value_or(lanes));
  const double tiles = 1 + of.nnz / (sigma * lanes);
  const double indices = of.nnz + of.rows + 1 + tiles + 2 * lanes * (1 + sigma);
  return 4 * indices + of.value_bytes * (of.nnz + of.rows + of.cols);
}

double by_formula_12(const StudiedMatrix& studied, const Contest& /*contest*/) {
  const Sizes of(studied.matrix);
  return of.entries() + 4 * (5 * of.rows + 3 * of.cols) + of.rows / 8;
}

// CSR, and the row that each place in the order of lengths belongs to.
double by_formula_13(const StudiedMatrix& studied, const Contest& /*contest*/) {
  return csr_product_bytes(studied.matrix) + 4 * static_cast<double>(studied.matrix.rows);
}

// ---- What the claims are about

/// The matrices that the paper is about.
bool has_high_variance(const StudiedMatrix& studied) {
  return studied.row_variance > studied.mean_row * studied.mean_row;
}

template <class Value>
Quantity mean_of_high_variance(std::string_view name, Value value) {
  return mean(name, [=](const StudiedMatrix& one) { return has_high_variance(one) ? value(one) : unknown; });
}

Quantity speedup_of_suraa(std::string_view name, std::string_view rival) {
  return mean_of_high_variance(name, [=](const StudiedMatrix& one) { return speedup_over(one, "suraa", rival); });
}

Quantity setup_of(std::string_view name, std::string_view format) {
  return mean_of_high_variance(name, [=](const StudiedMatrix& one) { return setup_products(contest_of(one, format)); });
}

// The best of two libraries.
double speedup_over_csr(const StudiedMatrix& studied) {
  constexpr std::array<std::string_view, 2> csr = {"cusparse_csr", "csr_vector"};
  return fastest_seconds(studied, csr) / seconds_of(contest_of(studied, "suraa"));
}

std::optional<bool> is_fastest_on_high_variance(const StudiedMatrix& studied) {
  return has_high_variance(studied) ? is_fastest(studied, "suraa") : std::nullopt;
}

double bandwidth_share(const StudiedMatrix& studied) {
  return effective_bandwidth(studied, contest_of(studied, "suraa")) / studied.copy_bandwidth;
}

}  // namespace

Study suraa_study() {
  return {
      .name = "suraa",
      .paper =
          "Muhammed, Mehmood, Albeshri, Katib, \"SURAA: a novel method and tool for loadbalanced and coalesced "
          "SpMV computations on GPUs\", 2019, 5",
      .byte_count =
          "the paper's formulas (6) to (13), which count no padding; where it has none, x, y and the stored "
          "arrays once",
      .contenders = {{"CSR (cuSPARSE)", "cusparse_csr", Role::rival, true, csr_arrays},
                     {"CSR (CUSP)", "csr_vector", Role::rival, true, csr_arrays},
                     {"HYB", "hyb", Role::rival, false, by_formula_6},
                     {"BSR", "bsr", Role::rival, false, everything_stored},
                     {"CSR5", "csr5", Role::rival, false, by_formula_10},
                     {"SELL-P", "sell_p", Role::rival, false, by_formula_9},
                     {"WPK1", "ell_warp", Role::rival, false, by_formula_12},
                     {"WPK2", "ell_warp_split", Role::rival, false, by_formula_12},
                     {"ACSR", "acsr", Role::described, true, everything_stored},
                     {"binned CSR", "csr_binned", Role::described, true, everything_stored},
                     {"balanced COO", "coo_balanced", Role::described, true, everything_stored},
                     {"SURAA", "suraa", Role::own, true, by_formula_13}},
      .claims = {
          {"SURAA is 1.1 times as fast as CSR5, 1.15 times as WPK2, 1.5 as HYB, 11.3 as BSR, 13.0 as CSR, 29.9 as "
           "WPK1 and 40 as SELL-P on average",
           {speedup_of_suraa("mean speed-up where the variance of npr exceeds the square of its mean, over CSR5",
                             "csr5"),
            speedup_of_suraa("WPK2", "ell_warp_split"), speedup_of_suraa("HYB", "hyb"), speedup_of_suraa("BSR", "bsr"),
            mean_of_high_variance("CSR", speedup_over_csr), speedup_of_suraa("WPK1", "ell_warp"),
            speedup_of_suraa("SELL-P", "sell_p")}},
          {"it is the fastest on 20 of 26 matrices (0.77)",
           {share("share of such matrices where it is", is_fastest_on_high_variance)}},
          {"its setup takes as long as 5 products, that of SELL-P 69 and that of CSR5 95.5",
           {setup_of("mean on such matrices, SURAA", "suraa"), setup_of("SELL-P", "sell_p"), setup_of("CSR5", "csr5")}},
          {"it reaches half of the peak bandwidth on average",
           {mean_of_high_variance("mean share of the copy bandwidth on such matrices", bandwidth_share)}}}};
}

}  // namespace autospmv::tools
