// The subcommands that measure nothing.
#include "autospmv/version.h"
#include "db/database.hpp"
#include "tests/tools/program.hpp"

namespace autospmv::test {

namespace {

class Inspect : public ProgramTest {};

TEST_F(Inspect, HelpNamesEverySubcommandAndEachHasItsOwn) {
  const auto help = run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const std::string name :
       {"tune", "train", "bench", "explain", "features", "formats", "devices", "generate", "db", "report"}) {
    EXPECT_NE(help.out.find("\n  " + name + " "), std::string::npos) << name;
    const auto own = run({name, "--help"});
    EXPECT_EQ(own.exit_code, 0);
    EXPECT_EQ(own.out.rfind("Usage: autospmv " + name, 0), 0U) << own.out;
    EXPECT_NE(own.out.find("--json"), std::string::npos);
    EXPECT_EQ(own.err, "");
  }
}

TEST_F(Inspect, Version) { EXPECT_EQ(run({"--version"}).out.rfind("autospmv " AUTOSPMV_VERSION, 0), 0U); }

TEST_F(Inspect, FormatsAreListedWithTheirParameters) {
  const auto formats = run({"formats", "--json"}).json_lines().at(0);
  bool has_baseline = false;
  for (const auto& format : formats) {
    EXPECT_FALSE(format["name"].get<std::string>().empty());
    EXPECT_GE(format["version"], 1);
    EXPECT_FALSE(format["paper"].get<std::string>().empty()) << format["name"];
    EXPECT_FALSE(format["summary"].get<std::string>().empty()) << format["name"];
    EXPECT_FALSE(format["backends"].empty()) << format["name"];
    EXPECT_TRUE(format["offered"].is_array());
    EXPECT_TRUE(format["deterministic"].is_boolean());
    EXPECT_TRUE(format["parameters"].is_array());
    has_baseline = has_baseline || format["baseline"].get<bool>();
    if (format["name"] == "csr_vector") {
      EXPECT_EQ(format["parameters"].at(0), "T");
    }
  }
  EXPECT_TRUE(has_baseline);
}

TEST_F(Inspect, TheHostIsADevice) {
  const auto devices = run({"devices", "--json"}).json_lines().at(0);
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices[0]["backend"], "host");
  EXPECT_GE(devices[0]["multiprocessors"], 1);
  EXPECT_GT(devices[0]["memory_bytes"], 0);
}

TEST_F(Inspect, FeaturesHaveValueUnitAndMeaning) {
  const auto finished = run({"features", "--json", "--backend", "host", "gen:banded:10:1"});
  const auto features = finished.json_lines().at(0)["features"];
  EXPECT_EQ(features["nnz"]["value"], 28);
  EXPECT_EQ(features["npr_max"]["value"], 3);
  EXPECT_EQ(features["nnz"]["unit"], "nonzeros");
  EXPECT_FALSE(features["nnz"]["meaning"].get<std::string>().empty());
}

TEST_F(Inspect, RandomValuesComeFromTheirSeed) {
  const auto write_values = [&](const std::string& values) {
    return run({"generate", "gen:grid2d:6", "--values", values}).out;
  };
  EXPECT_EQ(write_values("random:1"), write_values("random:1"));
  EXPECT_NE(write_values("random:1"), write_values("random:2"));
  EXPECT_NE(write_values("random:1"), write_values("own"));
}

TEST_F(Inspect, TheDatabaseIsListedAndShown) {
  ASSERT_EQ(listed(), Json::array());
  const auto tuned = tune({"gen:grid2d:7"}).json_lines().at(0);
  const auto list = listed();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["matrix"], "gen:grid2d:7");
  EXPECT_EQ(list[0]["trials"], tuned["trials"]);
  EXPECT_EQ(list[0]["winner"]["format"], tuned["winner"]["format"]);

  const auto by_matrix = run({"db", "show", "gen:grid2d:7", "--json", "--db", path("trials.db")});
  const auto by_fingerprint = run({"db", "show", list[0]["fingerprint"], "--json", "--db", path("trials.db")});
  EXPECT_EQ(by_matrix.out, by_fingerprint.out);
  EXPECT_EQ(by_matrix.json_lines().at(0).at(0)["candidates"].size(), tuned["trials"]);
  expect_one_error(run({"db", "show", "gen:grid2d:6", "--db", path("trials.db")}), 1, "gen:grid2d:6");
}

TEST_F(Inspect, WhatIsForgottenIsTunedAgain) {
  const auto forget = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"db", "forget", "--json", "--db", path("trials.db")});
    return run(std::move(words));
  };
  const int trials = tune({"gen:grid2d:7", "gen:grid2d:8"}).json_lines().at(0)["trials"];
  const auto forgotten = forget({"--matrix", "gen:grid2d:7"});
  EXPECT_EQ(forgotten.exit_code, 0) << forgotten.err;
  const auto counts = forgotten.json_lines().at(0);
  EXPECT_EQ(counts["matrices"], 1);
  EXPECT_EQ(counts["tunings"], 1);
  EXPECT_EQ(counts["suspects"], 0);
  EXPECT_GE(counts["trials"], trials) << "those that could win were measured twice";
  ASSERT_EQ(listed().size(), 1U);
  EXPECT_EQ(listed()[0]["matrix"], "gen:grid2d:8");
  EXPECT_EQ(tune({"gen:grid2d:7"}).json_lines().at(0)["from_database"], false);

  expect_one_error(forget({"--matrix", "gen:grid2d:9"}), 1, "gen:grid2d:9");
  expect_one_error(forget({"--device", "abacus"}), 1, "abacus");
  EXPECT_EQ(forget({"--suspects"}).exit_code, 0);
  EXPECT_EQ(forget({"--all", "--yes"}).json_lines().at(0)["matrices"], 2);
  EXPECT_EQ(listed(), Json::array());
}

TEST_F(Inspect, NothingInADatabaseSteersTheTerminal) {
  const auto file = path("trials.db");
  const std::string evil = "\x1b]0;title\x07\u009b2J\r\n";
  {
    const auto database = Database::open(file, {});
    const TrialKey key{{1, 2}, "double" + evil, "n", "host" + evil, "cpu" + evil, "gcc" + evil, evil, "0" + evil};
    TrialRecord trial{{"csr" + evil, {}}, 1, true, {}};
    trial.measurement.detail = evil;
    database->record(key, {"matrix" + evil, 1, 1, 1, 1, {}}, std::vector{trial});
    const auto fingerprint = key.pattern.text();
    for (const auto& words : {std::vector<std::string>{"list"},
                              {"list", "--json"},
                              {"show", fingerprint},
                              {"show", fingerprint, "--json"}}) {
      auto all = words;
      all.insert(all.begin(), "db");
      all.insert(all.end(), {"--db", file});
      const auto finished = run(all);
      EXPECT_EQ(finished.exit_code, 0) << finished.err;
      EXPECT_NE(finished.out.find("matrix"), std::string::npos);
      for (const char c : finished.out) {
        EXPECT_TRUE(c == '\n' || (c >= ' ' && c < '\x7f')) << static_cast<int>(c) << " in " << words.front();
      }
    }
  }
}

TEST_F(Inspect, LookingMakesNoFile) {
  const auto file = path("folder/trials.db");
  EXPECT_EQ(run({"db", "list", "--json", "--db", file}).json_lines().at(0), Json::array());
  EXPECT_EQ(run({"db", "show", "gen:grid2d:7", "--db", file}).exit_code, 1);
  expect_one_error(run({"db", "forget", "--all", "--yes", "--db", file}), 1, "there is no database");
  for (const auto* effort : {"cached", "estimate"}) {
    EXPECT_EQ(run({"explain", "--backend", "host", "--effort", effort, "--db", file, "gen:grid2d:7"}).exit_code, 0);
    EXPECT_EQ(run({"tune", "--backend", "host", "--effort", effort, "--db", file, "gen:grid2d:7"}).exit_code, 0);
  }
  EXPECT_FALSE(std::filesystem::exists(path("folder")));
}

TEST_F(Inspect, MemoryHasANameToo) {
  EXPECT_EQ(tune({"gen:grid2d:7", "--db", ":memory:"}).json_lines().at(0)["from_database"], false);
  EXPECT_EQ(run({"db", "list", "--json", "--db", ":memory:"}).json_lines().at(0), Json::array());
  EXPECT_FALSE(std::filesystem::exists(":memory:"));
}

TEST_F(Inspect, WhatCannotBeForgottenIsAnError) {
  const auto file = write("file", "");
  const auto finished = run({"db", "forget", "--all", "--yes", "--quiet", "--db", file + "/trials.db"});
  expect_one_error(finished, 1, "nothing is forgotten");
}

}  // namespace

}  // namespace autospmv::test
