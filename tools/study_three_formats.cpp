// ELL-G, HLL and HDIA against DIA, ELL, HYB and ELLR-T.

#include <cmath>

#include "tools/study_questions.hpp"

namespace autospmv::tools {

namespace {

// Rows that are alike: padding them to the longest of all could still be worth it.
bool has_even_rows(const StudiedMatrix& studied) { return studied.longest_row <= 4 * studied.mean_row; }

double hll_memory(const StudiedMatrix& studied, bool even_rows) {
  return has_even_rows(studied) == even_rows ? memory_over_csr(studied, "hll") : unknown;
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

}  // namespace

Study three_formats_study() {
  return {
      .name = "three-formats",
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
                  {mean("HLL over CSR where the longest row is at most 4 times the mean",
                        [](const StudiedMatrix& one) { return hll_memory(one, true); }),
                   mean("HLL over CSR elsewhere", [](const StudiedMatrix& one) { return hll_memory(one, false); })}},
                 {"HDIA is the fastest where there are diagonals (pde50-pde100, nlpkkt, FEM_3D_thermal2)",
                  {share("share of matrices where it is, of those where HDIA takes less memory than HLL", hdia_pays)}},
                 {"2 threads a row seldom pay",
                  {share("share of matrices where they do, ELL-G",
                         [](const StudiedMatrix& one) { return two_threads_pay(one, "ell_g"); }),
                   share("HLL", [](const StudiedMatrix& one) { return two_threads_pay(one, "hll"); })}}}};
}

}  // namespace autospmv::tools
