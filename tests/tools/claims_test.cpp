// What contenders take of trials that are made up, and what claims say of them.
#include "tools/studies/claims.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "tools/studies/contenders.hpp"
#include "tools/studies/questions.hpp"

namespace autospmv::test {

namespace {

using tools::Contender;
using tools::Contest;
using tools::contest_of;
using tools::Role;
using tools::StudiedMatrix;
using tools::Verdict;

TrialRecord trial_of(const std::string& format, const Params& params, double seconds, std::int64_t bytes = 0) {
  TrialRecord trial{.candidate = {format, params}, .format_version = 1, .deterministic = true, .measurement = {}};
  trial.measurement.outcome = Outcome::passed;
  trial.measurement.warm = {seconds, seconds, seconds, 5};
  trial.measurement.bytes = bytes;
  return trial;
}

constexpr std::int64_t csr_bytes = 101 * 4 + 1000 * 12;

const tools::Study& find(const std::string& study) { return *tools::find_studies(study).front(); }

StudiedMatrix studied(const std::string& study, const std::vector<TrialRecord>& trials, double longest_row = 12,
                      const std::string& label = "m") {
  StudiedMatrix one;
  one.matrix = {label, 100, 100, 1000, "double", 8};
  one.mean_row = 10;
  one.longest_row = longest_row;
  one.copy_bandwidth = 1e9;
  one.trials = trials;
  return study_matrix(find(study), std::move(one));
}

const tools::Claim& claim_of(const std::string& study, const std::string& begin) {
  for (const auto& one : find(study).claims) {
    if (one.text.rfind(begin, 0) == 0) return one;
  }
  throw Error("no such claim: " + begin);
}

/// The first quantity whose name begins so, of the claim that begins so.
double measured(const std::string& study, const std::string& claim, const std::string& quantity,
                const std::vector<StudiedMatrix>& matrices) {
  for (const auto& value : claim_of(study, claim).measured) {
    if (value.name.rfind(quantity, 0) == 0) return value.value(matrices);
  }
  throw Error("no such quantity: " + quantity);
}

Verdict verdict(const std::string& study, const std::string& claim, const std::vector<StudiedMatrix>& matrices) {
  return judge(claim_of(study, claim), matrices).verdict;
}

// ---- Who takes which trials ----------------------------------------------------------------------------------------

TEST(Contenders, AsPublishedTakeNoEncodedCandidate) {
  const std::vector<Params> encoded = {
      {{"value_bits", 8}}, {{"value_bits", 32}}, {{"column_bits", 16}}, {{"symmetric", 1}}, {{"constants", 1}}};
  for (const auto& study : tools::all_studies()) {
    for (const auto& contender : study.contenders) {
      for (const auto& choice : tools::parse_candidates(contender.candidates)) {
        Candidate plain{choice.format, {}};
        for (const auto& axis : choice.values) plain.params.set(axis.name, axis.values.front());
        EXPECT_TRUE(takes(contender, contender.candidates, plain, 64)) << contender.name;
        for (const auto& encoding : encoded) {
          auto candidate = plain;
          for (const auto& one : encoding.values()) candidate.params.set(one.name, one.value);
          EXPECT_EQ(takes(contender, contender.candidates, candidate, 64), contender.role == Role::tuned)
              << contender.name << ": " << candidate.text();
        }
      }
    }
  }
}

TEST(Contenders, KeepToTheirParameters) {
  const Contender own{"SURAA", "suraa fused=0 max_child_threads=1024,2048; acsr", Role::own};
  const auto takes_it = [&](const std::string& format, const Params& params) {
    return takes(own, own.candidates, {format, params}, 64);
  };
  EXPECT_TRUE(takes_it("suraa", {{"fused", 0}, {"max_child_threads", 2048}}));
  EXPECT_FALSE(takes_it("suraa", {{"fused", 1}, {"max_child_threads", 2048}}));
  EXPECT_FALSE(takes_it("suraa", {{"fused", 0}, {"max_child_threads", 0}}));
  EXPECT_TRUE(takes_it("suraa", {{"T", 4}})) << "on a processor it has other parameters";
  EXPECT_TRUE(takes_it("acsr", {{"fused", 1}}));
  EXPECT_FALSE(takes_it("coo", {}));
}

TEST(Contenders, EveryPaperFormatStandsTwice) {
  for (const auto& study : tools::all_studies()) {
    for (const auto& contender : study.contenders) {
      if (contender.role != Role::own) continue;
      const auto tuned = std::string(contender.name) + " (tuned)";
      EXPECT_TRUE(std::any_of(study.contenders.begin(), study.contenders.end(), [&](const Contender& other) {
        return other.name == tuned && other.role == Role::tuned;
      })) << contender.name;
    }
  }
}

TEST(Contenders, NameParametersThatTheirFormatsHave) {
  Device gpu;
  gpu.backend = Backend::cuda;
  gpu.multiprocessors = 100;
  gpu.memory_bytes = std::int64_t{1} << 36;
  for (const auto& study : tools::all_studies()) {
    for (const auto& contender : study.contenders) {
      for (const auto& choice : tools::parse_candidates(contender.candidates)) {
        if (choice.format == tools::gathered_product || find_format<double>(choice.format) == nullptr) continue;
        EXPECT_NO_THROW(check_choices<double>(std::span(&choice, 1), gpu)) << contender.name;
      }
    }
  }
}

TEST(Contenders, AreMeasuredByWhatTheDeviceHas) {
  const auto host = host_device();
  const auto choices = tools::choices_for<double>(tools::find_studies("all"), host);
  EXPECT_NO_THROW(check_choices<double>(choices, host));
  EXPECT_TRUE(std::any_of(choices.begin(), choices.end(), [](const auto& one) { return one.text() == "suraa"; }));
  EXPECT_TRUE(std::any_of(choices.begin(), choices.end(),
                          [](const auto& one) { return one.text() == "hll hack=32 column_bits=32 value_bits=64"; }));
}

TEST(Contenders, EverySumIsDrawnFromTrialsOfTheirs) {
  const auto one = studied("ellr_t", {trial_of("ellr_t", {{"T", 1}, {"value_bits", 64}}, 3e-6, 1),
                                      trial_of("ellr_t", {{"T", 2}, {"value_bits", 64}}, 2e-6, 2),
                                      trial_of("ellr_t", {{"T", 2}, {"value_bits", 8}}, 1e-6, 3)});
  EXPECT_EQ(tools::seconds_with(one, "ELLR-T", "T", 2), 2e-6);
  EXPECT_EQ(tools::seconds_with(one, "ELLR-T (tuned)", "T", 2), 1e-6);
  EXPECT_EQ(tools::best_parameter(one, "ELLR-T", "value_bits"), 64);
  EXPECT_EQ(tools::seconds_of(contest_of(one, "ELLR-1")), 3e-6);
  EXPECT_EQ(memory_of(one, contest_of(one, "ELLR-T")), 2);
  EXPECT_EQ(fastest_of(one)->contender->name, "ELLR-T") << "as published";
}

TEST(Contenders, TakeOtherCandidatesWhereTheirOwnHaveNoTime) {
  auto refused = trial_of("suraa", {{"fused", 0}, {"max_child_threads", 2048}}, 1e-6);
  refused.measurement.outcome = Outcome::refused;
  const auto without = trial_of("suraa", {{"fused", 0}, {"max_child_threads", 0}}, 2e-6);
  EXPECT_EQ(seconds_of(contest_of(studied("suraa", {refused, without}), "SURAA")), 2e-6);
  refused.measurement.outcome = Outcome::passed;
  refused.measurement.warm.median = 9e-6;
  EXPECT_EQ(seconds_of(contest_of(studied("suraa", {refused, without}), "SURAA")), 9e-6) << "though it is slower";
}

TEST(Contenders, HybOfNoEllpackPartIsNoHyb) {
  const auto coordinates = trial_of("hyb", {{"K", 0}}, 1e-6);
  const auto ell = trial_of("ell", {}, 3e-6);
  EXPECT_EQ(seconds_of(contest_of(studied("ellr_t", {coordinates, ell}), "HYB")), 3e-6) << "all rows are as long";
  EXPECT_EQ(seconds_of(contest_of(studied("ellr_t", {coordinates, ell, trial_of("hyb", {{"K", 4}}, 5e-6)}), "HYB")),
            5e-6);
}

TEST(Contenders, WhatFailedHasNoTimeAndSaysWhy) {
  auto wrong = trial_of("hyb", {}, 1e-9, 1);
  wrong.measurement.outcome = Outcome::wrong_answer;
  wrong.measurement.detail = "1 rows";
  const auto one = studied("ellr_t", {wrong, trial_of("ellr_t", {{"T", 1}}, 1e-6, 1)});
  const auto& hyb = contest_of(one, "HYB");
  EXPECT_EQ(hyb.status, "wrong answer");
  EXPECT_EQ(hyb.detail, "1 rows");
  EXPECT_TRUE(std::isnan(seconds_of(hyb)));
  EXPECT_EQ(fastest_of(one)->contender->name, "ELLR-T");
  EXPECT_EQ(contest_of(one, "ELLPACK").status, "refused");
  EXPECT_EQ(contest_of(one, "MKL, one core").status, "missing");
}

TEST(Contenders, EveryFormatHasItsOwnCountOfBytes) {
  const auto bytes = [](const StudiedMatrix& one, const std::string& name) {
    return tools::effective_bandwidth(one, contest_of(one, name)) * 1e-6;
  };
  // 100 x 100 with 1000 nonzeros in double, and a microsecond a product.
  const auto ipcsr = studied(
      "ipcsr", {trial_of("pcsr", {}, 1e-6, 8000), trial_of("ipcsr", {}, 1e-6, 40), trial_of("coo", {}, 1e-6, 4000)});
  EXPECT_NEAR(bytes(ipcsr, "PCSR"), csr_bytes + 200 * 8 + 2 * 8000, 1e-6);
  EXPECT_NEAR(bytes(ipcsr, "IPCSR"), csr_bytes + 200 * 8 + 40, 1e-6);
  EXPECT_NEAR(bytes(ipcsr, "CUSP COO"), 1000 * 16 + 200 * 8, 1e-6);
  EXPECT_NEAR(bytes(ipcsr, "clSpMV"), csr_bytes + 4000 + 200 * 8, 1e-6) << "its best format is COO, on the CSR arrays";
  const auto csr_m =
      studied("csr_m", {trial_of("csr_vector", {{"T", 16}}, 1e-6), trial_of("gathered_product", {}, 1e-6, 8000),
                        trial_of("ell", {}, 1e-6, 14400), trial_of("ellr_t", {}, 1e-6, 14800)});
  EXPECT_NEAR(bytes(csr_m, "CSR-O"), 1000 * 20 + 101 * 4 + 200 * 8, 1e-6);
  EXPECT_NEAR(bytes(csr_m, "CSR-M"), 1000 * 16 + 101 * 4 + 200 * 8, 1e-6);
  EXPECT_NEAR(bytes(csr_m, "ELLPACK"), 1000 * 12 + 200 * 8, 1e-6);
  EXPECT_NEAR(bytes(csr_m, "ELLPACK-R"), 1000 * 12 + 100 * 4 + 200 * 8, 1e-6);
  const auto suraa = studied(
      "suraa", {trial_of("suraa", {}, 1e-6), trial_of("csr5", {{"sigma", 4}}, 1e-6), trial_of("csr_vector", {}, 1e-6)});
  EXPECT_NEAR(bytes(suraa, "SURAA"), 201 * 4 + 1000 * 12 + 200 * 8, 1e-6);
  EXPECT_NEAR(bytes(suraa, "CSR5"), 4 * (1000 + 101 + (1 + 1000.0 / 128) + 64 * 5) + 8 * 1200, 1e-6);
  EXPECT_NEAR(bytes(suraa, "CSR (CUSP)"), csr_bytes + 200 * 8, 1e-6);
}

// ---- Means ---------------------------------------------------------------------------------------------------------

TEST(Means, AreOfFiniteValues) {
  const std::vector<double> values{1, NAN, 4, INFINITY};
  EXPECT_DOUBLE_EQ(tools::geometric_mean(values), 2);
  EXPECT_DOUBLE_EQ(tools::arithmetic_mean(values), 2.5);
  EXPECT_TRUE(std::isnan(tools::geometric_mean({})));
  EXPECT_TRUE(std::isnan(tools::arithmetic_mean({})));
}

TEST(Means, ArePapersOwnBesideGeometricOnes) {
  const auto with = [](double pcsr) {
    return studied("ipcsr", {trial_of("ipcsr", {{"form", 0}}, 2e-6), trial_of("ipcsr", {{"form", 1}}, 1e-6),
                             trial_of("pcsr", {}, pcsr)});
  };
  const std::vector matrices{with(2e-6), with(8e-6)};
  EXPECT_DOUBLE_EQ(measured("ipcsr", "IPCSR is 1.76", "average", matrices), 2.5);
  EXPECT_DOUBLE_EQ(measured("ipcsr", "IPCSR is 1.76", "geometric", matrices), 2);
  EXPECT_DOUBLE_EQ(measured("ipcsr", "IPCSR is 1.76", "tuned", matrices), 5);
}

TEST(Means, AggregateIsTheSumOfThroughputs) {
  const auto with = [](double suraa, double csr5) {
    return studied("suraa", {trial_of("suraa", {}, suraa), trial_of("csr5", {{"sigma", 16}}, csr5)});
  };
  // 1 and 2 GFLOP/s against 2 and 0.5.
  const std::vector matrices{with(2e-6, 1e-6), with(1e-6, 4e-6)};
  EXPECT_DOUBLE_EQ(measured("suraa", "by aggregate", "CSR5", matrices), 3 / 2.5);
  EXPECT_DOUBLE_EQ(measured("suraa", "SURAA is on average", "average", matrices), 2.25);
}

TEST(Means, GrowthIsByADecade) {
  const std::vector<double> values{1, 2, 4, NAN};
  EXPECT_NEAR(tools::growth_a_decade(values, std::vector<double>{1, 10, 100, 1000}), 2, 1e-12);
  EXPECT_NEAR(tools::growth_a_decade(values, std::vector<double>{100, 10, 1, 0}), 0.5, 1e-12);
  EXPECT_TRUE(std::isnan(tools::growth_a_decade(values, std::vector<double>{1, 10, 0, 1}))) << "of two";
  EXPECT_TRUE(std::isnan(tools::growth_a_decade(values, std::vector<double>{5, 5, 5, 5})));
}

// ---- Verdicts ------------------------------------------------------------------------------------------------------

tools::Quantity of(double value) {
  return {"it", [=](tools::Matrices) { return value; }};
}

Verdict verdict_of(std::vector<tools::Quantity> quantities) {
  const std::vector matrices{studied("ipcsr", {})};
  return judge(tools::Claim{.place = "", .text = "", .measured = std::move(quantities)}, matrices).verdict;
}

TEST(Verdicts, AreByTheQuantitiesWithABound) {
  EXPECT_EQ(verdict_of({of(2).at_least(2), of(0)}), Verdict::holds);
  EXPECT_EQ(verdict_of({of(1).at_least(2), of(3)}), Verdict::fails);
  EXPECT_EQ(verdict_of({of(3).at_most(2)}), Verdict::fails);
  EXPECT_EQ(verdict_of({of(1).at_least(0.5).at_most(2)}), Verdict::holds);
  EXPECT_EQ(verdict_of({of(3).at_least(2), of(1).at_least(2)}), Verdict::fails);
  EXPECT_EQ(verdict_of({of(3).at_least(2), of(NAN).at_least(2)}), Verdict::holds) << "as far as it was measured";
  EXPECT_EQ(verdict_of({of(NAN).at_least(2), of(3)}), Verdict::unmeasured);
  EXPECT_EQ(verdict_of({of(1.6).at_least(1.8, 1.5)}), Verdict::holds) << "in double";
  EXPECT_EQ(judge(find("ipcsr").claims.front(), {}).verdict, Verdict::unmeasured);
}

TEST(Verdicts, EveryClaimHasACriterion) {
  for (const auto& study : tools::all_studies()) {
    EXPECT_FALSE(study.claims.empty());
    for (const auto& claim : study.claims) {
      EXPECT_NE(criterion_of(claim).find('='), std::string::npos) << claim.text;
      EXPECT_FALSE(claim.place.empty()) << claim.text;
    }
  }
}

TEST(Verdicts, AreGivenForEachRun) {
  auto first = studied("ipcsr", {}, 12, "a");
  first.backend = "host";
  first.device = "P";
  auto second = first;
  second.matrix.value_type = "float";
  auto again = first;
  again.mean_row = 7;
  const auto* ipcsr = &find("ipcsr");
  const auto runs = tools::runs_of({{ipcsr, first}, {ipcsr, second}, {ipcsr, again}});
  ASSERT_EQ(runs.size(), 2U);
  ASSERT_EQ(runs[0].matrices.at(ipcsr).size(), 1U);
  EXPECT_EQ(runs[0].matrices.at(ipcsr)[0].mean_row, 7) << "the last result counts";
}

// ---- The papers' -----------------------------------------------------------------------------------------------

TEST(Claims, EllrTIsComparedWithWhatThePaperMeasured) {
  const auto first = studied("ellr_t", {trial_of("ellr_t", {{"T", 2}, {"block", 128}}, 1e-6, 1),
                                        trial_of("sliced_ell", {}, 5e-7, 1), trial_of("csr_scalar", {}, 2e-6)});
  const auto second =
      studied("ellr_t", {trial_of("ellr_t", {{"T", 16}, {"block", 64}}, 3e-6, 1),
                         trial_of("ellr_t", {{"T", 16}, {"block", 128}}, 4e-6, 1), trial_of("csr_scalar", {}, 2e-6)});
  EXPECT_EQ(measured("ellr_t", "ELLR-T is the fastest", "share", {first}), 1) << "sliced ELLPACK was only described";
  EXPECT_EQ(verdict("ellr_t", "ELLR-T is the fastest", {first}), Verdict::holds);
  EXPECT_EQ(measured("ellr_t", "ELLR-T is the fastest", "share", {first, second}), 0.5);
  EXPECT_EQ(verdict("ellr_t", "ELLR-T is the fastest", {first, second}), Verdict::fails);
  EXPECT_EQ(measured("ellr_t", "its best T", "share", {first, second}), 0.5);
  EXPECT_TRUE(std::isnan(measured("ellr_t", "blocks of 128", "share", {first}))) << "no smaller one was tried";
  EXPECT_EQ(measured("ellr_t", "blocks of 128", "share", {first, second}), 0);
}

TEST(Claims, EllrTBandwidthIsOfMatricesBeyondTheCache) {
  auto large = studied("ellr_t", {trial_of("ellr_t", {{"T", 1}}, 28e-6, 1)});
  auto larger = studied("ellr_t", {trial_of("ellr_t", {{"T", 1}}, 20e-6, 1)});
  auto small = studied("ellr_t", {trial_of("ellr_t", {{"T", 1}}, 1e-6, 1)});
  const double bytes = 1000 * 12 + 100 * 4 + 200 * 8;
  small.cache_bytes = bytes;
  const std::vector matrices{large, small, larger};
  EXPECT_DOUBLE_EQ(measured("ellr_t", "its effective bandwidth", "least", matrices), bytes / 28e-6 / 1e9);
  EXPECT_DOUBLE_EQ(measured("ellr_t", "its effective bandwidth", "mean", matrices),
                   (bytes / 28e-6 + bytes / 20e-6) / 2 / 1e9);
  EXPECT_TRUE(std::isnan(measured("ellr_t", "its effective bandwidth", "least", {small})));
}

TEST(Claims, HllMemoryIsThatOfEvenRowsAndOfOthers) {
  const auto with = [](double factor, double longest_row) {
    const auto bytes = static_cast<std::int64_t>(factor * csr_bytes);
    return studied("three-formats", {trial_of("hll", {{"threads", 1}}, 1e-6, bytes)}, longest_row);
  };
  const std::vector matrices{with(1, 10), with(4, 40), with(3, 41)};
  EXPECT_NEAR(measured("three-formats", "HLL takes", "HLL over CSR where", matrices), 2, 1e-9);
  EXPECT_NEAR(measured("three-formats", "HLL takes", "elsewhere", matrices), 3, 1e-9);
  EXPECT_TRUE(std::isnan(measured("three-formats", "HLL takes", "elsewhere", {matrices[0]})));
}

TEST(Claims, HdiaIsAskedForOnMatricesOfDiagonals) {
  const auto with = [](const std::string& label, double hdia_seconds) {
    return studied("three-formats",
                   {trial_of("hll", {{"threads", 1}}, 2e-6, 1000), trial_of("hdia", {}, hdia_seconds, 900)}, 12, label);
  };
  const auto gain = [](const std::vector<StudiedMatrix>& matrices) {
    return measured("three-formats", "HDIA is substantially", "average", matrices);
  };
  EXPECT_DOUBLE_EQ(gain({with("gen:pde:50", 1e-6), with("nlpkkt80", 2e-6)}), 1.5);
  EXPECT_TRUE(std::isnan(gain({with("cant", 1e-6)})));
}

TEST(Claims, TwoThreadsAreComparedWithOne) {
  const auto with = [](double one, double two) {
    return studied("three-formats",
                   {trial_of("hll", {{"threads", 1}, {"hack", 32}}, one, 1), trial_of("hll", {{"threads", 2}}, two, 1),
                    trial_of("hll", {{"threads", 2}, {"hack", 64}}, two / 9, 1),
                    trial_of("hll", {{"threads", 2}, {"column_bits", 16}}, two / 9, 1)});
  };
  EXPECT_EQ(measured("three-formats", "2 threads", "HLL", {with(1e-6, 0.97e-6), with(1e-6, 0.9e-6)}), 0.5);
  EXPECT_TRUE(std::isnan(measured("three-formats", "2 threads", "share", {with(1e-6, 2e-6)}))) << "nothing of ELL-G";
}

TEST(Claims, IpcsrIsComparedWithEachOfItsRivals) {
  const auto one =
      studied("ipcsr", {trial_of("ipcsr", {}, 2e-6), trial_of("pcsr", {}, 6e-6), trial_of("csr5", {}, 3e-6),
                        trial_of("csr_scalar", {}, 8e-6), trial_of("hyb", {}, 5e-6), trial_of("bsr", {}, 4e-6)});
  const auto another = studied("ipcsr", {trial_of("ipcsr", {}, 3e-6), trial_of("pcsr", {}, 1e-6)});
  EXPECT_NEAR(measured("ipcsr", "IPCSR is 1.76", "geometric", {one, another}), 1, 1e-12);
  EXPECT_NEAR(measured("ipcsr", "it is faster than PCSR", "least", {one, another}), 1.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(measured("ipcsr", "it is 1.21", "average", {one, another}), 1.5) << "CSR5 has a time on one only";
  EXPECT_DOUBLE_EQ(measured("ipcsr", "it is 1.43", "average", {one}), 2.5) << "HYB is the best of CUSP's six";
  EXPECT_DOUBLE_EQ(measured("ipcsr", "it is 1.55", "average", {one}), 2) << "BSR is the best of clSpMV's formats";
  EXPECT_TRUE(std::isnan(measured("ipcsr", "it is 1.02", "average", {one}))) << "no time of CSR-Adaptive";
}

TEST(Claims, CsrBIsAskedForByTheLengthOfRows) {
  const auto with = [](double mean_row, double bound, double gathered) {
    auto one = studied("csr_m", {trial_of("csr_vector", {{"T", 32}}, 3e-7), trial_of("csr_vector", {{"T", 16}}, 2e-6),
                                 trial_of("gathered_product", {{"T", 16}}, gathered),
                                 trial_of("csr_gathered", {{"T", 16}}, 4e-6), trial_of("csr_bound", {}, bound)});
    one.mean_row = mean_row;
    return one;
  };
  const std::vector matrices{with(4, 9e-7, 1e-6), with(4, 1.5e-6, 1e-6), with(40, 3e-6, 1e-6)};
  EXPECT_EQ(measured("csr_m", "CSR-B is the fastest", "share", matrices), 0.5);
  EXPECT_EQ(measured("csr_m", "it is the slowest", "share", matrices), 1);
  EXPECT_DOUBLE_EQ(measured("csr_m", "CSR-M, whose", "average", {matrices[2]}), 2);
  EXPECT_DOUBLE_EQ(measured("csr_m", "CSR-M, whose", "with its gather", {matrices[2]}), 0.5);
}

TEST(Claims, SuraaIsComparedAsItsPaperDoes) {
  const auto with = [](double variance, double suraa, double setup) {
    auto trial = trial_of("suraa", {}, suraa);
    trial.measurement.setup_seconds = setup;
    auto one = studied("suraa", {trial, trial_of("csr5", {{"sigma", 16}}, 2e-6), trial_of("acsr", {}, 1e-7)});
    one.row_variance = variance;
    return one;
  };
  const std::vector matrices{with(1000, 1e-6, 6e-6), with(100, 2e-6, 12e-6), with(10, 4e-6, 24e-6)};
  EXPECT_NEAR(measured("suraa", "it is the fastest", "share", matrices), 1.0 / 3, 1e-12)
      << "ACSR was only described, and CSR5 is as fast on the second";
  EXPECT_NEAR(measured("suraa", "its setup", "mean", matrices), 6, 1e-12);
  EXPECT_EQ(verdict("suraa", "its setup", matrices), Verdict::fails);
  EXPECT_NEAR(measured("suraa", "so does its speed-up", "by a tenfold", matrices), 2, 1e-9);
  EXPECT_EQ(verdict("suraa", "so does its speed-up", matrices), Verdict::holds);
  EXPECT_EQ(verdict("suraa", "8192 child kernels", matrices), Verdict::unmeasured);
}

}  // namespace

}  // namespace autospmv::test
