// CSR-M, CSR-B and ELLPACK-R against the formats that they change.

#include <cmath>

#include "tools/studies/questions.hpp"

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

std::vector<Contender> contenders() {
  using enum Role;
  return {{"CSR-R", "csr_scalar", rival, by_formula_2},
          {"CSR-O", "csr_vector T=16 block=256", rival, by_formula_2},
          {"CSR-M", "gathered_product T=16 block=256", own, by_formula_3},
          {"CSR-M and its gather", "csr_gathered T=16 block=256", described, by_formula_2},
          {"CSR-M (tuned)", "csr_gathered; csr_vector", tuned, by_formula_2},
          {"CSR-B", "csr_bound merge=1 T=16 fragment=1024 block=256", own, by_formula_2},
          {"CSR-B (tuned)", "csr_bound; csr_merge", tuned, by_formula_2},
          {"ELLPACK", "ell", rival, by_formula_4},
          {"ELLPACK-R", "ellr_t", own, by_formula_5},
          {"ELLPACK-R (tuned)", "ellr_t; sell_p C=32", tuned, by_formula_5}};
}

std::vector<PaperMatrix> matrices() {
  return {{"Protein", "Williams/pdb1HYS", 36417, 36417, 4344765},
          {"FEM/Spheres", "Williams/consph", 83334, 83334, 6010480},
          {"FEM/Cantilever", "Williams/cant", 62451, 62451, 4007383},
          {"Economics", "Williams/mac_econ_fwd500", 206500, 206500, 1273389},
          {"Epidemiology", "Williams/mc2depi", 525825, 525825, 2100225},
          {"FEM/Accelerator", "Williams/cop20k_A", 121192, 121192, 2624331}};
}

// Rows are short where they leave threads of a half-warp without work.
bool has_short_rows(const StudiedMatrix& studied) { return studied.mean_row < 16; }

const Names& other_csr_kernels() {
  static const Names names = {"CSR-R", "CSR-O", "CSR-M"};
  return names;
}

std::optional<bool> is_first_on_short_rows(const StudiedMatrix& studied) {
  if (!has_short_rows(studied)) return std::nullopt;
  return exceeds(speedup_over(studied, "CSR-B", other_csr_kernels()), 1);
}

std::optional<bool> is_last_on_long_rows(const StudiedMatrix& studied) {
  if (has_short_rows(studied)) return std::nullopt;
  double slowest = unknown;
  for (const auto name : other_csr_kernels()) slowest = std::fmax(slowest, seconds_of(contest_of(studied, name)));
  return exceeds(seconds_of(contest_of(studied, "CSR-B")), slowest);
}

double bandwidth_of_csr_m_over_csr_o(const StudiedMatrix& studied) {
  return effective_bandwidth(studied, contest_of(studied, "CSR-M")) /
         effective_bandwidth(studied, contest_of(studied, "CSR-O"));
}

// Of ELLPACK-R, by the length of rows.
double gain_by_length(Matrices matrices) {
  return growth_a_decade(
      matrices, [](const StudiedMatrix& one) { return gflops_of(one, contest_of(one, "ELLPACK-R")); },
      [](const StudiedMatrix& one) { return one.mean_row; });
}

std::vector<Claim> claims() {
  return {
      {"6.3, Figure 12",
       "CSR-O, 16 threads a row, is faster than CSR-R",
       {average_speedup("average speed-up", "CSR-O", {"CSR-R"}).at_least(1)},
       false},
      {"6.3, Figure 12",
       "CSR-M, whose x was gathered beforehand, is faster than CSR-O",
       {average_speedup("average speed-up", "CSR-M", {"CSR-O"}).at_least(1),
        average_speedup("with its gather", "CSR-M and its gather", {"CSR-O"}),
        average_speedup("tuned", "CSR-M (tuned)", {"CSR-O"})}},
      {"6.3, Figure 12",
       "CSR-M is faster than CSR-R",
       {average_speedup("average speed-up", "CSR-M", {"CSR-R"}).at_least(1),
        average_speedup("with its gather", "CSR-M and its gather", {"CSR-R"})},
       true,
       {},
       "16 partial sums cost more than the few entries of a short row: Economics, Epidemiology"},
      {"6.3, Figure 13",
       "CSR-M has less bandwidth than CSR-O",
       {mean("its bandwidth over that of CSR-O", bandwidth_of_csr_m_over_csr_o).at_most(1)}},
      {"6.3, Figure 12",
       "CSR-B is the fastest of the CSR kernels where rows are short (Economics, Epidemiology)",
       {share("share of matrices with fewer than 16 nonzeros a row where it is", is_first_on_short_rows).at_least(1)},
       true,
       "a thread a row, CSR-R, is: caches gather for it, and fragments by 16 threads leave most of these idle",
       "fragments are no fairer shares for a few cores than rows are: CSR-R is the fastest"},
      {"6.3, Figure 12",
       "it is the slowest of them where rows are long (21.6 nonzeros and more)",
       {share("share of the other matrices where it is", is_last_on_long_rows).at_least(1)},
       true,
       "CSR-R, whose threads read apart, is",
       "it is slower than CSR-R and CSR-M, but not always than CSR-O"},
      {"6.3, Figure 15", "ELLPACK-R is faster than ELLPACK", speedups("ELLPACK-R", {"ELLPACK"}, {1, 1})},
      {"6.3, Figure 15",
       "the sparser the matrix, the faster is ELLPACK-R",
       {Quantity{"its GFLOP/s by a tenfold length of rows", gain_by_length}.at_most(1)},
       true,
       "caches: the longer the rows, the more of a matrix's reads of x are reused",
       "uneven rows slow it down, not full ones: FEM/Accelerator and Economics"}};
}

}  // namespace

Study csr_m_study() {
  return {.name = "csr_m",
          .paper =
              "Yin, Zhang, Xu, Hu, He, \"Optimizing sparse matrix-vector multiplication based on GPU\", 2012, 6: "
              "Figures 12-17",
          .short_paper = "Yin 2012",
          .byte_count =
              "the paper's formulas (2) to (5): the stored entries without padding, an element of x for each nonzero "
              "of CSR, none elsewhere, and y twice",
          .contenders = contenders(),
          .matrices = matrices(),
          .claims = claims()};
}

}  // namespace autospmv::tools
