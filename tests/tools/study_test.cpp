// The papers' comparisons: what the program prints of them, and what their claims say of trials that are made up.
#include "tools/study.hpp"

#include <cmath>
#include <map>
#include <set>

#include "tests/tools/program.hpp"

namespace autospmv::test {

namespace {

using tools::Contest;
using tools::find_study;
using tools::MatrixSummary;
using tools::StudiedMatrix;
using tools::study_matrix;

// ---- What the program prints -------------------------------------------------------------------------------------

class StudyRun : public ProgramTest {
 protected:
  [[nodiscard]] Finished study(const std::string& name, std::vector<std::string> words) const {
    words.insert(words.begin(), {"bench", "--study", name, "--backend", "host", "--db", path("trials.db")});
    return run(std::move(words));
  }

  [[nodiscard]] std::set<std::string> formats_of_this_build() const {
    std::set<std::string> names;
    const auto listed = run({"formats", "--json"}).json_lines();
    for (const auto& format : listed.at(0)) names.insert(format["name"]);
    return names;
  }
};

std::map<std::string, Json> by_format(const Json& formats) {
  std::map<std::string, Json> entries;
  for (const auto& entry : formats) entries[entry["format"]] = entry;
  return entries;
}

// Every row is full in the first, and one row is full in the second.
std::string dense_matrix(int size) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n" + std::to_string(size) + ' ' +
                     std::to_string(size) + ' ' + std::to_string(size * size) + '\n';
  for (int i = 1; i <= size; ++i) {
    for (int j = 1; j <= size; ++j) text += std::to_string(i) + ' ' + std::to_string(j) + " 1.5\n";
  }
  return text;
}

std::string arrow_matrix(int size) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n" + std::to_string(size) + ' ' +
                     std::to_string(size) + ' ' + std::to_string(2 * size) + '\n';
  for (int i = 1; i <= size; ++i) {
    text += std::to_string(i) + ' ' + std::to_string(i) + " 1.5\n1 " + std::to_string(i) + " 0.5\n";
  }
  return text;
}

TEST_F(StudyRun, GivesAnObjectAMatrixAndOneForAllOfThem) {
  const auto dense = write("dense.mtx", dense_matrix(40));
  const auto arrow = write("arrow.mtx", arrow_matrix(3000));
  const auto finished = study("ellr_t", {"--json", dense, arrow});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const auto lines = finished.json_lines();
  ASSERT_EQ(lines.size(), 3U);

  EXPECT_EQ(lines[0]["study"], "ellr_t");
  EXPECT_EQ(lines[0]["longest_row"], 40);
  EXPECT_EQ(lines[0]["mean_row"], 40);
  const double csr_mb = (41 * 4 + 1600 * 12) * 1e-6;
  EXPECT_DOUBLE_EQ(lines[0]["csr_mb"], csr_mb);
  auto on_dense = by_format(lines[0]["formats"]);
  const auto& csr = on_dense["csr_scalar"];
  EXPECT_EQ(csr["name"], "CRS");
  EXPECT_EQ(csr["status"], "measured");
  EXPECT_DOUBLE_EQ(csr["memory_mb"], csr_mb);
  const auto& own = on_dense["ellr_t"];
  ASSERT_EQ(own["status"], "measured") << own["detail"];
  const double us = own["median_us"];
  EXPECT_DOUBLE_EQ(own["gflops"], 2 * 1600 / us * 1e-3);
  EXPECT_DOUBLE_EQ(own["effective_gbs"], (1600 * 12 + 40 * 4 + 80 * 8) / us * 1e-3);
  EXPECT_GT(own["setup_products"], 0);
  EXPECT_GE(own["memory_mb"].get<double>(), 1600 * 12e-6);
  EXPECT_DOUBLE_EQ(own["speedups"]["ELLR-T"], 1);
  EXPECT_DOUBLE_EQ(csr["speedups"]["ELLR-T"], csr["median_us"].get<double>() / us);

  auto on_arrow = by_format(lines[1]["formats"]);
  EXPECT_EQ(on_arrow["csr_scalar"]["status"], "measured");
  EXPECT_EQ(on_arrow["ellr_t"]["status"], "refused");
  EXPECT_NE(on_arrow["ellr_t"]["detail"].get<std::string>().find("padding"), std::string::npos);
  EXPECT_TRUE(on_arrow["ellr_t"]["gflops"].is_null());
  EXPECT_TRUE(on_arrow["csr_scalar"]["speedups"]["ELLR-T"].is_null());

  const auto& summary = lines[2]["summary"];
  EXPECT_EQ(summary["matrices"], 2);
  auto overall = by_format(summary["formats"]);
  EXPECT_EQ(overall["ellr_t"]["measured_on"], 1);
  EXPECT_NEAR(overall["ellr_t"]["gflops"], own["gflops"], 1e-9);
  EXPECT_EQ(overall["csr_scalar"]["measured_on"], 2);
  EXPECT_NEAR(overall["csr_scalar"]["gflops"],
              std::sqrt(csr["gflops"].get<double>() * on_arrow["csr_scalar"]["gflops"].get<double>()), 1e-9);
  EXPECT_NEAR(overall["csr_scalar"]["speedups"]["ELLR-T"], csr["speedups"]["ELLR-T"], 1e-9);
  EXPECT_DOUBLE_EQ(overall["csr_scalar"]["memory_over_csr"], 1);
  int fastest_on = 0;
  for (const auto& [format, entry] : overall) fastest_on += entry["fastest_on"].get<int>();
  EXPECT_EQ(fastest_on, 2);
  ASSERT_FALSE(summary["claims"].empty());
  EXPECT_EQ(summary["claims"][0]["claimed"], "ELLR-T is the fastest of its set on every matrix");
  const double share = summary["claims"][0]["measured"][0]["value"];
  EXPECT_EQ(share, overall["ellr_t"]["fastest_on"].get<int>() / 2.0);
}

TEST_F(StudyRun, NamesTheFormatsThatThisBuildLacks) {
  const auto build = formats_of_this_build();
  for (const auto& each : tools::all_studies()) {
    const auto lines = study(std::string(each.name), {"--json", "gen:grid2d:10"}).json_lines();
    ASSERT_EQ(lines.size(), 2U) << each.name;
    ASSERT_EQ(lines[0]["formats"].size(), each.contenders.size());
    for (const auto& entry : lines[0]["formats"]) {
      const bool known = build.count(entry["format"].get<std::string>()) == 1;
      EXPECT_EQ(entry["status"] == "missing", !known) << entry;
      if (entry["status"] != "measured") {
        EXPECT_FALSE(entry["detail"].get<std::string>().empty()) << entry;
      }
    }
  }
}

TEST_F(StudyRun, PrintsItsTablesAndWhatThePaperClaims) {
  const auto finished = study("three-formats", {"gen:pde:6", "gen:grid2d:9"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  for (const auto* expected : {"gen:pde:6: 216 x 216", "gen:grid2d:9: 81 x 81", "HDIA over it", "matrices: 2",
                               "claimed: 2 threads a row seldom pay", "fastest on"}) {
    EXPECT_NE(finished.out.find(expected), std::string::npos) << expected << " is not in\n" << finished.out;
  }
}

TEST_F(StudyRun, HasNoSummaryWhereNoMatrixCouldBeRead) {
  const auto finished = study("ellr_t", {"--json", path("missing.mtx")});
  expect_one_error(finished, 1, "missing.mtx");
  EXPECT_EQ(finished.out, "");
}

// ---- What the claims say -----------------------------------------------------------------------------------------

TrialRecord trial_of(const std::string& format, const Params& params, double seconds, std::int64_t bytes) {
  TrialRecord trial{.candidate = {format, params}, .format_version = 1, .deterministic = true, .measurement = {}};
  trial.measurement.outcome = Outcome::passed;
  trial.measurement.warm = {seconds, seconds, seconds, 5};
  trial.measurement.bytes = bytes;
  return trial;
}

constexpr std::int64_t csr_bytes = 101 * 4 + 1000 * 12;

StudiedMatrix studied(const std::string& study, const std::vector<TrialRecord>& trials, std::int64_t longest_row = 12) {
  const MatrixSummary matrix{"m", 100, 100, 1000, "double", 8};
  Features features;
  features.npr_mean = 10;
  features.npr_max = longest_row;
  auto one = study_matrix(find_study(study), matrix, features, trials);
  one.copy_bandwidth = 1e9;
  return one;
}

/// The first quantity whose name begins so, of the claim that begins so.
double measured(const std::string& study, const std::string& claim, const std::string& quantity,
                const std::vector<StudiedMatrix>& matrices) {
  for (const auto& one : find_study(study).claims) {
    if (one.text.rfind(claim, 0) != 0) continue;
    for (const auto& value : one.measured) {
      if (value.name.rfind(quantity, 0) == 0) return value.value(matrices);
    }
  }
  ADD_FAILURE() << "no such claim: " << claim << ": " << quantity;
  return 0;
}

TEST(Claims, TheFastestTrialOfAFormatCounts) {
  const auto one = studied("ellr_t", {trial_of("ellr_t", {{"T", 1}}, 3e-6, 1), trial_of("ellr_t", {{"T", 2}}, 1e-6, 2),
                                      trial_of("ellr_t", {{"T", 4}}, 2e-6, 3), trial_of("hyb", {}, 2e-6, 4)});
  const auto* fastest = fastest_of(one);
  ASSERT_NE(fastest, nullptr);
  EXPECT_EQ(fastest->contender->name, "ELLR-T");
  EXPECT_EQ(fastest->best->candidate.text(), "ellr_t T=2");
  EXPECT_EQ(memory_of(one, *fastest), 2);
}

TEST(Claims, WhatFailedHasNoTimeAndSaysWhy) {
  auto wrong = trial_of("hyb", {}, 1e-9, 1);
  wrong.measurement.outcome = Outcome::wrong_answer;
  wrong.measurement.detail = "1 rows";
  const auto one = studied("ellr_t", {wrong, trial_of("ellr_t", {{"T", 1}}, 1e-6, 1)});
  for (const Contest& contest : one.contests) {
    if (contest.contender->format != "hyb") continue;
    EXPECT_EQ(contest.status, "wrong answer");
    EXPECT_EQ(contest.detail, "1 rows");
    EXPECT_TRUE(std::isnan(seconds_of(contest)));
  }
  EXPECT_EQ(fastest_of(one)->contender->format, "ellr_t");
}

TEST(Claims, EllrTIsComparedWithWhatThePaperMeasured) {
  const auto first = studied("ellr_t", {trial_of("ellr_t", {{"T", 2}, {"block", 128}}, 1e-6, 1),
                                        trial_of("sliced_ell", {}, 5e-7, 1), trial_of("csr_scalar", {}, 2e-6, 0)});
  const auto second =
      studied("ellr_t", {trial_of("ellr_t", {{"T", 16}, {"block", 64}}, 3e-6, 1), trial_of("csr_scalar", {}, 2e-6, 0)});
  EXPECT_EQ(measured("ellr_t", "ELLR-T is the fastest", "share", {first}), 1) << "sliced ELLPACK was only described";
  EXPECT_EQ(measured("ellr_t", "ELLR-T is the fastest", "share", {first, second}), 0.5);
  EXPECT_EQ(measured("ellr_t", "its best T", "share", {first, second}), 0.5);
  EXPECT_EQ(measured("ellr_t", "its best block", "share", {first, second}), 0.5);
}

TEST(Claims, EllrTBandwidthIsOfMatricesBeyondTheCache) {
  auto large = studied("ellr_t", {trial_of("ellr_t", {{"T", 1}}, 28e-6, 1)});
  auto larger = studied("ellr_t", {trial_of("ellr_t", {{"T", 1}}, 20e-6, 1)});
  auto small = studied("ellr_t", {trial_of("ellr_t", {{"T", 1}}, 1e-6, 1)});
  const double bytes = 1000 * 12 + 100 * 4 + 200 * 8;
  small.cache_bytes = bytes;
  const std::vector matrices{large, small, larger};
  EXPECT_DOUBLE_EQ(measured("ellr_t", "its effective bandwidth", "least", matrices), bytes / 28e-6 / 1e9);
  EXPECT_DOUBLE_EQ(measured("ellr_t", "its effective bandwidth", "largest", matrices), bytes / 20e-6 / 1e9);
  EXPECT_TRUE(std::isnan(measured("ellr_t", "its effective bandwidth", "least", {small})));
}

TEST(Claims, HllMemoryIsThatOfEvenRowsAndOfOthers) {
  const auto with = [](double factor, std::int64_t longest_row) {
    const auto bytes = static_cast<std::int64_t>(factor * csr_bytes);
    return studied("three-formats", {trial_of("hll", {{"threads", 1}}, 1e-6, bytes)}, longest_row);
  };
  const std::vector matrices{with(1, 10), with(4, 40), with(3, 41)};
  EXPECT_NEAR(measured("three-formats", "HLL takes", "HLL over CSR where", matrices), 2, 1e-9);
  EXPECT_NEAR(measured("three-formats", "HLL takes", "HLL over CSR elsewhere", matrices), 3, 1e-9);
  EXPECT_TRUE(std::isnan(measured("three-formats", "HLL takes", "HLL over CSR elsewhere", {matrices[0]})));
}

TEST(Claims, HdiaIsAskedForWhereItTakesLessThanHll) {
  const auto with = [](double hdia_seconds, std::int64_t hdia_bytes) {
    return studied("three-formats",
                   {trial_of("hll", {{"threads", 1}}, 2e-6, 1000), trial_of("hdia", {}, hdia_seconds, hdia_bytes)});
  };
  const auto share = [](const std::vector<StudiedMatrix>& matrices) {
    return measured("three-formats", "HDIA is the fastest", "share", matrices);
  };
  EXPECT_EQ(share({with(1e-6, 900)}), 1);
  EXPECT_EQ(share({with(1e-6, 900), with(3e-6, 900), with(1e-6, 1000)}), 0.5);
  EXPECT_TRUE(std::isnan(share({with(1e-6, 1000)})));
}

TEST(Claims, TwoThreadsAreComparedWithOne) {
  const auto with = [](double one, double two) {
    return studied("three-formats",
                   {trial_of("hll", {{"threads", 1}, {"hack", 32}}, one, 1), trial_of("hll", {{"threads", 2}}, two, 1),
                    trial_of("hll", {{"threads", 1}, {"hack", 64}}, 2 * one, 1)});
  };
  EXPECT_EQ(measured("three-formats", "2 threads", "HLL", {with(1e-6, 1.5e-6), with(1e-6, 0.9e-6)}), 0.5);
  EXPECT_TRUE(std::isnan(measured("three-formats", "2 threads", "share", {with(1e-6, 2e-6)}))) << "nothing of ELL-G";
}

TEST(Claims, IpcsrIsComparedWithEachOfItsRivals) {
  const auto one =
      studied("ipcsr", {trial_of("ipcsr", {}, 2e-6, 0), trial_of("pcsr", {}, 6e-6, 0), trial_of("csr5", {}, 3e-6, 0),
                        trial_of("csr_scalar", {}, 8e-6, 0), trial_of("hyb", {}, 5e-6, 0)});
  const auto another = studied("ipcsr", {trial_of("ipcsr", {}, 3e-6, 0), trial_of("pcsr", {}, 1e-6, 0)});
  EXPECT_NEAR(measured("ipcsr", "IPCSR is 1.76", "mean", {one, another}), 1, 1e-12);
  EXPECT_EQ(measured("ipcsr", "it is faster than PCSR", "share", {one, another}), 0.5);
  EXPECT_DOUBLE_EQ(measured("ipcsr", "it is 1.21", "mean", {one, another}), 1.5) << "CSR5 has a time on one only";
  EXPECT_DOUBLE_EQ(measured("ipcsr", "it is 1.43", "mean", {one}), 2.5) << "HYB is the best of CUSP's six";
  EXPECT_TRUE(std::isnan(measured("ipcsr", "it is 1.02", "mean", {one}))) << "no time of CSR-Adaptive";
}

TEST(Claims, EveryFormatHasItsOwnCountOfBytes) {
  const auto bytes = [](const StudiedMatrix& one, const std::string& format) {
    for (const Contest& contest : one.contests) {
      if (contest.contender->format == format) return tools::effective_bandwidth(one, contest) * 1e-6;
    }
    return 0.0;
  };
  // 100 x 100 with 1000 nonzeros in double, and a microsecond a product.
  const auto ipcsr = studied(
      "ipcsr", {trial_of("pcsr", {}, 1e-6, 8000), trial_of("ipcsr", {}, 1e-6, 40), trial_of("coo", {}, 1e-6, 4000)});
  EXPECT_NEAR(bytes(ipcsr, "pcsr"), csr_bytes + 200 * 8 + 2 * 8000, 1e-6);
  EXPECT_NEAR(bytes(ipcsr, "ipcsr"), csr_bytes + 200 * 8 + 40, 1e-6);
  EXPECT_NEAR(bytes(ipcsr, "coo"), 1000 * 16 + 200 * 8, 1e-6);
  const auto csr_m = studied("csr_m", {trial_of("csr_vector", {}, 1e-6, 0), trial_of("csr_gathered", {}, 1e-6, 8000),
                                       trial_of("ell", {}, 1e-6, 14400), trial_of("ellr_t", {}, 1e-6, 14800)});
  EXPECT_NEAR(bytes(csr_m, "csr_vector"), 1000 * 20 + 101 * 4 + 200 * 8, 1e-6);
  EXPECT_NEAR(bytes(csr_m, "csr_gathered"), 1000 * 16 + 101 * 4 + 200 * 8, 1e-6);
  EXPECT_NEAR(bytes(csr_m, "ell"), 1000 * 12 + 200 * 8, 1e-6);
  EXPECT_NEAR(bytes(csr_m, "ellr_t"), 1000 * 12 + 100 * 4 + 200 * 8, 1e-6);
  const auto suraa = studied("suraa", {trial_of("suraa", {}, 1e-6, 0), trial_of("csr5", {{"sigma", 4}}, 1e-6, 0),
                                       trial_of("csr_vector", {}, 1e-6, 0)});
  EXPECT_NEAR(bytes(suraa, "suraa"), 201 * 4 + 1000 * 12 + 200 * 8, 1e-6);
  EXPECT_NEAR(bytes(suraa, "csr5"), 4 * (1000 + 101 + (1 + 1000.0 / 128) + 64 * 5) + 8 * 1200, 1e-6);
  EXPECT_NEAR(bytes(suraa, "csr_vector"), csr_bytes + 200 * 8, 1e-6);
}

TEST(Claims, CsrBIsAskedForByTheLengthOfRows) {
  const auto with = [](double mean_row, double bound, double gathered) {
    auto one =
        studied("csr_m", {trial_of("csr_vector", {{"T", 32}}, 3e-6, 0), trial_of("csr_vector", {{"T", 16}}, 2e-6, 0),
                          trial_of("csr_gathered", {}, gathered, 0), trial_of("csr_bound", {}, bound, 0)});
    one.mean_row = mean_row;
    return one;
  };
  const std::vector matrices{with(4, 1e-6, 1.5e-6), with(6, 1.8e-6, 1.6e-6), with(20, 3e-6, 1e-6)};
  EXPECT_EQ(measured("csr_m", "CSR-B is the fastest", "share", matrices), 0.5);
  EXPECT_EQ(measured("csr_m", "it is the slowest", "share", matrices), 1);
  EXPECT_TRUE(std::isnan(measured("csr_m", "it is the slowest", "share", {matrices[0]})));
  EXPECT_DOUBLE_EQ(measured("csr_m", "CSR-M, whose", "mean speed-up", {matrices[2]}), 2);
  EXPECT_NEAR(measured("csr_m", "CSR-M, whose", "its bandwidth", {matrices[2]}), 2 * (16 + 2.004) / (20 + 2.004), 1e-9);
  EXPECT_DOUBLE_EQ(measured("csr_m", "16 threads", "mean", matrices), 1.5);
}

TEST(Claims, SuraaIsAskedForWhereRowsDifferMuch) {
  const auto with = [](double variance, double suraa, double setup) {
    auto trial = trial_of("suraa", {}, suraa, 0);
    trial.measurement.setup_seconds = setup;
    auto one = studied("suraa", {trial, trial_of("csr5", {{"sigma", 16}}, 2e-6, 0), trial_of("acsr", {}, 1e-7, 0)});
    one.row_variance = variance;
    return one;
  };
  const std::vector matrices{with(101, 1e-6, 6e-6), with(101, 4e-6, 24e-6), with(100, 1e-9, 1)};
  EXPECT_NEAR(measured("suraa", "SURAA is 1.1", "mean", matrices), 1, 1e-12);
  EXPECT_EQ(measured("suraa", "it is the fastest", "share", matrices), 0.5) << "ACSR was only described";
  EXPECT_NEAR(measured("suraa", "its setup", "mean", matrices), 6, 1e-12);
  EXPECT_TRUE(std::isnan(measured("suraa", "SURAA is 1.1", "mean", {matrices[2]}))) << "its rows are even";
}

}  // namespace

}  // namespace autospmv::test
