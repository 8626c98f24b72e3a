// What tune, bench and explain say of matrices that are fine.
#include <chrono>

#include "db/database.hpp"
#include "tests/tools/program.hpp"
#include "tuner/objective.hpp"

namespace autospmv::test {

namespace {

class Tune : public ProgramTest {};

TEST_F(Tune, TheSecondTimeEveryPlanComesFromTheDatabase) {
  for (const auto& first : tune({"gen:grid2d:20", "gen:rmat:7"}).json_lines()) {
    EXPECT_EQ(first["from_database"], false);
    EXPECT_GT(first["trials"], 0);
  }
  const auto known = tune_until_known({"gen:grid2d:20", "gen:rmat:7"}).json_lines();
  const auto list = listed();
  ASSERT_EQ(known.size(), 2U);
  ASSERT_EQ(list.size(), 2U);
  for (const auto& record : known) {
    EXPECT_EQ(record["from_database"], true);
    EXPECT_EQ(record["trials"], 0);
    const auto entry = std::find_if(list.begin(), list.end(),
                                    [&](const Json& listed) { return listed["matrix"] == record["matrix"]; });
    ASSERT_NE(entry, list.end());
    EXPECT_EQ(record["winner"]["format"], (*entry)["winner"]["format"]);
    EXPECT_EQ(record["winner"]["params"], (*entry)["winner"]["params"]);
  }

  // Nothing is tried, and so nothing disturbed.
  const auto text = run(
      {"tune", "gen:grid2d:20", "gen:rmat:7", "--effort", "cached", "--backend", "host", "--db", path("trials.db")});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("0 trials: every plan came from the database"), std::string::npos) << text.out;
}

TEST_F(Tune, JsonHoldsEverythingThatScriptsRead) {
  const auto start = std::chrono::steady_clock::now();
  const auto finished = tune({"gen:uniform:50:40:3", "--value-type", "float"});
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err, "");
  const auto record = finished.json_lines().at(0);
  EXPECT_EQ(record["matrix"], "gen:uniform:50:40:3");
  EXPECT_EQ(record["rows"], 50);
  EXPECT_EQ(record["columns"], 40);
  EXPECT_EQ(record["nonzeros"], 150);
  EXPECT_EQ(record["value_type"], "float");
  EXPECT_EQ(record["backend"], "host");
  EXPECT_FALSE(record["device"].get<std::string>().empty());
  EXPECT_GT(record["copy_bandwidth_gbs"], 0);

  const auto& winner = record["winner"];
  EXPECT_TRUE(winner["format"].is_string());
  EXPECT_TRUE(winner["params"].is_object());
  for (const auto& [name, value] : winner["params"].items()) EXPECT_TRUE(value.is_number_integer()) << name;
  EXPECT_GT(winner["setup_us"], 0);
  EXPECT_LT(winner["setup_us"], record["steps_us"]["trials"]);
  EXPECT_TRUE(winner["bytes"].is_number_integer());
  const double winner_us = winner["median_us"];
  const double baseline_us = record["baseline"]["median_us"];
  ASSERT_GT(winner_us, 0);
  EXPECT_DOUBLE_EQ(record["speedup"], baseline_us / winner_us);
  // 51 offsets, 150 columns and values, x and y, 4 bytes each.
  EXPECT_NEAR(winner["csr_equivalent_gbs"], (51 + 2 * 150 + 50 + 40) * 4 / winner_us * 1e-3, 1e-9 / winner_us);

  for (const auto* step : {"fingerprint", "lookup", "features", "prediction", "trials"}) {
    EXPECT_GT(record["steps_us"][step], 0) << step;
  }
  double all_steps = 0;
  for (const auto& [step, us] : record["steps_us"].items()) all_steps += us.get<double>();
  EXPECT_LT(all_steps, elapsed.count()) << "more than the whole run took";
  for (const auto* step : {"fingerprint", "lookup", "conversion"}) {
    EXPECT_DOUBLE_EQ(record["steps_products"][step], record["steps_us"][step].get<double>() / winner_us) << step;
  }
}

TEST_F(Tune, WithoutTrialsThereAreNoNumbersToShow) {
  const auto record = tune({"gen:grid2d:9", "--effort", "cached"}).json_lines().at(0);
  EXPECT_EQ(record["from_database"], false);
  EXPECT_EQ(record["trials"], 0);
  EXPECT_EQ(record["winner"]["format"], "csr_scalar");
  EXPECT_TRUE(record["winner"]["median_us"].is_null());
  EXPECT_TRUE(record["speedup"].is_null());
}

TEST_F(Tune, ReadsWhatGenerateWrites) {
  ASSERT_EQ(run({"generate", "gen:pde:5", "--output", path("pde.mtx")}).exit_code, 0);
  const auto printed = run({"generate", "gen:pde:5"});
  EXPECT_EQ(printed.exit_code, 0);
  EXPECT_EQ(printed.out, read("pde.mtx"));

  const auto record = tune({"-"}, path("pde.mtx")).json_lines().at(0);
  EXPECT_EQ(record["matrix"], "stdin");
  EXPECT_EQ(record["rows"], 125);
  // Found again under another name: the pattern alone counts.
  EXPECT_EQ(tune({"gen:pde:5"}).exit_code, 0);
  EXPECT_EQ(listed().size(), 1U);
}

TEST_F(Tune, TakesEveryMatrixOfADirectory) {
  std::filesystem::create_directory(path("matrices"));
  ASSERT_EQ(run({"generate", "gen:grid2d:5", "-o", path("matrices/b.mtx")}).exit_code, 0);
  ASSERT_EQ(run({"generate", "gen:grid2d:6", "-o", path("matrices/a.mtx")}).exit_code, 0);
  const auto records = tune({path("matrices")}).json_lines();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0]["matrix"], "a");
  EXPECT_EQ(records[1]["matrix"], "b");
}

class Bench : public ProgramTest {};

// One long row pads ELLPACK to a hundred times the nonzeros.
std::string matrix_with_a_long_row() {
  constexpr int size = 3000;
  std::string text = "%%MatrixMarket matrix coordinate real general\n3000 3000 6000\n";
  for (int i = 1; i <= size; ++i) {
    text += std::to_string(i) + ' ' + std::to_string(i) + " 1.5\n";
    text += "1 " + std::to_string(i) + " 0.5\n";
  }
  return text;
}

TEST_F(Bench, ListsRefusedCandidatesLastAndWithTheirReason) {
  const auto file = write("arrow.mtx", matrix_with_a_long_row());
  const auto finished =
      run({"bench", "--json", "--backend", "host", "--db", path("trials.db"), file, "--format", "csr_scalar",
           "--format", "csr_merge", "--format", "coo", "--format", "ell", "--format", "dia", "--format", "hyb"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const auto candidates = finished.json_lines().at(0)["candidates"];
  double last_time = 0;
  bool refused = false;
  int baselines = 0;
  for (const auto& candidate : candidates) {
    if (candidate["outcome"] == "refused") {
      refused = true;
      EXPECT_FALSE(candidate["detail"].get<std::string>().empty());
      EXPECT_TRUE(candidate["warm"].is_null());
      EXPECT_TRUE(candidate["loop_us"].is_null());
      continue;
    }
    EXPECT_FALSE(refused) << "refused candidates come last";
    // On a busy machine any may be disturbed, which is no fault of it; all else holds of it too.
    ASSERT_TRUE(candidate["outcome"] == "passed" || candidate["outcome"] == "disturbed") << candidate["detail"];
    EXPECT_EQ(candidate["detail"], "");
    EXPECT_LE(candidate["worst_error"], 1);
    EXPECT_GT(candidate["cold"]["median_us"], 0);
    EXPECT_GT(candidate["loop_us"], 0);
    EXPECT_GE(candidate["warm"]["median_us"], last_time);
    EXPECT_LE(candidate["warm"]["low_quartile_us"], candidate["warm"]["high_quartile_us"]);
    last_time = candidate["warm"]["median_us"];
    baselines += candidate["baseline"] ? 1 : 0;
  }
  EXPECT_GT(baselines, 0);
  EXPECT_TRUE(refused);
}

TEST_F(Bench, MeasuresTheNamedFormatsOnly) {
  const auto finished = run({"bench", "--json", "--backend", "host", "--db", path("trials.db"), "gen:grid2d:8",
                             "--format", "csr_scalar", "--format", "csr_vector"});
  const auto record = finished.json_lines().at(0);
  std::vector<std::string> formats;
  for (const auto& candidate : record["candidates"]) formats.push_back(candidate["format"]);
  EXPECT_GT(std::count(formats.begin(), formats.end(), "csr_scalar"), 0);
  EXPECT_GT(std::count(formats.begin(), formats.end(), "csr_vector"), 0);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(formats.size()), std::count(formats.begin(), formats.end(), "csr_scalar") +
                                                             std::count(formats.begin(), formats.end(), "csr_vector"));
}

/// "csr_vector T=2", sorted.
std::vector<std::string> texts_of(const Json& candidates) {
  std::vector<std::string> texts;
  for (const auto& candidate : candidates) {
    std::string text = candidate["format"];
    for (const auto& [name, value] : candidate["params"].items()) text += ' ' + name + '=' + value.dump();
    texts.push_back(text);
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST_F(Bench, MeasuresTheNamedCandidatesOnly) {
  const auto finished = run({"bench", "--json", "--backend", "host", "--db", path("trials.db"), "gen:grid2d:8",
                             "--format", "csr_vector", "--params", "T=2,16", "--params=T=4", "--format", "csr_scalar",
                             "--format", "dia", "--params", "symmetric=1"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(texts_of(finished.json_lines().at(0)["candidates"]),
            (std::vector<std::string>{"csr_scalar", "csr_vector T=16", "csr_vector T=2", "csr_vector T=4",
                                      "dia symmetric=1"}));
}

TEST_F(Bench, SaysWhyANamedCandidateIsRefused) {
  const auto file = write("arrow.mtx", matrix_with_a_long_row());
  const auto finished = run({"bench", "--backend", "host", "--db", path("trials.db"), "--quiet", file, "--format",
                             "dia", "--params", "symmetric=0"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_NE(finished.out.find("dia symmetric=0"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("padding: "), std::string::npos) << finished.out;
}

TEST_F(Tune, AmongTheNamedCandidatesOnly) {
  const auto record =
      tune({"gen:pde:12", "--only", "csr_vector T=2,16", "--only", "hyb K=3 value_bits=64"}).json_lines().at(0);
  EXPECT_EQ(record["trials"], 4) << "the baseline is one";
  const std::string winner = record["winner"]["format"];
  EXPECT_TRUE(winner == "csr_scalar" || winner == "csr_vector" || winner == "hyb") << winner;
  EXPECT_GT(tune({"gen:pde:12"}).json_lines().at(0)["trials"], 0) << "there is more to try";
}

TEST_F(Tune, TransposedProductsAreAMatrixOfTheirOwn) {
  const auto record = tune({"gen:uniform:50:40:3", "--transposed"}).json_lines().at(0);
  EXPECT_EQ(record["matrix"], "gen:uniform:50:40:3 transposed");
  EXPECT_EQ(record["rows"], 40);
  EXPECT_EQ(record["columns"], 50);
  EXPECT_GT(record["trials"], 0);
  EXPECT_EQ(tune({"gen:uniform:50:40:3"}).json_lines().at(0)["from_database"], false);
  const auto list = listed();
  ASSERT_EQ(list.size(), 2U);
  for (const auto& entry : list) {
    const bool transposed = entry["matrix"] == "gen:uniform:50:40:3 transposed";
    EXPECT_EQ(entry["operation"], transposed ? "t" : "n");
    EXPECT_EQ(entry["rows"], transposed ? 40 : 50);
  }
  const auto said = run({"explain", "--transposed", "--backend", "host", "--db", path("trials.db"), "--effort",
                         "cached", "gen:uniform:50:40:3"});
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_NE(said.out.find("gen:uniform:50:40:3 transposed: 40 x 50"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("database"), std::string::npos) << said.out;
}

class Explain : public ProgramTest {};

TEST_F(Explain, SaysThatTrialsOfSomeDecideNothing) {
  const auto database = path("trials.db");
  EXPECT_EQ(run({"bench", "--backend", "host", "--db", database, "--quiet", "gen:pde:8", "--format", "tjds", "--params",
                 "block=4096", "--format", "coo", "--params", "value_bits=64"})
                .exit_code,
            0);
  const auto text = run({"explain", "--backend", "host", "--db", database, "--effort", "cached", "gen:pde:8"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("choice      csr_scalar, untried"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("plain CSR was not tried on this matrix"), std::string::npos) << text.out;
  EXPECT_NE(text.err.find("plain CSR was not tried on this matrix"), std::string::npos) << text.err;
  EXPECT_EQ(text.error_lines(), 1) << text.err;
  const auto quiet = tune({"gen:pde:8", "--effort", "cached", "--quiet", "--db", database});
  EXPECT_EQ(quiet.err, "");
  EXPECT_EQ(quiet.json_lines().at(0)["winner"]["format"], "csr_scalar");
}

TEST_F(Explain, SaysWhatWasChosenAndWhatWasRefused) {
  const auto file = write("arrow.mtx", matrix_with_a_long_row());
  const auto json = run({"explain", "--json", "--backend", "host", "--db", path("trials.db"), file}).json_lines().at(0);
  EXPECT_GE(json["runner_up"]["margin"], -tie) << "a tie goes to fewer bytes, not to the faster";
  EXPECT_GT(json["bytes_per_nonzero"], 0);
  EXPECT_TRUE(json.contains("break_even_calls"));
  ASSERT_FALSE(json["refused"].empty());
  const std::string reason = json["refused"][0]["reason"];

  // What is known, on a busy machine too: there the first may have left something undecided, which is tried again.
  const auto text = run({"explain", "--backend", "host", "--db", path("trials.db"), "--effort", "cached", file});
  EXPECT_EQ(text.exit_code, 0);
  for (const auto& expected : {json["winner"]["format"].get<std::string>(), reason, std::string("database"),
                               std::string("runner-up"), std::string("break-even"), std::string("fingerprint")}) {
    EXPECT_NE(text.out.find(expected), std::string::npos) << expected << " is not in\n" << text.out;
  }
}

TEST_F(Tune, FitsTheCostModelToTrials) {
  const auto database = path("trials.db");
  expect_one_error(run({"db", "fit", "--backend", "host", "--db", database, "--quiet"}), 1, "nothing to fit");
  EXPECT_EQ(tune({"gen:pde:12", "gen:grid2d:50", "--db", database}).exit_code, 0);
  const auto fit = run({"db", "fit", "--backend", "host", "--json", "--db", database, "--quiet"});
  EXPECT_EQ(fit.exit_code, 0) << fit.err;
  const auto json = fit.json_lines().at(0);
  EXPECT_EQ(json["matrices"], 2);
  EXPECT_GE(json["trials"], 2) << "of the baseline, on each";
  EXPECT_LT(json["error_after"], json["error_before"]);
  EXPECT_LT(json["setup_error_after"], json["setup_error_before"]);
  // What was fitted is what the next one starts from, and all of it.
  const auto again = run({"db", "fit", "--backend", "host", "--json", "--db", database, "--quiet"}).json_lines().at(0);
  EXPECT_EQ(again["coefficients"].size(), json["coefficients"].size());
  for (const auto& [name, coefficient] : json["coefficients"].items()) {
    EXPECT_GT(coefficient["fitted"], 0) << name;
    EXPECT_EQ(again["coefficients"][name]["before"], coefficient["fitted"]) << name;
  }
  // A copy bandwidth whose measurement was disturbed is no part of the database, and measured again.
  const double error = json["error_after"];
  EXPECT_NEAR(again["error_before"].get<double>(), error, 0.01 * error);
}

TEST_F(Tune, EstimatesSayWhereTheyComeFrom) {
  const auto database = path("trials.db");
  EXPECT_EQ(tune({"gen:pde:12", "gen:grid2d:50", "gen:rmat:9", "--db", database}).exit_code, 0);
  const auto explained =
      run({"explain", "--effort", "estimate", "--backend", "host", "--json", "--db", database, "gen:pde:14"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  const auto json = explained.json_lines().at(0);
  EXPECT_EQ(json["source"], "estimated");
  EXPECT_GT(json["predicted_us"], 0);
  EXPECT_EQ(json["known_matrices"], 3);
  EXPECT_EQ(json["near"].size(), 3U);
  // An effort that measures would doubt what it knows where the machine takes twice as long as it did.
  const auto known =
      run({"explain", "--effort", "cached", "--backend", "host", "--json", "--db", database, "gen:pde:12"});
  EXPECT_EQ(known.json_lines().at(0)["tier"], "trial");
  EXPECT_EQ(known.json_lines().at(0)["source"], "database");
}

}  // namespace

}  // namespace autospmv::test
