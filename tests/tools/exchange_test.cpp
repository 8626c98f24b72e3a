// autospmv db export, import, merge, diff, stats, check and vacuum, by the program itself.
#include "db/database.hpp"
#include "db/file/sqlite.hpp"
#include "tests/tools/program.hpp"

namespace autospmv {
namespace {

using test::expect_one_error;
using test::Finished;
using test::Json;

class Exchange : public test::ProgramTest {
 protected:
  [[nodiscard]] Finished db(std::vector<std::string> words, const std::string& file = "trials.db") const {
    words.insert(words.begin(), "db");
    words.insert(words.end(), {"--db", path(file)});
    return run(std::move(words));
  }

  [[nodiscard]] std::string exported(const std::string& file, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"export"};
    words.insert(words.end(), more.begin(), more.end());
    const auto finished = db(std::move(words), file);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return finished.out;
  }

  void change(const std::string& file, const std::string& sql) const {
    Database::open(path(file), {});
    db::Connection(path(file), db::Access::write).execute(sql);
  }
};

TEST_F(Exchange, ExportAndImportGiveTheSame) {
  EXPECT_EQ(tune({"gen:grid2d:20", "gen:pde:6"}).exit_code, 0);
  // What no terminal should get and JSON does not have.
  change("trials.db",
         "UPDATE matrix SET label = CAST(x'FF0022' AS TEXT), source = '\"\n' WHERE rows = 400; "
         "INSERT INTO coefficient VALUES ('host', CAST(x'C3' AS TEXT), 'x', 9e999, 'then'), "
         "('host', 'y', 'x', 0.1, 'then')");
  const auto text = exported("trials.db");
  EXPECT_NE(text.find("{\"hex\":\"ff0022\"}"), std::string::npos);
  EXPECT_NE(text.find("\"infinity\""), std::string::npos);
  const auto file = write("rows.jsonl", text);
  EXPECT_EQ(db({"import", file}, "copy.db").exit_code, 0);
  EXPECT_EQ(exported("copy.db"), text);
  const auto again = db({"import", file, "--json"}, "copy.db").json_lines().at(0);
  EXPECT_EQ(again, (Json{{"matrices", 0}, {"trials", 0}, {"efforts", 0}, {"suspects", 0}, {"fits", 0}}));
  EXPECT_EQ(exported("copy.db"), text);
  // From a pipe, into a file of its own; and back from the program's own output file.
  EXPECT_EQ(run({"db", "import", "-", "--db", path("piped.db")}, file).exit_code, 0);
  EXPECT_EQ(db({"export", "--output", path("piped.jsonl")}, "piped.db").exit_code, 0);
  EXPECT_EQ(read("piped.jsonl"), text);
  EXPECT_EQ(db({"check"}, "piped.db").out, "sound\n");
}

TEST_F(Exchange, WhatIsMalformedIsRefusedByItsLine) {
  EXPECT_EQ(tune({"gen:pde:6"}).exit_code, 0);
  const auto text = exported("trials.db");
  const auto lines = std::count(text.begin(), text.end(), '\n');
  const auto before = exported("trials.db");
  const auto refuses = [&](const std::string& content, std::int64_t line, const std::string& why) {
    const auto file = write("bad.jsonl", content);
    expect_one_error(db({"import", file}), 1, "bad.jsonl:" + std::to_string(line) + ": " + why);
    EXPECT_EQ(exported("trials.db"), before) << "nothing is half done";
  };
  const std::string matrix =
      R"({"row":"matrix","fingerprint":"f","rows":1,"cols":1,"nnz":1,"label":"","source":"","first_seen_at":""})";
  const std::string header = "{\"autospmv_rows\":1}\n";
  const auto changed = [&](const std::string& from, const std::string& to) {
    auto line = matrix;
    return header + matrix + "\n" + line.replace(line.find(from), from.size(), to) + "\n";
  };
  refuses("", 1, "it is empty");
  refuses("hello\n", 1, "it is no JSON");
  refuses("[]\n", 1, "it is no JSON object");
  refuses(matrix + "\n", 1, "it does not begin with");
  refuses("{\"autospmv_rows\":2}\n", 1, "it is of a version");
  refuses(header + "\n", 2, "it is no JSON");
  refuses(header + matrix.substr(0, 30), 2, "it is no JSON");
  refuses(header + std::string(100000, '[') + "\n", 2, "it is no JSON");
  refuses(header + matrix + "\n" + header, 3, "\"row\" is no kind");
  refuses(changed("\"matrix\"", "\"matrices\""), 3, "\"row\" is no kind");
  refuses(changed("\"f\"", "7"), 3, "\"fingerprint\" is of the wrong type");
  refuses(changed("\"f\"", "{\"hex\":\"f\"}"), 3, "\"fingerprint\" is of the wrong type");
  refuses(changed("\"f\"", "{\"hex\":\"FF\"}"), 3, "\"fingerprint\" is of the wrong type");
  refuses(changed("\"rows\":1", "\"rows\":1.5"), 3, "\"rows\" is of the wrong type");
  refuses(changed("\"rows\":1", "\"rows\":9223372036854775808"), 3, "\"rows\" is of the wrong type");
  refuses(changed("\"rows\":1,", ""), 3, "\"rows\" is missing");
  refuses(changed("\"rows\":1", "\"rows\":1,\"tows\":1"), 3, "it has members");
  refuses(header + matrix + "\n" + matrix + "\n", 3, "UNIQUE constraint failed");
  refuses(header + R"({"row":"feature","matrix":"f","name":"a","value":null})" + "\n", 2, "\"value\" is of the wrong");
  refuses(header + R"({"row":"feature","matrix":"g","name":"a","value":1})" + "\n", 2, "its matrix");
  // A whole export with rubbish in the end, and one that was cut off.
  refuses(text + "rubbish\n", lines + 1, "it is no JSON");
  refuses(text.substr(0, text.size() - 9), lines, "it is no JSON");
  expect_one_error(db({"import", path("")}), 1, "cannot be read");
  expect_one_error(db({"import", path("none.jsonl")}), 1, "cannot be read");
}

TEST_F(Exchange, MergesHalves) {
  EXPECT_EQ(tune({"gen:pde:6", "--db", path("a.db")}).exit_code, 0);
  EXPECT_EQ(tune({"gen:grid2d:20", "--db", path("b.db")}).exit_code, 0);
  EXPECT_EQ(db({"merge", path("a.db"), path("b.db")}, "ab.db").exit_code, 0);
  EXPECT_EQ(db({"merge", path("a.db")}, "b.db").exit_code, 0);
  EXPECT_EQ(exported("ab.db"), exported("b.db"));
  EXPECT_EQ(run({"db", "list", "--json", "--db", path("ab.db")}).json_lines().at(0).size(), 2U);
  const auto merged = exported("ab.db");
  EXPECT_EQ(db({"merge", path("a.db"), path("ab.db")}, "ab.db").exit_code, 0);
  EXPECT_EQ(exported("ab.db"), merged);
  expect_one_error(db({"merge", path("c.db")}), 1, "there is no database");
  // A choice of what is merged.
  EXPECT_EQ(db({"merge", path("ab.db"), "--matrix", "gen:pde:6"}, "chosen.db").exit_code, 0);
  EXPECT_EQ(db({"list", "--json"}, "chosen.db").json_lines().at(0).size(), 1U);
}

TEST_F(Exchange, SaysWhatChangedBetweenTwoDatabases) {
  EXPECT_EQ(tune({"gen:pde:6", "gen:grid2d:20", "gen:rmat:6", "--db", path("old.db")}).exit_code, 0);
  EXPECT_EQ(db({"merge", path("old.db"), "--matrix", "gen:pde:6", "--matrix", "gen:grid2d:20"}, "new.db").exit_code, 0);
  // Another driver, by which one matrix became twice as slow and the other stayed what it was.
  change("new.db",
         "DROP TRIGGER trial_keeps_values; UPDATE environment SET driver = '999'; "
         "UPDATE trial SET warm_median_s = 2 * warm_high_quartile_s, warm_low_quartile_s = 2 * warm_high_quartile_s, "
         "warm_high_quartile_s = 3 * warm_high_quartile_s WHERE matrix = (SELECT fingerprint FROM matrix WHERE label = "
         "'gen:pde:6')");
  const auto json = run({"db", "diff", path("old.db"), path("new.db"), "--json"}).json_lines().at(0);
  ASSERT_EQ(json["matrices"].size(), 2U);
  EXPECT_EQ(json["matrices"][0]["matrix"], "gen:pde:6") << "what became slower comes first";
  EXPECT_EQ(json["matrices"][0]["verdict"], "slower");
  EXPECT_LT(json["matrices"][0]["speedup"], 1);
  EXPECT_EQ(json["matrices"][0]["after"]["driver"], "999");
  EXPECT_EQ(json["matrices"][1]["verdict"], "same");
  ASSERT_EQ(json["only_before"].size(), 1U);
  EXPECT_EQ(json["only_before"][0]["matrix"], "gen:rmat:6");
  EXPECT_EQ(json["only_after"], Json::array());
  const auto text = run({"db", "diff", path("old.db"), path("new.db")}).out;
  EXPECT_NE(text.find("driver none -> 999: 2"), std::string::npos) << text;
  EXPECT_NE(text.find("compared: 2, faster: 0, slower: 1"), std::string::npos) << text;
  EXPECT_NE(text.find("only before: gen:rmat:6"), std::string::npos) << text;
  EXPECT_NE(run({"db", "diff", path("new.db"), path("old.db")}).out.find("faster: 1, slower: 0"), std::string::npos);
  expect_one_error(run({"db", "diff", path("old.db"), path("none.db")}), 1, "there is no database");
}

TEST_F(Exchange, ShowsAllThatIsKnown) {
  const auto file = write("small.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3.25\n2 2 1.75\n");
  EXPECT_EQ(tune({file}).exit_code, 0);
  EXPECT_EQ(run({"bench", "--backend", "host", "--db", path("trials.db"), "--quiet", file}).exit_code, 0);
  change("trials.db",
         "INSERT INTO suspect SELECT matrix, environment, format, params, 'a host', 1, 1, '2000' FROM trial LIMIT 1; "
         "INSERT INTO coefficient SELECT backend, device, 'wave_seconds', 0.5, 'then' FROM environment");
  const auto json = db({"show", "small", "--json"}).json_lines().at(0).at(0);
  EXPECT_EQ(json["source"], std::filesystem::absolute(file).lexically_normal().string());
  EXPECT_EQ(json["features"]["rows"], 2);
  EXPECT_FALSE(json["earlier"].empty());
  EXPECT_FALSE(json["candidates"][0]["moment"].get<std::string>().empty());
  EXPECT_EQ(json["suspects"].size(), 1U);
  EXPECT_EQ(json["coefficients"]["wave_seconds"], 0.5);
  const auto text = db({"show", json["fingerprint"]}).out;
  for (const auto* part : {"features:", "earlier trials:", "suspect:", "coefficients of the device: wave_seconds 0.5",
                           "from /", "quartiles"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  const auto one = db({"show", "small", "--json", "--format", "csr_scalar"}).json_lines().at(0).at(0);
  for (const auto& candidate : one["candidates"]) EXPECT_EQ(candidate["format"], "csr_scalar");
}

TEST_F(Exchange, CountsChecksAndShrinks) {
  EXPECT_EQ(tune({"gen:pde:6"}).exit_code, 0);
  const auto stats = db({"stats", "--json"}).json_lines().at(0);
  EXPECT_EQ(stats["matrices"], 1);
  EXPECT_GE(stats["trials"], 1);
  EXPECT_GT(stats["bytes"], 4096);
  EXPECT_EQ(stats["places"].size(), 1U);
  EXPECT_NE(db({"stats"}).out.find("fastest on"), std::string::npos);
  EXPECT_EQ(db({"stats", "--json", "--older-than", "1h"}).json_lines().at(0)["trials"], 0);
  EXPECT_EQ(db({"stats", "--json", "--newer-than", "1h"}).json_lines().at(0)["trials"], stats["trials"]);

  EXPECT_EQ(db({"forget", "--older-than", "1d", "--json"}).json_lines().at(0)["trials"], 0);
  EXPECT_EQ(db({"forget", "--newer-than", "1d", "--json"}).json_lines().at(0)["trials"], stats["trials"]);
  const auto sizes = db({"vacuum", "--json"}).json_lines().at(0);
  EXPECT_LE(sizes["bytes_after"], sizes["bytes_before"]);
  change("trials.db", "PRAGMA foreign_keys = OFF; INSERT INTO feature VALUES ('nobody', 'rows', 1)");
  EXPECT_EQ(db({"check"}).exit_code, 1);
  EXPECT_EQ(db({"check", "--json"}).json_lines().at(0)["sound"], false);
  expect_one_error(db({"check"}, "none.db"), 1, "there is no database");
  expect_one_error(db({"vacuum"}, "none.db"), 1, "there is no database");
}

TEST_F(Exchange, MisuseIsSaid) {
  expect_one_error(db({"stats", "--older-than", "3 days"}), 2, "is no number with one of the units");
  expect_one_error(db({"stats", "--older-than", "-3d"}), 2, "is no number with one of the units");
  expect_one_error(db({"check", "--format", "csr"}), 2, "it takes no choice of rows");
  expect_one_error(db({"list", "--output", "x"}), 2, "--output is for db export");
  expect_one_error(db({"merge"}), 2, "usage:");
  expect_one_error(db({"show", "a", "--matrix", "b"}), 2, "db show takes one matrix");
}

}  // namespace
}  // namespace autospmv
