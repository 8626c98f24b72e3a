// The papers' comparisons: what the program prints of them.
#include "tools/studies/study.hpp"

#include <cmath>
#include <map>
#include <set>

#include "io/load.hpp"
#include "tests/tools/program.hpp"

namespace autospmv::test {

namespace {

class StudyRun : public ProgramTest {
 protected:
  [[nodiscard]] Finished study(const std::string& name, std::vector<std::string> words) const {
    words.insert(words.begin(), {"bench", "--study", name, "--backend", "host", "--db", path("trials.db")});
    return run(std::move(words));
  }

  /// Without a database, which a study does not need.
  [[nodiscard]] Finished studies(std::vector<std::string> words) const {
    words.insert(words.begin(), {"bench", "--backend", "host"});
    return run(std::move(words));
  }
};

std::map<std::string, Json> by_name(const Json& formats) {
  std::map<std::string, Json> entries;
  for (const auto& entry : formats) entries[entry["name"]] = entry;
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
  const auto arrow = write("arrow.mtx", arrow_matrix(400));
  const auto finished = study("ellr_t", {"--json", dense, arrow});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const auto lines = finished.json_lines();
  ASSERT_EQ(lines.size(), 3U);

  EXPECT_EQ(lines[0]["study"], "ellr_t");
  EXPECT_EQ(lines[0]["longest_row"], 40);
  EXPECT_EQ(lines[0]["mean_row"], 40);
  const double csr_mb = (41 * 4 + 1600 * 12) * 1e-6;
  EXPECT_DOUBLE_EQ(lines[0]["csr_mb"], csr_mb);
  auto on_dense = by_name(lines[0]["formats"]);
  const auto& csr = on_dense["CRS"];
  EXPECT_EQ(csr["candidates"], "csr_scalar");
  EXPECT_EQ(csr["format"], "csr_scalar");
  EXPECT_EQ(csr["status"], "measured");
  EXPECT_DOUBLE_EQ(csr["memory_mb"], csr_mb);
  const auto& own = on_dense["ELLR-T"];
  ASSERT_EQ(own["status"], "measured") << own["detail"];
  const double us = own["median_us"];
  EXPECT_DOUBLE_EQ(own["gflops"], 2 * 1600 / us * 1e-3);
  EXPECT_DOUBLE_EQ(own["effective_gbs"], (1600 * 12 + 40 * 4 + 80 * 8) / us * 1e-3);
  EXPECT_GT(own["setup_products"], 0);
  EXPECT_GE(own["memory_mb"].get<double>(), 1600 * 12e-6);
  EXPECT_DOUBLE_EQ(own["speedups"]["ELLR-T"], 1);
  EXPECT_DOUBLE_EQ(csr["speedups"]["ELLR-T"], csr["median_us"].get<double>() / us);
  EXPECT_LE(on_dense["ELLR-T (tuned)"]["median_us"].get<double>(), us) << "it may do what the published may";

  auto on_arrow = by_name(lines[1]["formats"]);
  const auto& summary = lines[2]["summary"];
  EXPECT_EQ(summary["matrices"], 2);
  auto overall = by_name(summary["formats"]);
  EXPECT_EQ(overall["CRS"]["measured_on"], 2);
  const double gflops_on_arrow = on_arrow["CRS"]["gflops"];
  EXPECT_NEAR(overall["CRS"]["gflops"], std::sqrt(csr["gflops"].get<double>() * gflops_on_arrow), 1e-9);
  EXPECT_NEAR(overall["CRS"]["average_gflops"], (csr["gflops"].get<double>() + gflops_on_arrow) / 2, 1e-9);
  EXPECT_DOUBLE_EQ(overall["CRS"]["memory_over_csr"], 1);
  int fastest_on = 0;
  for (const auto& [format, entry] : overall) fastest_on += entry["fastest_on"].get<int>();
  EXPECT_EQ(fastest_on, 2);
  ASSERT_FALSE(summary["claims"].empty());
  EXPECT_EQ(summary["claims"][0]["claimed"], "ELLR-T is the fastest of its set on every matrix");
  const double share = summary["claims"][0]["measured"][0]["value"];
  EXPECT_EQ(share, overall["ELLR-T"]["fastest_on"].get<int>() / 2.0);
  EXPECT_EQ(summary["claims"][0]["verdict"], share == 1 ? "yes" : "no");
}

// Tuning would not try it with values as they are: 200 times the entries, where three times the bytes of CSR is the
// limit.
TEST_F(StudyRun, RefusesNoPadding) {
  const auto arrow = write("arrow.mtx", arrow_matrix(400));
  const auto refused =
      run({"bench", "--json", "--backend", "host", "--db", path("trials.db"), "--format", "ellr_t", arrow});
  const auto candidates = refused.json_lines().at(0)["candidates"];
  int in_full = 0;
  for (const auto& candidate : candidates) {
    if (candidate["params"]["value_bits"] != 64) continue;
    EXPECT_EQ(candidate["outcome"], "refused") << candidate;
    ++in_full;
  }
  EXPECT_GT(in_full, 0);
  const auto lines = studies({"--study", "ellr_t", "--json", arrow}).json_lines();
  auto formats = by_name(lines.at(0)["formats"]);
  EXPECT_EQ(formats["ELLR-T"]["status"], "measured") << formats["ELLR-T"];
  EXPECT_GE(formats["ELLR-T"]["memory_mb"].get<double>(), 400 * 400 * 12e-6);
}

TEST_F(StudyRun, SaysWhyAFormatHasNoTime) {
  const auto lines = study("all", {"--json", "gen:grid2d:10"}).json_lines();
  const auto all = tools::all_studies();
  ASSERT_EQ(lines.size(), 2 * all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(lines[i]["study"], all[i].name);
    EXPECT_EQ(lines[all.size() + i]["study"], all[i].name);
    ASSERT_EQ(lines[i]["formats"].size(), all[i].contenders.size());
    for (const auto& entry : lines[i]["formats"]) {
      if (entry["status"] == "measured") continue;
      EXPECT_FALSE(entry["detail"].get<std::string>().empty()) << entry;
    }
  }
}

TEST_F(StudyRun, TimesCsrMWithoutItsGather) {
  const auto lines = study("csr_m", {"--json", "gen:uniform:500:500:40"}).json_lines();
  auto formats = by_name(lines.at(0)["formats"]);
  EXPECT_EQ(formats["CSR-M"]["status"], "measured") << formats["CSR-M"];
  EXPECT_EQ(formats["CSR-M and its gather"]["status"], "measured");
}

TEST_F(StudyRun, PrintsItsTablesAndWhatThePaperClaims) {
  const auto finished = study("three-formats", {"gen:pde:6", "gen:grid2d:9"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  for (const auto* expected : {"gen:pde:6: 216 x 216", "gen:grid2d:9: 81 x 81", "HDIA over it", "matrices: 2",
                               "claimed: 2 threads a row very rarely gain", "fastest on"}) {
    EXPECT_NE(finished.out.find(expected), std::string::npos) << expected << " is not in\n" << finished.out;
  }
}

TEST_F(StudyRun, HasNoSummaryWhereNoMatrixCouldBeRead) {
  const auto finished = study("ellr_t", {"--json", path("missing.mtx")});
  expect_one_error(finished, 1, "missing.mtx");
  EXPECT_EQ(finished.out, "");
}

// ---- The papers' matrices ------------------------------------------------------------------------------------------

TEST_F(StudyRun, ListsThePapersMatrices) {
  const auto listed = studies({"--study", "all", "--matrices", "--json"}).json_lines();
  ASSERT_EQ(listed.size(), tools::all_studies().size());
  EXPECT_EQ(listed[1]["matrices"].size(), 35U);
  const auto text = studies({"--study", "three-formats", "--matrices"}).out;
  EXPECT_NE(text.find("Botonakis/FEM_3D_thermal2"), std::string::npos) << text;
  EXPECT_NE(text.find("gen:pde:100"), std::string::npos) << text;
  EXPECT_NE(studies({"--study", "suraa", "--matrices", "--markdown"}).out.find("| torso1 | Norris/torso1 | 116158 |"),
            std::string::npos);
}

TEST(StandIns, AreAboutAsLargeAsThePapersMatrices) {
  constexpr std::int64_t small = 500'000;
  for (const auto& study : tools::all_studies()) {
    for (const auto& matrix : study.matrices) {
      const std::string source(stand_in_of(matrix));
      EXPECT_FALSE(source.empty()) << matrix.name;
      if (matrix.nnz > small) continue;
      const auto made = load_matrix<double>(source);
      const auto rows = static_cast<double>(matrix.rows);
      const auto nnz = static_cast<double>(matrix.nnz);
      EXPECT_NEAR(static_cast<double>(made.rows), rows, 0.05 * rows) << source;
      EXPECT_NEAR(static_cast<double>(made.nnz()), nnz, 0.15 * nnz) << source;
    }
  }
}

TEST_F(StudyRun, RunsOnWhatStandsInForThem) {
  const auto finished = studies({"--study", "ellr_t", "--most-nnz", "7000", "--json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_NE(finished.err.find("--most-nnz 7000 leaves out dw2048, "), std::string::npos) << finished.err;
  const auto lines = finished.json_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["rows"], 1484);
}

// ---- The table of claims -------------------------------------------------------------------------------------------

const Json& claim_in(const Json& table, const std::string& study, const std::string& begin) {
  for (const auto& claim : table) {
    if (claim["study"] == study && claim["claim"].get<std::string>().rfind(begin, 0) == 0) return claim;
  }
  throw std::runtime_error("no such claim: " + begin);
}

TEST_F(StudyRun, MakesOneTableOfAllClaims) {
  const auto finished = studies({"--study", "all", "--claims", "--json", "gen:pde:6"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const auto lines = finished.json_lines();
  ASSERT_EQ(lines.size(), 1U);
  std::size_t claims = 0;
  for (const auto& study : tools::all_studies()) claims += study.claims.size();
  EXPECT_EQ(lines[0].size(), claims);
  EXPECT_EQ(claim_in(lines[0], "ellr_t", "its best T")["runs"][0]["verdict"], "-");
}

TEST_F(StudyRun, ReadsBackWhatItPrinted) {
  const auto printed = study("ipcsr", {"--json", "gen:pde:7", "gen:grid2d:20"});
  const auto file = write("host.json", printed.out);
  const auto read = studies({"--study", "ipcsr", "--claims-from", file, "--json"});
  EXPECT_EQ(read.exit_code, 0) << read.err;
  const auto lines = printed.json_lines();
  const auto& claims = lines.back()["summary"]["claims"];
  const auto table = read.json_lines().at(0);
  ASSERT_EQ(table.size(), claims.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto& run = table[i]["runs"][0];
    EXPECT_EQ(run["matrices"], 2);
    if (run["verdict"] == "-") continue;
    EXPECT_EQ(run["verdict"], claims[i]["verdict"]) << claims[i];
    for (std::size_t q = 0; q < claims[i]["measured"].size(); ++q) {
      const auto& was = claims[i]["measured"][q]["value"];
      const auto& is = run["values"][q];
      ASSERT_EQ(was.is_null(), is.is_null()) << claims[i];
      if (was.is_null()) continue;
      EXPECT_NEAR(was, is, 1e-6 * std::abs(was.get<double>()));
    }
  }
}

TEST_F(StudyRun, BringsRunsOfSeveralMachinesIntoOneTable) {
  auto lines = study("ellr_t", {"--json", "gen:pde:6"}).json_lines();
  const auto host = write("host.json", lines[0].dump() + '\n');
  lines[0]["backend"] = "cuda";
  lines[0]["device"] = "Some GPU";
  lines[0]["value_type"] = "float";
  const auto gpu = write("gpu.json", lines[0].dump() + '\n');
  const auto table = studies({"--claims-from", host, gpu, "--markdown"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  for (const auto* expected : {"| host, double | Some GPU, float | GPU, double | why not |", "| owed |"}) {
    EXPECT_NE(table.out.find(expected), std::string::npos) << expected << " is not in\n" << table.out;
  }
  const auto claims = studies({"--claims-from", host, gpu, "--json"}).json_lines().at(0);
  const auto of_threads = claim_in(claims, "ellr_t", "its best T");
  EXPECT_EQ(of_threads["runs"][0]["verdict"], "-");
  EXPECT_NE(of_threads["runs"][1]["verdict"], "-");
}

TEST_F(StudyRun, WritesAPageOfItsClaims) {
  const auto finished = study("ipcsr", {"--json", "--html", path("page.html"), "gen:pde:6", "gen:grid2d:20"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const auto page = read("page.html");
  const std::string begin = "id=\"facts\">";
  const auto from = page.find(begin) + begin.size();
  const auto facts = test::Json::parse(page.substr(from, page.find("</script>", from) - from));
  const auto& ipcsr = *tools::find_studies("ipcsr").front();
  EXPECT_EQ(facts["claims"].size(), ipcsr.claims.size());
  ASSERT_EQ(facts["studies"].size(), 1U);
  EXPECT_EQ(facts["studies"][0]["contenders"].size(), ipcsr.contenders.size());
  ASSERT_EQ(facts["matrices"].size(), 2U);
  EXPECT_EQ(facts["matrices"][0]["name"], "gen:pde:6");
  EXPECT_EQ(facts["matrices"][0]["us"].size(), ipcsr.contenders.size());
  const auto fastest = facts["matrices"][0]["fastest"].get<std::size_t>();
  EXPECT_GT(facts["matrices"][0]["us"][fastest].get<double>(), 0);
  EXPECT_NE(facts["command"].get<std::string>().find("--html"), std::string::npos);
  // The same of files.
  const auto file = write("host.json", finished.out);
  EXPECT_EQ(studies({"--study", "ipcsr", "--claims-from", file, "--html", path("again.html")}).exit_code, 0);
  EXPECT_NE(read("again.html").find("gen:grid2d:20"), std::string::npos);
  expect_one_error(studies({"--claims-from", file, "--html", path("no/where.html")}), 1, "cannot be written");
  expect_one_error(studies({"--study", "ipcsr", "--matrices", "--html", path("page.html")}), 2, "--html shows claims");
  expect_one_error(run({"bench", "gen:pde:6", "--html", path("page.html")}), 2, "go with --study NAME");
}

TEST_F(StudyRun, RefusesFilesThatAreNoStudies) {
  const auto claims_from = [&](const std::string& text) {
    return studies({"--claims-from", write("file.json", text)});
  };
  expect_one_error(studies({"--claims-from", path("missing.json")}), 2, "missing.json: cannot be read");
  expect_one_error(claims_from(""), 2, "file.json: no matrix of a study in it");
  expect_one_error(claims_from("no json\n"), 2, "file.json:1: not what bench --study --json prints");
  expect_one_error(claims_from("[1]\n"), 2, "file.json:1: ");
  expect_one_error(claims_from("{\"study\": \"nosuch\"}\n"), 2, "no study 'nosuch'");
  expect_one_error(claims_from("{\"study\": \"suraa\", \"matrix\": 3}\n"), 2, "file.json:1: ");
  auto line = study("csr_m", {"--json", "gen:pde:3"}).json_lines().at(0);
  line["trials"][0]["candidate"] = "csr_scalar =";
  expect_one_error(claims_from(line.dump() + '\n'), 2, "is no candidate");
}

TEST_F(StudyRun, RefusesOptionsThatContradictEachOther) {
  expect_one_error(studies({}), 2, "--study NAME");
  expect_one_error(studies({"--claims", "gen:pde:3"}), 2, "--study NAME");
  expect_one_error(studies({"--study", "suraa", "--markdown", "gen:pde:3"}), 2, "--markdown");
  expect_one_error(studies({"--study", "suraa", "--matrices", "gen:pde:3"}), 2, "--matrices");
  expect_one_error(studies({"--study", "suraa", "--matrices", "--claims"}), 2, "--matrices");
  expect_one_error(studies({"--study", "suraa", "--most-nnz", "9", "gen:pde:3"}), 2, "--most-nnz");
  expect_one_error(studies({"--study", "suraa", "--most-nnz", "0"}), 2, "--most-nnz");
  expect_one_error(studies({"--study", "suraa", "--most-nnz", "9", "--quiet"}), 2, "leaves out every matrix");
  expect_one_error(studies({"--study", "nosuch"}), 2, "suraa, all");
}

}  // namespace

}  // namespace autospmv::test
