// ELLR-T against CRS, ELLPACK and HYB.

#include "tools/studies/contenders.hpp"
#include "tools/studies/questions.hpp"

namespace autospmv::tools {

namespace {

// Its threads stop where their rows end, so that a length a row is read and no padding.
double entries_and_lengths(const StudiedMatrix& studied, const Contest& /*contest*/) {
  constexpr std::int64_t index_bytes = sizeof(std::int32_t);
  const auto& matrix = studied.matrix;
  const auto arrays = matrix.rows * index_bytes + matrix.nnz * (index_bytes + matrix.value_bytes);
  return static_cast<double>(arrays) + vector_bytes(matrix);
}

std::vector<Contender> contenders() {
  using enum Role;
  return {{"CRS", "csr_scalar", rival, csr_arrays},
          {"CRS(vector)", "csr_vector T=32", rival, csr_arrays, "csr_vector"},
          {"SpMV4GPU", "csr_padded pad=16 T=16 load=1", rival, everything_stored, "csr_padded"},
          {"ELLPACK", "ell", rival, everything_stored},
          {"HYB", "hyb", rival, everything_stored, "ell", "hyb K=0"},
          {"Sliced ELLPACK", "sliced_ell", described, everything_stored},
          {"BELLPACK", "bell", described, everything_stored},
          {"ELLR-1", "ellr_t T=1", described, entries_and_lengths},
          {"ELLR-T", "ellr_t", own, entries_and_lengths},
          {"ELLR-T (tuned)", "ellr_t; sliced_ell; sell_p C=32", tuned, everything_stored},
          {"MKL, one core", mkl_product, described, csr_arrays}};
}

std::vector<PaperMatrix> matrices() {
  return {{"qh1484", "Bai/qh1484", 1484, 1484, 6110},
          {"dw2048", "Bai/dw2048", 2048, 2048, 10114},
          {"rbs480a", "Bai/rbs480a", 480, 480, 17087},
          {"gemat12", "HB/gemat12", 4929, 4929, 33111},
          {"dw8192", "Bai/dw8192", 8192, 8192, 41746},
          {"mhd3200a", "Bai/mhd3200a", 3200, 3200, 68026},
          {"e20r4000", "", 4241, 4241, 131556},
          {"bcsstk24", "HB/bcsstk24", 3562, 3562, 159910},
          {"mac_econ", "Williams/mac_econ_fwd500", 206500, 206500, 1273389},
          {"qcd5_4", "QCD/conf5_4-8x8-05", 49152, 49152, 1916928},
          {"mc2depi", "Williams/mc2depi", 525825, 525825, 2100225},
          {"rma10", "Bova/rma10", 46835, 46835, 2374001},
          {"cop20k_A", "Williams/cop20k_A", 121192, 121192, 2624331},
          {"wbp128", "", 16384, 16384, 3933095},
          {"dense2", "", 2000, 2000, 4000000},
          {"cant", "Williams/cant", 62451, 62451, 4007383},
          {"pdb1HYS", "Williams/pdb1HYS", 36417, 36417, 4344765},
          {"consph", "Williams/consph", 83334, 83334, 6010480},
          {"shipsec1", "DNVS/shipsec1", 140874, 140874, 7813404},
          {"pwtk", "Boeing/pwtk", 217918, 217918, 11634424},
          {"wbp256", "", 65536, 65536, 31413932}};
}

// Those on which HYB does not gain, as nearly all entries are in its ELLPACK part.
bool is_even_for_hyb(const StudiedMatrix& studied) {
  static const auto all = matrices();
  return is_one_of(studied, all, {"qcd5_4", "mc2depi", "cop20k_A", "wbp128", "consph", "wbp256"});
}

Quantity average_of(std::string title, std::string_view name, const Names& rivals) {
  return average_speedup(std::move(title), name, rivals).at_least(1);
}

std::optional<bool> is_slowest(const StudiedMatrix& studied) {
  double slowest = 0;
  for (const auto* name : {"CRS(vector)", "SpMV4GPU", "ELLPACK", "HYB", "ELLR-T"}) {
    slowest = std::fmax(slowest, seconds_of(contest_of(studied, name)));
  }
  return exceeds(seconds_of(contest_of(studied, "CRS")), slowest);
}

Quantity share_faster_than_crs(std::string_view name) {
  return share(std::string(name),
               [=](const StudiedMatrix& one) { return exceeds(speedup_over(one, name, {"CRS"}), 1); })
      .at_least(0.5);
}

std::optional<bool> has_few_threads(const StudiedMatrix& studied) {
  const auto threads = best_parameter(studied, "ELLR-T", "T");
  return threads ? std::optional(*threads <= 8) : std::nullopt;
}

// Nothing where no smaller block was tried.
std::optional<bool> has_large_block(const StudiedMatrix& studied) {
  double small = unknown;
  for (const auto block : {16, 32, 64}) small = std::fmin(small, seconds_with(studied, "ELLR-T", "block", block));
  return exceeds(small, seconds_of(contest_of(studied, "ELLR-T")));
}

std::vector<Claim> claims() {
  return {
      {"V, VI",
       "ELLR-T is the fastest of its set on every matrix",
       {share("share of matrices where it is", [](const StudiedMatrix& one) { return is_fastest(one, "ELLR-T"); })
            .at_least(1),
        mean("speed-up over the fastest other",
             [](const StudiedMatrix& one) {
               return speedup_over(one, "ELLR-T", {"CRS", "CRS(vector)", "SpMV4GPU", "ELLPACK", "HYB"});
             }),
        mean("tuned",
             [](const StudiedMatrix& one) {
               return speedup_over(one, "ELLR-T (tuned)", {"CRS", "CRS(vector)", "SpMV4GPU", "ELLPACK", "HYB"});
             })},
       true,
       "on the others SpMV4GPU, CRS(vector) or ELLPACK is, by a few per cent: caches make up for reads that are not "
       "aligned",
       "it is on short and even rows only: elsewhere one stream of entries, as in CRS, beats one for each column"},
      {"V",
       "with one thread a row it is faster on average than HYB",
       {average_of("speed-up", "ELLR-1", {"HYB"})},
       true,
       {},
       "it is where rows are even, and several times slower where they are not"},
      {"V, Table I",
       "its effective bandwidth on large matrices is at least 57 % of the peak",
       {bandwidth_range("ELLR-T", 0.57, 0.57)},
       true,
       {},
       "rows of unequal or great length"},
      {"V",
       "its best T is at most 8",
       {share("share of matrices where it is", has_few_threads).at_least(1)},
       false,
       "warps hide more latency here: on matrices of few and long rows 16 or 32 threads a row fill the device"},
      {"V",
       "blocks of 128 threads and more beat smaller ones",
       {share("share of matrices where they do", has_large_block).at_least(1)},
       false,
       "no kernel here takes smaller blocks"},
      {"V (2)",
       "CRS is in general the slowest",
       {share("share of matrices where it is", is_slowest).at_least(0.5)},
       false,
       "caches gather what a warp of CRS reads apart: the slowest are HYB, which launches two kernels, and CRS(vector) "
       "on short rows"},
      {"V (3)",
       "CRS(vector) and SpMV4GPU are faster than CRS with most matrices",
       {share_faster_than_crs("CRS(vector)"), share_faster_than_crs("SpMV4GPU")},
       false},
      {"V (3)", "SpMV4GPU is faster than CRS(vector)", {average_of("speed-up", "SpMV4GPU", {"CRS(vector)"})}, false},
      {"V (4)",
       "ELLPACK is in general faster than both of them",
       {average_of("speed-up", "ELLPACK", {"CRS(vector)", "SpMV4GPU"})},
       false,
       "one thread a row leaves the device empty where there are few rows, and CRS(vector) does not"},
      {"V (5)",
       "HYB is in general faster than the four before it",
       {average_of("speed-up", "HYB", {"CRS", "CRS(vector)", "SpMV4GPU", "ELLPACK"})},
       true,
       "its second kernel costs as much as the whole product of a small matrix",
       "CRS is the fastest of the four there"},
      {"V (5)",
       "but not than ELLPACK on qcd5_4, mc2depi, cop20k_A, wbp128, consph and wbp256",
       {arithmetic("speed-up",
                   [](const StudiedMatrix& one) {
                     return is_even_for_hyb(one) ? speedup_over(one, "HYB", {"ELLPACK"}) : unknown;
                   })
            .at_most(1)},
       true,
       "on cop20k_A HYB leaves out most of the padding; on the others the two are equal or ELLPACK is faster",
       "ELLPACK multiplies its padding, and HYB has less of it"},
      {"V, VI, Table I",
       "it is up to 30 times as fast as MKL on one core",
       {Quantity{"largest speed-up",
                 [](Matrices all) {
                   return largest(values_of(
                       all, [](const StudiedMatrix& one) { return speedup_over(one, "ELLR-T", {"MKL, one core"}); }));
                 }}
            .at_least(30)},
       false}};
}

}  // namespace

Study ellr_t_study() {
  return {
      .name = "ellr_t",
      .paper =
          "Vazquez, Ortega, Fernandez, Garzon, \"Improving the performance of the sparse matrix vector product with "
          "GPUs\", 2010, V",
      .short_paper = "Vazquez 2010",
      .byte_count =
          "bytes read and written over time, as the CUDA guide counts that the paper refers to: x, y and the "
          "stored arrays once, for ELLR-T without padding, which it does not read",
      .contenders = contenders(),
      .matrices = matrices(),
      .claims = claims()};
}

}  // namespace autospmv::tools
