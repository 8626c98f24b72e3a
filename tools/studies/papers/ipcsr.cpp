// IPCSR against PCSR, CSR5, CSR-Adaptive, and what the libraries of its time had.

#include <cmath>

#include "tools/studies/questions.hpp"

namespace autospmv::tools {

namespace {

// The first kernel writes every product to memory, from where the second reads it.
double csr_arrays_and_products(const StudiedMatrix& studied, const Contest& /*contest*/) {
  const auto& matrix = studied.matrix;
  return csr_product_bytes(matrix) + 2 * static_cast<double>(matrix.nnz * matrix.value_bytes);
}

// A row of each nonzero beside its column and value, and no offsets.
double triplets(const StudiedMatrix& studied, const Contest& /*contest*/) {
  const auto& matrix = studied.matrix;
  constexpr std::int64_t index_bytes = sizeof(std::int32_t);
  return static_cast<double>(matrix.nnz * (2 * index_bytes + matrix.value_bytes)) + vector_bytes(matrix);
}

// The paper takes the best of CUSP's six algorithms for each matrix, and of clSpMV the best single format.
const Names& cusp() {
  static const Names names = {"CUSP COO", "CUSP CSR-scalar", "CUSP CSR-vector", "CUSP DIA", "CUSP ELL", "CUSP HYB"};
  return names;
}

std::optional<bool> beats_libraries(const StudiedMatrix& studied) {
  auto rivals = cusp();
  rivals.insert(rivals.end(), {"CUSPARSE CSRMV", "clSpMV"});
  return exceeds(speedup_over(studied, "IPCSR", rivals), 1);
}

double bandwidth_over_best(Matrices matrices) {
  double best = unknown;
  for (const auto* name : {"CUSPARSE CSRMV", "CUSP CSR-vector", "clSpMV", "PCSR", "CSR5", "CSR-Adaptive"}) {
    best = std::fmax(best, arithmetic_mean(values_of(matrices, [&](const StudiedMatrix& one) {
                       return effective_bandwidth(one, contest_of(one, name));
                     })));
  }
  return arithmetic_mean(values_of(
             matrices, [](const StudiedMatrix& one) { return effective_bandwidth(one, contest_of(one, "IPCSR")); })) /
         best;
}

std::vector<Contender> contenders() {
  using enum Role;
  return {{"CUSPARSE CSRMV", "cusparse_csr", rival, csr_arrays},
          {"CUSP COO", "coo", rival, triplets},
          {"CUSP CSR-scalar", "csr_scalar", rival, csr_arrays},
          {"CUSP CSR-vector", "csr_vector", rival, csr_arrays},
          {"CUSP DIA", "dia", rival, everything_stored},
          {"CUSP ELL", "ell", rival, everything_stored},
          {"CUSP HYB", "hyb", rival, everything_stored, "ell", "hyb K=0"},
          {"clSpMV", "dia; ell; sliced_ell; csr_scalar; csr_vector; coo; bsr; bell", rival, everything_stored},
          {"clSpMV (cocktail)", "cocktail", described, everything_stored},
          {"PCSR", "pcsr", rival, csr_arrays_and_products},
          {"CSR5", "csr5", rival, everything_stored},
          {"CSR-Adaptive", "csr_adaptive", rival, everything_stored},
          {"IPCSR", "ipcsr form=0", own, everything_stored},
          {"IPCSR (tuned)", "ipcsr", tuned, everything_stored}};
}

std::vector<PaperMatrix> matrices() {
  return {{"Dense", "", 2000, 2000, 4000000},
          {"Protein", "Williams/pdb1HYS", 36417, 36417, 4344765},
          {"FEM/Spheres", "Williams/consph", 83334, 83334, 6010480},
          {"FEM/Cantilever", "Williams/cant", 62451, 62451, 4007383},
          {"Wind Tunnel", "Boeing/pwtk", 217918, 217918, 11634424},
          {"FEM/Harbor", "Bova/rma10", 46835, 46835, 2374001},
          {"QCD", "QCD/conf5_4-8x8-05", 49152, 49152, 1916928},
          {"FEM/Ship", "DNVS/shipsec1", 140874, 140874, 7813404},
          {"Economics", "Williams/mac_econ_fwd500", 206500, 206500, 1273389},
          {"Epidemiology", "Williams/mc2depi", 525825, 525825, 2100225},
          {"FEM/Accelerator", "Williams/cop20k_A", 121192, 121192, 2624331},
          {"Circuit", "Hamm/scircuit", 170998, 170998, 958936},
          {"Webbase", "Williams/webbase-1M", 1000005, 1000005, 3105536},
          {"LP", "Mittelmann/rail4284", 4284, 1092610, 11279748},
          {"circuit5M", "Freescale/circuit5M", 5558326, 5558326, 59524291},
          {"eu-2005", "LAW/eu-2005", 862664, 862664, 19235140},
          {"Ga41As41H72", "PARSEC/Ga41As41H72", 268096, 268096, 18488476},
          {"in-2004", "LAW/in-2004", 1382908, 1382908, 16917053},
          {"mip1", "Andrianov/mip1", 66463, 66463, 10352819},
          {"Si41Ge41H72", "PARSEC/Si41Ge41H72", 185639, 185639, 15011265}};
}

std::vector<Claim> claims() {
  return {
      {"5.2, 5.3, Figure 4",
       "IPCSR is 1.76 times as fast as PCSR in single precision, 1.53 times in double",
       speedups("IPCSR", {"PCSR"}, {1.76, 1.53}),
       true,
       {},
       "in float the products that it spares writing fit the cache"},
      {"Tables 3, 4",
       "it is faster than PCSR on every matrix",
       {Quantity{"least speed-up",
                 [](Matrices all) {
                   return least(
                       values_of(all, [](const StudiedMatrix& one) { return speedup_over(one, "IPCSR", {"PCSR"}); }));
                 }}
            .at_least(1)}},
      {"Figure 4", "it is 1.21 times as fast as CSR5 in single precision, 1.11 times in double",
       speedups("IPCSR", {"CSR5"}, {1.21, 1.11}), true,
       "CSR5 with its columns at hand keeps up, and is ahead where rows are long (consph, cant, pdb1HYS)"},
      {"Figure 4", "it is 1.02 times as fast as CSR-Adaptive in single precision, 1.01 times in double",
       speedups("IPCSR", {"CSR-Adaptive"}, {1.02, 1.01})},
      {"Figure 4", "it is 2.76 times as fast as CSRMV of CUSPARSE in single precision, 1.98 times in double",
       speedups("IPCSR", {"CUSPARSE CSRMV"}, {2.76, 1.98}), false, "CSRMV has been rewritten since"},
      {"Figure 4", "it is 1.43 times as fast as the best of CUSP in single precision, 1.33 times in double",
       speedups("IPCSR", cusp(), {1.43, 1.33}), true,
       "the best of CUSP is CSR by as many threads a row as suit it: caches gather for it what IPCSR stages",
       "plain CSR is the best of CUSP there: staging products gains a core nothing"},
      {"Figure 4", "it is 1.55 times as fast as the best format of clSpMV in single precision, 1.22 times in double",
       [] {
         auto all = speedups("IPCSR", {"clSpMV"}, {1.55, 1.22});
         all.push_back(average_speedup("over the cocktail", "IPCSR", {"clSpMV (cocktail)"}));
         return all;
       }(),
       true, "its best are CSR by groups of threads, sliced ELLPACK and blocks, which read no more bytes and wait less",
       "CSR, sliced ELLPACK and BCSR are its best there: staging products gains a core nothing"},
      {"5.2",
       "it is faster than CUSPARSE, CUSP and clSpMV on 17 of 20 matrices (0.85)",
       {share("share of matrices where it is", beats_libraries).at_least(0.85)},
       true,
       "it is on short rows: elsewhere CSR by groups of threads and sliced ELLPACK are faster",
       "plain CSR by rows is faster there"},
      {"5.4, Figure 7", "its effective bandwidth is at least 50 % of the peak, and 83 % on average",
       bandwidth_range("IPCSR", 0.50, 0.83), true,
       "one matrix beyond the cache, 70 %: what is staged waits at a barrier in each block",
       "short rows whose x is scattered: Webbase, Circuit, Economics"},
      {"5.4",
       "its average effective bandwidth is the highest of all",
       {Quantity{"over that of the next", bandwidth_over_best}.at_least(1)},
       true,
       "that of CSR by groups of threads is higher",
       "plain CSR multiplies the same arrays faster there"}};
}

}  // namespace

Study ipcsr_study() {
  return {.name = "ipcsr",
          .paper =
              "Gao, Qi, He, \"Efficient CSR-based sparse matrix-vector multiplication on GPU\", 2016, 5: Figures 2-7, "
              "Tables 3 and 4",
          .short_paper = "Gao 2016",
          .byte_count =
              "bytes read and written by the kernels over time (8): x, y and the stored arrays once, and for PCSR "
              "every product twice more",
          .contenders = contenders(),
          .matrices = matrices(),
          .claims = claims()};
}

}  // namespace autospmv::tools
