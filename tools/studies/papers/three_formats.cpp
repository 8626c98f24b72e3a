// ELL-G, HLL and HDIA against DIA, ELL, HYB and ELLR-T.

#include <cmath>

#include "tools/studies/questions.hpp"

namespace autospmv::tools {

namespace {

std::vector<Contender> contenders() {
  using enum Role;
  return {{"DIA", "dia", rival, everything_stored},
          {"HDIA", "hdia hack=32,64 rows=1", own, everything_stored, "hdia"},
          {"HDIA (tuned)", "hdia", tuned, everything_stored},
          {"ELL", "ell", rival, everything_stored},
          {"ELL-G", "ell_g", own, everything_stored},
          {"ELL-G (tuned)", "ell_g; ellr_t", tuned, everything_stored},
          {"HLL", "hll hack=32 threads=1,2", own, everything_stored},
          {"HLL (tuned)", "hll; sell_p C=32", tuned, everything_stored},
          {"HYB", "hyb", rival, everything_stored, "ell", "hyb K=0"},
          {"ELLR-T", "ellr_t T=1,2,4", rival, everything_stored}};
}

std::vector<PaperMatrix> matrices() {
  return {{"cant", "Williams/cant", 62451, 62451, 4007383},
          {"olafu", "Simon/olafu", 16146, 16146, 1015156},
          {"af_1_k101", "Schenk_AFE/af_1_k101", 503625, 503625, 17550675},
          {"af_2_k101", "Schenk_AFE/af_2_k101", 503625, 503625, 17550675},
          {"af_3_k101", "Schenk_AFE/af_3_k101", 503625, 503625, 17550675},
          {"af_4_k101", "Schenk_AFE/af_4_k101", 503625, 503625, 17550675},
          {"af_5_k101", "Schenk_AFE/af_5_k101", 503625, 503625, 17550675},
          {"Cube_Coup_dt0", "Janna/Cube_Coup_dt0", 2164760, 2164760, 127206144},
          {"ML_Laplace", "Janna/ML_Laplace", 377002, 377002, 27689972},
          {"bcsstk17", "HB/bcsstk17", 10974, 10974, 428650},
          {"mac_econ_fwd", "Williams/mac_econ_fwd500", 206500, 206500, 1273389},
          {"mhd4800a", "Bai/mhd4800a", 4800, 4800, 102252},
          {"raefsky2", "Simon/raefsky2", 3242, 3242, 294276},
          {"af23560", "Bai/af23560", 23560, 23560, 484256},
          {"lung2", "Norris/lung2", 109460, 109460, 492564},
          {"StocF-1465", "Janna/StocF-1465", 1465137, 1465137, 21005389},
          {"DK01R", "Fluorem/DK01R", 903, 903, 11766},
          {"GT01R", "Fluorem/GT01R", 7980, 7980, 430909},
          {"PR02R", "Fluorem/PR02R", 161070, 161070, 8185136},
          {"RM07R", "Fluorem/RM07R", 381689, 381689, 37464962},
          {"FEM_3D_thermal1", "Botonakis/FEM_3D_thermal1", 17880, 17880, 430740},
          {"FEM_3D_thermal2", "Botonakis/FEM_3D_thermal2", 147900, 147900, 3489300},
          {"thermal1", "Schmid/thermal1", 82654, 82654, 574458},
          {"thermal2", "Schmid/thermal2", 1228045, 1228045, 8580313},
          {"thermomech_dK", "Botonakis/thermomech_dK", 204316, 204316, 2846228},
          {"thermomech_dM", "Botonakis/thermomech_dM", 204316, 204316, 1423116},
          {"thermomech_TC", "Botonakis/thermomech_TC", 102158, 102158, 711558},
          {"thermomech_TK", "Botonakis/thermomech_TK", 102158, 102158, 711558},
          {"nlpkkt80", "Schenk/nlpkkt80", 1062400, 1062400, 28192672},
          {"nlpkkt120", "Schenk/nlpkkt120", 3542400, 3542400, 95117792},
          {"pde50", "", 125000, 125000, 860000},
          {"pde60", "", 216000, 216000, 1490400},
          {"pde80", "", 512000, 512000, 3545600},
          {"pde90", "", 729000, 729000, 5054400},
          {"pde100", "", 1000000, 1000000, 6940000}};
}

// Those of which the paper says that they consist of diagonals.
bool is_diagonal(const StudiedMatrix& studied) {
  static const auto all = matrices();
  return is_one_of(studied, all,
                   {"pde50", "pde60", "pde80", "pde90", "pde100", "FEM_3D_thermal2", "nlpkkt80", "nlpkkt120"});
}

// Rows that are alike: padding them to the longest of all could still be worth it.
bool has_even_rows(const StudiedMatrix& studied) { return studied.longest_row <= 4 * studied.mean_row; }

double hll_memory(const StudiedMatrix& studied, bool even_rows) {
  return has_even_rows(studied) == even_rows ? memory_over_csr(studied, "HLL") : unknown;
}

double speedup_of_hdia(const StudiedMatrix& studied, std::string_view name) {
  return is_diagonal(studied) ? speedup_over(studied, name, {"HLL", "HYB"}) : unknown;
}

// Where storing diagonals takes more than storing columns.
std::optional<bool> loses_without_diagonals(const StudiedMatrix& studied) {
  if (!(memory_over(studied, "HDIA", "HLL") > 1)) return std::nullopt;
  return exceeds(1, speedup_over(studied, "HDIA", {"HLL"}));
}

constexpr double slight = 1.05;

std::optional<bool> two_threads_pay(const StudiedMatrix& studied, std::string_view name) {
  const double one = seconds_with(studied, name, "threads", 1);
  return exceeds(one / seconds_with(studied, name, "threads", 2), slight);
}

std::optional<bool> is_on_par(const StudiedMatrix& studied) {
  return exceeds(speedup_over(studied, "ELL-G", {"ELLR-T"}), 1 / slight);
}

std::optional<bool> takes_alike(const StudiedMatrix& studied) {
  const double ratio = memory_over(studied, "HLL", "HYB");
  return std::isnan(ratio) ? std::nullopt : std::optional(ratio > 0.8 && ratio < 1.25);
}

std::vector<Claim> claims() {
  return {
      {"4, Table 5",
       "HLL and HYB take similar memory in many cases",
       {share("share of matrices where they differ by less than a quarter", takes_alike).at_least(0.5)}},
      {"3.2, Table 5",
       "HLL takes about the memory of CSR",
       {mean("HLL over CSR where the longest row is at most 4 times the mean",
             [](const StudiedMatrix& one) { return hll_memory(one, true); })
            .at_most(1.25),
        mean("elsewhere", [](const StudiedMatrix& one) { return hll_memory(one, false); })}},
      {"4, Table 5",
       "HDIA takes less memory than HLL where there are diagonals (pde, FEM_3D_thermal2, nlpkkt)",
       {mean("HDIA over HLL",
             [](const StudiedMatrix& one) { return is_diagonal(one) ? memory_over(one, "HDIA", "HLL") : unknown; })
            .at_most(1)}},
      {"4, Tables 7, 8",
       "HDIA is substantially faster than HLL and HYB there",
       {arithmetic("average speed-up over the better",
                   [](const StudiedMatrix& one) { return speedup_of_hdia(one, "HDIA"); })
            .at_least(1.1),
        arithmetic("tuned", [](const StudiedMatrix& one) { return speedup_of_hdia(one, "HDIA (tuned)"); })}},
      {"4",
       "a format of diagonals loses where there are none",
       {share("share of matrices where HDIA takes more memory than HLL and is slower", loses_without_diagonals)
            .at_least(0.9)},
       true,
       {},
       "in float it takes at most twice as much memory on those where it is faster, and reads x in order"},
      {"4, Table 6",
       "HLL and HYB are essentially equally fast",
       {mean("HLL over HYB", [](const StudiedMatrix& one) { return speedup_over(one, "HLL", {"HYB"}); })
            .at_least(0.8)
            .at_most(1.25),
        mean("tuned", [](const StudiedMatrix& one) { return speedup_over(one, "HLL (tuned)", {"HYB"}); })},
       true,
       "HYB launches two kernels, which small matrices feel",
       "HYB goes over y twice, and its coordinates leave vector lanes idle"},
      {"Tables 6-8",
       "HLL is about as fast as ELL",
       {mean("HLL over ELL where the longest row is at most 4 times the mean",
             [](const StudiedMatrix& one) { return has_even_rows(one) ? speedup_over(one, "HLL", {"ELL"}) : unknown; })
            .at_least(0.9)}},
      {"4, Tables 9-11",
       "2 threads a row very rarely gain, and then slightly",
       {share("share of matrices where they gain more than 5 %, ELL-G",
              [](const StudiedMatrix& one) { return two_threads_pay(one, "ELL-G"); })
            .at_most(0.25),
        share("HLL", [](const StudiedMatrix& one) { return two_threads_pay(one, "HLL"); }).at_most(0.25)},
       false,
       "this device holds ten times as many threads: matrices of fewer rows than that gain"},
      {"4, Table 11",
       "ELL-G is on par with ELLR-T or slightly faster in all cases",
       {share("share of matrices where it is, or less than 5 % slower", is_on_par).at_least(1),
        mean("speed-up", [](const StudiedMatrix& one) { return speedup_over(one, "ELL-G", {"ELLR-T"}); })},
       true,
       "in all but one or two of 21: by up to 14 % slower where rows are short and uneven (mac_econ_fwd)",
       "there it is ELLR-T with T = 1, against the best of three T"}};
}

}  // namespace

Study three_formats_study() {
  return {.name = "three-formats",
          .paper =
              "Barbieri, Cardellini, Fanfarillo, Filippone, \"Three storage formats for sparse matrices on GPGPUs\", "
              "2015, 4",
          .short_paper = "Barbieri 2015",
          .byte_count = "the paper counts none; here x, y and the memory of the format once",
          .contenders = contenders(),
          .matrices = matrices(),
          .claims = claims()};
}

}  // namespace autospmv::tools
