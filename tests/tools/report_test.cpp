// autospmv report: what is in the file; how it looks and behaves is for tests/page.
#include "tests/tools/program.hpp"

namespace autospmv {
namespace {

using test::expect_one_error;
using test::Json;

using Report = test::ProgramTest;

Json facts_in(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"facts\">";
  const auto from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST_F(Report, HoldsWhatTheDatabaseSays) {
  EXPECT_EQ(tune({"gen:pde:8", "gen:grid2d:30", "gen:rmat:8"}).exit_code, 0);
  const auto finished = run({"report", path("trials.db"), "-o", path("page.html"), "--json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.json_lines().at(0)["matrices"], 3);
  const auto page = read("page.html");
  EXPECT_EQ(page.find("{{"), std::string::npos);
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg")) << "a name of SVG, and no address";
  EXPECT_EQ(page.find("https://"), std::string::npos);
  const auto facts = facts_in(page);
  ASSERT_EQ(facts["matrices"].size(), 3U);
  for (const auto& matrix : facts["matrices"]) {
    EXPECT_GE(matrix["speedup"], 1);
    EXPECT_FALSE(matrix["candidates"].empty());
    EXPECT_GT(matrix["npr_mean"], 0);
    EXPECT_GT(matrix["winner"]["moved"], 0);
    EXPECT_GT(matrix["predicted_us"], 0);
  }
  EXPECT_EQ(facts["machines"].size(), 1U);
  EXPECT_EQ(facts["command"], "autospmv report " + path("trials.db") + " -o " + path("page.html"));
  const auto one = run({"report", "--db", path("trials.db"), "--matrix", "gen:pde:8"});
  EXPECT_EQ(facts_in(one.out)["matrices"].size(), 1U);
}

TEST_F(Report, MisuseIsSaid) {
  expect_one_error(run({"report", path("none.db")}), 1, "there is no database");
  expect_one_error(run({"report", path("a.db"), "--db", path("b.db")}), 2, "named twice");
  expect_one_error(run({"report", path("a.db"), "--format", "csr"}), 2, "a report is of matrices");
  EXPECT_EQ(tune({"gen:pde:6"}).exit_code, 0);
  expect_one_error(run({"report", path("trials.db"), "--matrix", "another"}), 1, "has no trials of such matrices");
  expect_one_error(run({"report", path("trials.db"), "-o", path("none/page.html")}), 1, "cannot be written");
}

}  // namespace
}  // namespace autospmv
