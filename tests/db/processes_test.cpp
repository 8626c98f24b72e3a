// Many processes and one file. Connections do not survive a fork: children open their own, the parent opens after.
#include <array>
#include <csignal>

#include "db/process.hpp"
#include "tests/db/support.hpp"

namespace autospmv {
namespace {

using test::ChildProcess;
using test::key_of;
using test::no_warnings;
using test::record_one;
using test::TemporaryDirectory;
using test::trial_of;

const Candidate ellr{"ellr_t", {{"T", 4}}};
const Candidate csr{"csr", {}};
using Noted = std::vector<Suspect>;

TEST(Processes, LoseNothingInOneFile) {
  constexpr int processes = 4;
  constexpr int batches = 100;
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  test::run_together(processes, [&](int process) {
    int warnings = 0;
    const auto database = Database::open(file, [&](const std::string&) { ++warnings; });
    for (int batch = 0; batch < batches; ++batch) {
      const std::vector trials{trial_of("csr", {{"process", process}, {"batch", batch}}, 1e-3),
                               trial_of("ell", {{"process", process}, {"batch", batch}}, 1e-3)};
      database->note_suspect(key_of(1), csr);
      database->record(key_of(1), test::matrix_record(), trials);
      database->clear_suspect(key_of(1), csr);
    }
    return warnings == 0 ? 0 : 1;
  });
  const auto database = Database::open(file, no_warnings());
  EXPECT_EQ(database->trials(key_of(1)).size(), static_cast<std::size_t>(processes * batches * 2));
  EXPECT_EQ(test::number_from(file, "SELECT count(*) FROM environment"), 1);
  EXPECT_EQ(test::number_from(file, "SELECT count(*) FROM suspect"), 0);
}

TEST(Processes, BeginOneFileTogether) {
  constexpr int rounds = 20;
  constexpr int processes = 4;
  const TemporaryDirectory directory;
  for (int round = 0; round < rounds; ++round) {
    const auto file = directory / (std::to_string(round) + ".db");
    test::run_together(processes, [&](int process) {
      int warnings = 0;
      const auto database = Database::open(file, [&](const std::string&) { ++warnings; });
      record_one(*database, key_of(1), trial_of("csr", {{"process", process}}, 1e-3));
      return warnings == 0 ? 0 : 1;
    });
    EXPECT_EQ(test::number_from(file, "SELECT count(*) FROM trial"), processes);
  }
}

// A child that notes a suspect, says so, and then waits to be killed.
class Tuner {
 public:
  Tuner(const std::filesystem::path& file, const Candidate& candidate)
      : ready_(make_pipe()), child_([&] {
          const auto database = Database::open(file, {});
          database->note_suspect(key_of(1), candidate);
          const char byte = 1;
          if (write(ready_[1], &byte, 1) != 1) return 1;
          pause();
          return 0;
        }) {
    close(ready_[1]);
    char byte = 0;
    EXPECT_EQ(read(ready_[0], &byte, 1), 1);
  }
  ~Tuner() {
    kill(child_.pid(), SIGKILL);
    close(ready_[0]);
  }
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  [[nodiscard]] pid_t pid() const { return child_.pid(); }

 private:
  static std::array<int, 2> make_pipe() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("pipe failed");
    return ends;
  }

  std::array<int, 2> ready_;
  ChildProcess child_;
};

TEST(Suspects, AreWhatADeadProcessLeftBehind) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  {
    const Tuner tuner(file, ellr);
    EXPECT_EQ(test::number_from(file, "SELECT count(*) FROM suspect"), 1);
    EXPECT_TRUE(Database::open(file, no_warnings())->suspects(key_of(1)).empty());
    // Killed and not yet waited for, it has an entry in the process table still.
    kill(tuner.pid(), SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(tuner.pid()), &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(Database::open(file, no_warnings())->suspects(key_of(1)), (Noted{{ellr, 1}}));
  }
  const auto database = Database::open(file, no_warnings());
  EXPECT_EQ(database->suspects(key_of(1)), (Noted{{ellr, 1}}));
  EXPECT_TRUE(database->suspects(key_of(2)).empty());
}

TEST(Suspects, OfThisProcessAreItsOwnToClear) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  { const Tuner tuner(file, ellr); }
  const auto database = Database::open(file, no_warnings());
  database->note_suspect(key_of(1), ellr);
  database->note_suspect(key_of(1), ellr);
  EXPECT_EQ(test::number_from(file, "SELECT count(*) FROM suspect"), 2);
  database->clear_suspect(key_of(1), ellr);
  EXPECT_EQ(test::number_from(file, "SELECT count(*) FROM suspect"), 1);
  EXPECT_EQ(database->suspects(key_of(1)), (Noted{{ellr, 1}}));
}

TEST(Suspects, ThatSurviveAreNoneAnyMore) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  { const Tuner tuner(file, ellr); }
  { const Tuner tuner(file, csr); }
  const auto database = Database::open(file, no_warnings());
  database->record(key_of(1), {}, {}, ellr);
  EXPECT_EQ(test::number_from(file, "SELECT count(*) FROM suspect"), 3);
  database->absolve(key_of(1), ellr);
  EXPECT_EQ(database->suspects(key_of(1)), (Noted{{csr, 1}}));
}

// One note in the file, changed as told, and what is suspected then.
Noted suspects_after(const std::string& change) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  Database::open(file, no_warnings())->note_suspect(key_of(1), ellr);
  test::change_file(file, "UPDATE suspect SET " + change);
  return Database::open(file, no_warnings())->suspects(key_of(1));
}

TEST(Suspects, WithTheIdOfALaterProcess) {
  EXPECT_TRUE(suspects_after("pid = pid").empty());
  EXPECT_EQ(suspects_after("start_ticks = start_ticks - 1"), (Noted{{ellr, 1}}));
  EXPECT_EQ(suspects_after("pid = -1"), (Noted{{ellr, 1}}));
}

TEST(Suspects, OfAnotherHostNeedADay) {
  const std::string host = "host = 'another ' || host, pid = -1, ";
  const std::string moment = "created_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ";
  EXPECT_TRUE(suspects_after(host + moment + "'-23 hours')").empty());
  EXPECT_EQ(suspects_after(host + moment + "'-25 hours')"), (Noted{{ellr, 1}}));
  EXPECT_TRUE(suspects_after(moment + "'-25 hours')").empty());  // of this host, and running
}

TEST(Suspects, AreNamedWithTheirDeathsAndInOrder) {
  const TemporaryDirectory directory;
  const auto file = directory / "trials.db";
  { const Tuner tuner(file, ellr); }
  { const Tuner tuner(file, csr); }
  { const Tuner tuner(file, ellr); }
  EXPECT_EQ(Database::open(file, no_warnings())->suspects(key_of(1)), (Noted{{csr, 1}, {ellr, 2}}));
}

TEST(Suspects, WithUnreadableParametersAreSkipped) {
  EXPECT_TRUE(suspects_after("pid = -1, params = 'T=four'").empty());
}

TEST(Process, KnowsItself) {
  const auto self = db::this_process();
  EXPECT_EQ(self.pid, getpid());
  EXPECT_NE(self.host.find(" pid:["), std::string::npos) << "of another namespace nothing is seen: " << self.host;
  EXPECT_GT(self.start_ticks, 0);
  EXPECT_TRUE(db::is_running(self));
}

}  // namespace
}  // namespace autospmv
