// IPCSR against PCSR, CSR5, CSR-Adaptive, and what the libraries of its time had.

#include <array>
#include <cmath>

#include "tools/study_questions.hpp"

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

// CUSP has six algorithms, and the paper takes the best of them for each matrix.
double speedup_over_cusp(const StudiedMatrix& studied) {
  constexpr std::array<std::string_view, 6> cusp = {"coo", "csr_scalar", "csr_vector", "dia", "ell", "hyb"};
  return fastest_seconds(studied, cusp) / seconds_of(contest_of(studied, "ipcsr"));
}

std::optional<bool> beats_pcsr(const StudiedMatrix& studied) {
  const double speedup = speedup_over(studied, "ipcsr", "pcsr");
  return std::isnan(speedup) ? std::nullopt : std::optional(speedup > 1);
}

}  // namespace

Study ipcsr_study() {
  return {
      .name = "ipcsr",
      .paper =
          "Gao, Qi, He, \"Efficient CSR-based sparse matrix-vector multiplication on GPU\", 2016, 5: Figures 2-7, "
          "Tables 3 and 4",
      .byte_count =
          "bytes read and written by the kernels over time (8): x, y and the stored arrays once, and for PCSR every "
          "product twice more",
      .contenders = {{"CUSPARSE CSRMV", "cusparse_csr", Role::rival, true, csr_arrays},
                     {"CUSP COO", "coo", Role::rival, true, triplets},
                     {"CUSP CSR-scalar", "csr_scalar", Role::rival, true, csr_arrays},
                     {"CUSP CSR-vector", "csr_vector", Role::rival, true, csr_arrays},
                     {"CUSP DIA", "dia", Role::rival, false, everything_stored},
                     {"CUSP ELL", "ell", Role::rival, false, everything_stored},
                     {"CUSP HYB", "hyb", Role::rival, false, everything_stored},
                     {"clSpMV", "cocktail", Role::rival, false, everything_stored},
                     {"PCSR", "pcsr", Role::rival, true, csr_arrays_and_products},
                     {"CSR5", "csr5", Role::rival, false, everything_stored},
                     {"CSR-Adaptive", "csr_adaptive", Role::rival, true, everything_stored},
                     {"IPCSR", "ipcsr", Role::own, true, everything_stored}},
      .claims = {
          {"IPCSR is 1.76-1.79 times as fast as PCSR in single precision, 1.53-1.56 times in double",
           {mean_speedup("mean speed-up", "ipcsr", "pcsr")}},
          {"it is faster than PCSR on every matrix", {share("share of matrices where it is", beats_pcsr)}},
          {"it is 1.21-1.30 times as fast as CSR5 in single precision, 1.11-1.20 times in double",
           {mean_speedup("mean speed-up", "ipcsr", "csr5")}},
          {"it is 1.02-1.07 times as fast as CSR-Adaptive in single precision, 1.01-1.08 times in double",
           {mean_speedup("mean speed-up", "ipcsr", "csr_adaptive")}},
          {"it is 2.76-3.52 times as fast as CSRMV of CUSPARSE in single precision, 1.98-2.52 times in double",
           {mean_speedup("mean speed-up", "ipcsr", "cusparse_csr")}},
          {"it is 1.43-1.75 times as fast as the best of CUSP in single precision, 1.33-1.62 times in double",
           {mean("mean speed-up", speedup_over_cusp)}},
          {"it is 1.55-1.56 times as fast as clSpMV in single precision, 1.22-1.26 times in double",
           {mean_speedup("mean speed-up", "ipcsr", "cocktail")}},
          {"its effective bandwidth is 50-97 % of the peak (72.6-139.5 of 144 GB/s)", bandwidth_range("ipcsr")}}};
}

}  // namespace autospmv::tools
