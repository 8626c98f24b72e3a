// SURAA against CSR, HYB, BSR, CSR5, SELL-P and the two kernels of ELL-WARP, on matrices with rows of very different
// lengths.

#include <cmath>

#include "tools/studies/questions.hpp"

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

std::vector<Contender> contenders() {
  using enum Role;
  return {{"CSR (cuSPARSE)", "cusparse_csr", rival, csr_arrays},
          {"CSR (CUSP)", "csr_vector", rival, csr_arrays},
          {"HYB", "hyb", rival, by_formula_6, "ell", "hyb K=0"},
          {"BSR (cuSPARSE)", "cusparse_bsr", rival, everything_stored},
          {"BSR (here)", "bsr", described, everything_stored},
          {"CSR5", "csr5", rival, by_formula_10},
          {"SELL-P", "sell_p", rival, by_formula_9},
          {"WPK1", "ell_warp", rival, by_formula_12},
          {"WPK2", "ell_warp_split", rival, by_formula_12},
          {"ACSR", "acsr", described, everything_stored},
          {"binned CSR", "csr_binned", described, everything_stored},
          {"balanced COO", "coo_balanced", described, everything_stored},
          // Where no row is long enough for a child kernel, the paper's tool launches none.
          {"SURAA", "suraa entries=0 fused=0 width=100 split=0 max_child_threads=1024,2048,4096,8192", own,
           by_formula_13, "suraa entries=0 fused=0 width=100 split=0 max_child_threads=0"},
          {"SURAA (tuned)", "suraa; csr_sorted_bins", tuned, by_formula_13}};
}

std::vector<PaperMatrix> matrices() {
  return {{"12month1", "Buss/12month1", 12471, 872622, 22624727},
          {"amazon0312", "SNAP/amazon0312", 400727, 400727, 3200440},
          {"bundle_adj", "Mazaheri/bundle_adj", 513351, 513351, 20207907},
          {"Freescale1", "Freescale/Freescale1", 3428755, 3428755, 18920347},
          {"FullChip", "Freescale/FullChip", 2987012, 2987012, 26621990},
          {"hollywood-2009", "LAW/hollywood-2009", 1139905, 1139905, 57515616},
          {"in-2004", "LAW/in-2004", 1382908, 1382908, 16917053},
          {"mouse_gene", "Belcastro/mouse_gene", 45101, 45101, 14506196},
          {"rail4284", "Mittelmann/rail4284", 4284, 1096894, 11284032},
          {"RM07R", "Fluorem/RM07R", 381689, 381689, 37464962},
          {"spal_004", "Mittelmann/spal_004", 10203, 321696, 46168124},
          {"thermal2", "Schmid/thermal2", 1228045, 1228045, 4904179},
          {"TSOPF_RS_b2383", "TSOPF/TSOPF_RS_b2383", 38120, 38120, 16171169},
          {"wb-edu", "Gleich/wb-edu", 9845725, 9845725, 57156537},
          {"Zd_Jac2", "VanVelzen/Zd_Jac2", 22835, 22835, 1642833},
          {"llr71c", "Mallya/lhr71c", 70304, 70304, 1528092},
          {"bundle1", "Lourakis/bundle1", 10581, 10581, 770811},
          {"thermomech_TK", "Botonakis/thermomech_TK", 102158, 102158, 711558},
          {"Andrews", "Andrews/Andrews", 60000, 60000, 760154},
          {"ASIC_680K", "Sandia/ASIC_680k", 682862, 682862, 2638997},
          {"flickr", "Gleich/flickr", 820878, 820878, 9837214},
          {"torso1", "Norris/torso1", 116158, 116158, 8516500},
          {"SiO2", "PARSEC/SiO2", 155331, 155331, 11283503},
          {"Ga3As3H12", "PARSEC/Ga3As3H12", 61349, 61349, 5970947},
          {"av41092", "Vavasis/av41092", 41092, 41092, 1683902},
          // Named in the text (5.4); the table has 25 matrices.
          {"nemeth23", "Nemeth/nemeth23", 9506, 9506, 1506810}};
}

// ---- What the claims are about

/// By the name of a rival in the claims: of the CSR of two libraries the best counts.
const std::vector<Names>& rivals() {
  static const std::vector<Names> all = {{"CSR5"},           {"WPK2"}, {"HYB"},   {"CSR (cuSPARSE)", "CSR (CUSP)"},
                                         {"BSR (cuSPARSE)"}, {"WPK1"}, {"SELL-P"}};
  return all;
}

Names every_rival() {
  Names names;
  for (const auto& rival : rivals()) names.insert(names.end(), rival.begin(), rival.end());
  return names;
}

/// Of what the paper calls a scheme.
double speedup_of_suraa(const StudiedMatrix& studied, const Names& rival) {
  return speedup_over(studied, "SURAA", rival);
}

Quantity average_over(std::string title, const Names& rival) {
  return average_speedup(std::move(title), "SURAA", rival);
}

double average_over_all(Matrices matrices) {
  std::vector<double> averages;
  for (const auto& rival : rivals()) averages.push_back(average_over("", rival).value(matrices));
  return arithmetic_mean(averages);
}

// Equation (5): the sums of throughputs.
Quantity aggregate_over(std::string title, std::string_view rival) {
  return {std::move(title),
          [=](Matrices all) { return aggregate_gflops(all, "SURAA") / aggregate_gflops(all, rival); }};
}

/// A number of SURAA over the largest of the others'.
template <class Number>
Quantity over_the_next(std::string title, Number number) {
  return {std::move(title), [=](Matrices all) {
            double next = unknown;
            for (const auto name : every_rival()) next = std::fmax(next, number(all, name));
            return number(all, "SURAA") / next;
          }};
}

std::vector<double> gflops_on_all(Matrices matrices, std::string_view name) {
  return values_of(matrices, [&](const StudiedMatrix& one) { return gflops_of(one, contest_of(one, name)); });
}

double mean_gflops(Matrices matrices, std::string_view name) { return arithmetic_mean(gflops_on_all(matrices, name)); }

double most_gflops(Matrices matrices, std::string_view name) { return largest(gflops_on_all(matrices, name)); }

double mean_bandwidth(Matrices matrices, std::string_view name) {
  return arithmetic_mean(
      values_of(matrices, [&](const StudiedMatrix& one) { return effective_bandwidth(one, contest_of(one, name)); }));
}

double share_of_copy(const StudiedMatrix& studied) {
  return effective_bandwidth(studied, contest_of(studied, "SURAA")) / studied.copy_bandwidth;
}

double variance_of(const StudiedMatrix& studied) { return studied.row_variance; }

/// Where the variance of npr is tenfold.
Quantity gain_over(std::string title, const Names& rival) {
  return {std::move(title), [=](Matrices all) {
            return growth_a_decade(
                all, [&](const StudiedMatrix& one) { return speedup_of_suraa(one, rival); }, variance_of);
          }};
}

Quantity setup_of(std::string title, std::string_view name) {
  return arithmetic(std::move(title), [=](const StudiedMatrix& one) { return setup_products(contest_of(one, name)); });
}

Quantity setup_over(std::string title, std::string_view rival) {
  return {std::move(title),
          [=](Matrices all) { return setup_of("", rival).value(all) / setup_of("", "SURAA").value(all); }};
}

double setup_milliseconds(const StudiedMatrix& studied) {
  const auto& best = contest_of(studied, "SURAA").best;
  return best ? best->measurement.setup_seconds * 1e3 : unknown;
}

double on_spal(const StudiedMatrix& studied, double value) {
  static const auto all = matrices();
  return is_one_of(studied, all, {"spal_004"}) ? value : unknown;
}

double gain_of_children(const StudiedMatrix& studied) {
  return on_spal(studied, seconds_with(studied, "SURAA", "max_child_threads", 2048) /
                              seconds_with(studied, "SURAA", "max_child_threads", 8192));
}

double price_of_children(const StudiedMatrix& studied) {
  double without = unknown;
  for (const auto& trial : contest_of(studied, "SURAA (tuned)").trials) {
    if (trial.candidate.params.find("max_child_threads") != 0 || !is_timed(trial.measurement)) continue;
    without = std::fmin(without, median_of(trial.measurement.warm));
  }
  return on_spal(studied, seconds_of(contest_of(studied, "SURAA")) / without);
}

double on_even_rows(const StudiedMatrix& studied) {
  static const auto all = matrices();
  return is_one_of(studied, all, {"thermal2", "amazon0312"}) ? speedup_of_suraa(studied, {"HYB"}) : unknown;
}

std::vector<Claim> claims_of_speed() {
  return {
      {"5.3.1", "SURAA is on average 1.1 times as fast as CSR5", speedups("SURAA", {"CSR5"}, {1.1, 1.1}), true,
       "a kernel a segment, and one for each long row: 100 to 900 us of launches, where all bins in one take 6 to 25"},
      {"5.3.1", "1.15 times as WPK2", speedups("SURAA", {"WPK2"}, {1.15, 1.15}), true,
       "a kernel a segment, and one for each long row: 100 to 900 us of launches, where all bins in one take 6 to 25",
       "HYB, WPK2 and SELL-P fill vector lanes with rows, of which float has twice as many"},
      {"5.3.1", "1.5 times as HYB", speedups("SURAA", {"HYB"}, {1.5, 1.5}), true,
       "a kernel a segment, and one for each long row: 100 to 900 us of launches, where all bins in one take 6 to 25",
       "HYB, WPK2 and SELL-P fill vector lanes with rows, of which float has twice as many"},
      {"5.3.1", "12.98 times as the best CSR", speedups("SURAA", {"CSR (cuSPARSE)", "CSR (CUSP)"}, {12.98, 12.98}),
       true,
       "a kernel a segment, and one for each long row: 100 to 900 us of launches, where all bins in one take 6 to 25",
       "few threads, and shares of equal nonzeros: a long row costs no rival there what it costs on a GPU"},
      {"5.3.1", "11.33 times as BSR of cuSPARSE", speedups("SURAA", {"BSR (cuSPARSE)"}, {11.33, 11.33}), false,
       "launches, as above; it is where blocks would be nearly empty (ASIC_680K)"},
      {"5.3.1", "29.89 times as WPK1", speedups("SURAA", {"WPK1"}, {29.89, 29.89}), true,
       "launches, as above; it is where one row is longer than all others together (ASIC_680K: 190 times)",
       "few threads: only the longest row of all, in ASIC_680K, costs it several times as much"},
      {"5.3.1", "40 times as SELL-P", speedups("SURAA", {"SELL-P"}, {40, 40}), true,
       "launches, as above; it is where one row is longer than all others together (ASIC_680K: 47 times)",
       "few threads, and shares of equal nonzeros: a long row costs no rival there what it costs on a GPU"},
      {"Abstract, 6",
       "13.99 times as the others on average",
       {Quantity{"mean of the average speed-ups", average_over_all}.at_least(13.99)},
       true,
       "launches, as above; the average is that of one matrix, ASIC_680K",
       "few threads, and shares of equal nonzeros: a long row costs no rival there what it costs on a GPU"},
      {"5.3.1",
       "it is the fastest on 20 of 26 matrices (0.77)",
       {share("share of matrices where it is", [](const StudiedMatrix& one) { return is_fastest(one, "SURAA"); })
            .at_least(0.77)},
       true,
       "a kernel a segment, and one for each long row: 100 to 900 us of launches, where all bins in one take 6 to 25",
       "SELL-P and plain CSR are faster on most"},
      {"5.3.1",
       "but HYB is faster on thermal2 and amazon0312",
       {arithmetic("speed-up", on_even_rows).at_most(1)},
       true,
       {},
       "going over y twice costs HYB more there than unequal rows cost SURAA"},
      {"5.3.2, Table 4",
       "its mean and its largest throughput are the highest",
       {over_the_next("mean over that of the next", mean_gflops).at_least(1),
        over_the_next("largest", most_gflops).at_least(1)},
       true,
       "a kernel a segment, and one for each long row: 100 to 900 us of launches, where all bins in one take 6 to 25",
       "those of SELL-P are higher"},
      {"5.3.2, Figure 8",
       "by aggregate throughput it gains 1.1 over CSR5, 1.49 over HYB, 1.87 over WPK2, 2 over SELL-P",
       {aggregate_over("CSR5", "CSR5").at_least(1.1), aggregate_over("HYB", "HYB").at_least(1.49),
        aggregate_over("WPK2", "WPK2").at_least(1.87), aggregate_over("SELL-P", "SELL-P").at_least(2)},
       true,
       "a kernel a segment, and one for each long row: 100 to 900 us of launches, where all bins in one take 6 to 25",
       "WPK2, which failed on ten matrices there, runs on all of them here; SELL-P is faster"}};
}

std::vector<Claim> claims_of_the_rest() {
  return {
      {"5.3.3, Figure 9",
       "it reaches half of the peak bandwidth on average, more than the others",
       {arithmetic("mean share of the copy bandwidth", share_of_copy).at_least(0.5),
        over_the_next("mean over that of the next", mean_bandwidth).at_least(1)},
       true,
       "a kernel a segment, and one for each long row: 100 to 900 us of launches, where all bins in one take 6 to 25",
       "SELL-P and plain CSR reach more"},
      {"5.4, Figure 10",
       "its throughput grows with the variance of npr",
       {Quantity{"by a tenfold variance",
                 [](Matrices all) {
                   return growth_a_decade(
                       all, [](const StudiedMatrix& one) { return gflops_of(one, contest_of(one, "SURAA")); },
                       variance_of);
                 }}
            .at_least(1)},
       true,
       "the more lengths, the more segments, and each is a launch"},
      {"5.4, Figures 11, 12",
       "so does its speed-up over the others",
       {gain_over("by a tenfold variance, CSR5", {"CSR5"}).at_least(1), gain_over("WPK2", {"WPK2"}).at_least(1),
        gain_over("HYB", {"HYB"}).at_least(1), gain_over("CSR", rivals()[3]).at_least(1),
        gain_over("WPK1", {"WPK1"}).at_least(1), gain_over("SELL-P", {"SELL-P"}).at_least(1)},
       true,
       "the more lengths, the more segments, and each is a launch; over WPK1 and SELL-P, which long rows hurt, it does",
       "few threads, and shares of equal nonzeros: long rows cost WPK2 and SELL-P no more than short ones"},
      {"5.6, Figure 15",
       "its setup takes as long as 5 products, that of SELL-P 69 and that of CSR5 96",
       {setup_of("mean in products", "SURAA").at_most(5), setup_of("SELL-P", "SELL-P"), setup_of("CSR5", "CSR5"),
        setup_over("SELL-P over it", "SELL-P").at_least(1), setup_over("CSR5 over it", "CSR5").at_least(1)}},
      {"5.6, Figure 16",
       "sorting takes less than 3 ms on average",
       {arithmetic("mean ms of the whole setup, which includes it", setup_milliseconds).at_most(3)},
       false},
      {"5.5",
       "8192 child kernels are 1.43 times as fast as 2048 on spal_004",
       {arithmetic("speed-up", gain_of_children).at_least(1.43),
        arithmetic("time with the best over none", price_of_children)},
       false}};
}

std::vector<Claim> claims() {
  auto all = claims_of_speed();
  for (auto& claim : claims_of_the_rest()) all.push_back(std::move(claim));
  return all;
}

}  // namespace

Study suraa_study() {
  return {.name = "suraa",
          .paper =
              "Muhammed, Mehmood, Albeshri, Katib, \"SURAA: a novel method and tool for loadbalanced and coalesced "
              "SpMV computations on GPUs\", 2019, 5",
          .short_paper = "Muhammed 2019",
          .byte_count =
              "the paper's formulas (6) to (13), which count no padding; where it has none, x, y and the stored "
              "arrays once",
          .contenders = contenders(),
          .matrices = matrices(),
          .claims = claims()};
}

}  // namespace autospmv::tools
