// System databases: read below the user's own, which alone is written.
#include "tests/tools/program.hpp"

namespace autospmv {
namespace {

using test::Finished;

class SystemDatabases : public test::ProgramTest {
 protected:
  SystemDatabases() {
    unsetenv("AUTOSPMV_SYSTEM_DB");
    const auto finished = tune({"gen:pde:6", "gen:grid2d:30", "--db", path("site.db")});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
  }

  /// What is found without a trial, with an empty database above.
  [[nodiscard]] Finished look(const std::string& effort, std::vector<std::string> more) const {
    more.insert(more.begin(), {"--effort", effort, "gen:pde:6"});
    more.insert(more.end(), {"--db", path("own.db")});
    return tune(more);
  }
};

TEST_F(SystemDatabases, KnowWhatTheUserDoesNot) {
  const auto site = path("site.db");
  const auto known = look("cached", {"--system-db", site}).json_lines().at(0);
  EXPECT_EQ(known["from_database"], true);
  EXPECT_EQ(known["layer"], std::filesystem::canonical(site).string());
  EXPECT_EQ(look("cached", {}).json_lines().at(0)["from_database"], false);

  // The user's own trial comes first, and what is tuned goes there.
  EXPECT_EQ(tune({"gen:pde:6", "--db", path("own.db"), "--effort", "exhaustive"}).exit_code, 0);
  const auto own = look("cached", {"--system-db", site}).json_lines().at(0);
  EXPECT_EQ(own["from_database"], true);
  EXPECT_EQ(own["layer"], "");
}

TEST_F(SystemDatabases, AreNamedByTheEnvironmentToo) {
  setenv("AUTOSPMV_SYSTEM_DB", (path("none.db") + ":" + path("site.db")).c_str(), 1);
  const auto known = look("cached", {});
  EXPECT_EQ(known.json_lines().at(0)["layer"], std::filesystem::canonical(path("site.db")).string());
  EXPECT_EQ(known.error_lines(), 1) << known.err;
  EXPECT_NE(known.err.find("none.db: there is no such file: it is passed over"), std::string::npos) << known.err;
  EXPECT_EQ(look("cached", {"--system-db", "none"}).json_lines().at(0)["layer"], "");
}

TEST_F(SystemDatabases, ArePredictedFrom) {
  const auto explained = run({"explain", "--backend", "host", "--effort", "estimate", "--db", path("own.db"),
                              "--system-db", path("site.db"), "gen:pde:7"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_NE(explained.out.find("of them in system databases"), std::string::npos) << explained.out;
  EXPECT_NE(run({"explain", "--backend", "host", "--effort", "cached", "--db", path("own.db"), "--system-db",
                 path("site.db"), "gen:pde:6"})
                .out.find("database " + std::filesystem::canonical(path("site.db")).string()),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("own.db")));
}

// A program in the folder it was built in finds what was made beside it.
TEST_F(SystemDatabases, OfTheInstallationSayWhatOthersAreLikeAndNoMore) {
  const auto explained = [&](const std::string& effort, std::vector<std::string> more) {
    more.insert(more.begin(), {"explain", "--json", "--backend", "host", "--effort", effort, "--db", path("own.db")});
    return run(std::move(more)).json_lines().at(0);
  };
  const auto known = explained("estimate", {"gen:pde:9"});
  EXPECT_GT(known["known_matrices"], 50);
  EXPECT_FALSE(known["known_on"].empty());
  EXPECT_EQ(known["source"], "estimated");
  const auto unknown = explained("estimate", {"--system-db", "none", "gen:pde:9"});
  EXPECT_EQ(unknown["known_matrices"], 0);
  EXPECT_EQ(unknown["tier"], "model");
  // One of those that it was made of.
  EXPECT_EQ(explained("cached", {"gen:pde:40"})["source"], "untried");
}

}  // namespace
}  // namespace autospmv
