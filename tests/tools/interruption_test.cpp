// Whenever a tuning ends, what was measured is kept, and nothing innocent is blamed.
#include <sys/mount.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <thread>

#include "db/database.hpp"
#include "db/file/sqlite.hpp"
#include "tests/tools/program.hpp"
#include "tuner/measure/first_launch.hpp"

namespace autospmv::test {

namespace {

using namespace std::chrono_literals;

// How many signals are sent: $AUTOSPMV_TEST_ROUNDS, for a thorough search.
int rounds() {
  const char* wanted = std::getenv("AUTOSPMV_TEST_ROUNDS");
  return wanted != nullptr ? std::atoi(wanted) : 4;
}

class Interruption : public ProgramTest {
 protected:
  [[nodiscard]] const std::string& database() const { return database_; }

  [[nodiscard]] std::vector<std::string> tune_words() const {
    return {"tune", "--json", "--backend", "host", "--db", database(), "--effort", "exhaustive", "gen:grid2d:7"};
  }

  // To read may take writing: a process that died in its first transaction leaves it to be rolled back.
  [[nodiscard]] std::int64_t number(const std::string& sql) const {
    const db::Connection connection(database(), db::Access::write);
    db::Statement statement(connection, sql);
    std::int64_t value = -1;
    if (statement.step()) statement.read(value);
    return value;
  }

  // Whether there is one already: the first transaction makes all of it.
  [[nodiscard]] bool begun() const {
    return std::filesystem::exists(database()) && std::filesystem::file_size(database()) > 0 &&
           number("SELECT count(*) FROM sqlite_schema WHERE name = 'trial'") == 1;
  }

  // SQLite's own opinion of the file.
  [[nodiscard]] std::string integrity() const {
    const db::Connection connection(database(), db::Access::write);
    db::Statement statement(connection, "PRAGMA integrity_check");
    std::string verdict;
    if (statement.step()) statement.read(verdict);
    return verdict;
  }

  // The candidates that were tried so far.
  [[nodiscard]] std::int64_t tried() const {
    return number("SELECT count(DISTINCT format || ' ' || params) FROM trial");
  }

  // Deaths that count against the candidate that has most of them, of those that were not tried since.
  [[nodiscard]] int most_deaths() const {
    int most = 0;
    const auto opened = Database::open(database(), {});
    for (const auto& entry : opened->list()) {
      for (const auto& suspect : opened->suspects(entry.key)) most = std::max(most, suspect.deaths);
    }
    return most;
  }

  // The first run, undisturbed, tells how long one takes.
  [[nodiscard]] std::chrono::microseconds undisturbed() const {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(run(tune_words()).exit_code, 0);
    const auto duration = std::chrono::steady_clock::now() - start;
    remove_database();
    return std::chrono::duration_cast<std::chrono::microseconds>(duration);
  }

  void remove_database() const {
    for (const auto* end : {"", "-wal", "-shm"}) std::filesystem::remove(database() + end);
  }

  void expect_sound(std::int64_t tried_before) const {
    ASSERT_EQ(integrity(), "ok");
    EXPECT_EQ(number("SELECT count(*) FROM trial WHERE outcome NOT IN ('passed', 'disturbed', 'refused')"), 0);
    EXPECT_GE(tried(), tried_before);
  }

  // An undisturbed run then finishes: nothing is left out.
  void expect_to_finish() const {
    const auto finished = run(tune_words());
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_EQ(finished.err, "") << "nothing is skipped";
    ASSERT_EQ(finished.json_lines().size(), 1U);
    EXPECT_GT(finished.json_lines()[0]["winner"]["median_us"], 0);
    EXPECT_EQ(number("SELECT count(*) FROM suspect"), 0);
    EXPECT_EQ(number("SELECT count(*) FROM tuning"), 1);
  }

  // Sends the signal at random moments of tunings of one matrix; whenever it is completely tuned, begins anew.
  template <class Check>
  void send_often(int signal, const Check& check) {
    const auto longest = undisturbed();
    std::minstd_rand random(17);
    std::uniform_int_distribution<std::int64_t> moment(0, longest.count());
    std::int64_t known = 0;
    for (int round = 0; round < rounds(); ++round) {
      const auto finished = run_until(tune_words(), std::chrono::microseconds(moment(random)), signal);
      SCOPED_TRACE("round " + std::to_string(round));
      check(finished);
      if (!begun()) continue;
      expect_sound(known);
      known = tried();
      if (finished.exit_code != 0) continue;
      ++finished_;
      expect_to_finish();
      remove_database();
      known = 0;
    }
    expect_to_finish();
  }

  std::string database_ = path("trials.db");
  int finished_ = 0;
};

// Where it comes before the program has begun to listen, the signal itself ends it.
bool was_ended_by(const Finished& finished, int signal) {
  return finished.exit_code == 128 + signal || (finished.exit_code == -1 && finished.signal == signal);
}

TEST_F(Interruption, ASignalLeavesTrialsAndNoSuspect) {
  for (const int signal : {SIGINT, SIGTERM}) {
    int interrupted = 0;
    int kept = 0;
    remove_database();
    send_often(signal, [&](const Finished& finished) {
      EXPECT_TRUE(finished.exit_code == 0 || was_ended_by(finished, signal)) << finished.exit_code << finished.err;
      EXPECT_LE(finished.error_lines(), 1) << finished.err;
      if (finished.exit_code == 0 || !begun()) return;
      ++interrupted;
      EXPECT_EQ(number("SELECT count(*) FROM suspect"), 0);
      kept += tried() > 0 ? 1 : 0;
    });
    std::cout << "signal " << signal << ": " << interrupted << " of " << rounds() << " interrupted, " << kept
              << " left trials, " << finished_ << " finished\n";
  }
}

TEST_F(Interruption, AKilledProcessLeavesTrialsAndNobodyIsBlamed) {
  std::map<int, int> blamed;  // runs by the most deaths that counted against one candidate
  send_often(SIGKILL, [&](const Finished& finished) {
    EXPECT_TRUE(finished.exit_code == 0 || finished.signal == SIGKILL) << finished.exit_code << finished.err;
    if (!begun()) return;
    const int deaths = most_deaths();
    ++blamed[deaths];
    EXPECT_LT(deaths, fatal_deaths);
  });
  for (const auto& [deaths, times] : blamed) {
    std::cout << "most deaths of one candidate " << deaths << ": after " << times << " runs\n";
  }
  std::cout << finished_ << " finished\n";
}

// ---- No room
// ---------------------------------------------------------------------------------------------------------

class NoRoom : public Interruption {
 protected:
  // A run that may, or may not, have found no room gives its result and blames nobody.
  void expect_result(const Finished& finished) const {
    EXPECT_EQ(finished.signal, 0);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_LE(finished.error_lines(), 1) << finished.err;
    ASSERT_EQ(finished.json_lines().size(), 1U);
    EXPECT_GT(finished.json_lines()[0]["trials"], 0);
    if (!begun()) return;
    EXPECT_EQ(integrity(), "ok");
    EXPECT_EQ(number("SELECT count(*) FROM suspect"), 0);
  }
};

// While it lives, no file of a process that is started may grow beyond so many bytes.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(NoRoom, FilesThatMayNotGrowMeanMemory) {
  int warned = 0;
  for (const int kib : {4, 64, 90, 130, 200, 300}) {
    SCOPED_TRACE(kib);
    remove_database();
    const auto finished = [&] {
      const FileLimit limit(static_cast<rlim_t>(kib) << 10);
      return tune({"gen:grid2d:7"});
    }();
    expect_result(finished);
    if (finished.error_lines() == 0) continue;
    ++warned;
    EXPECT_NE(finished.err.find("memory"), std::string::npos) << finished.err;
  }
  EXPECT_GT(warned, 0);
}

// A file system of its own, of so many bytes.
class SmallFileSystem {
 public:
  SmallFileSystem(std::string place, int kib) : place_(std::move(place)) {
    std::filesystem::create_directory(place_);
    const auto options = "size=" + std::to_string(kib) + "k";
    mounted_ = mount("tmpfs", place_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallFileSystem() {
    if (mounted_) umount2(place_.c_str(), MNT_DETACH);
  }
  SmallFileSystem(const SmallFileSystem&) = delete;
  SmallFileSystem& operator=(const SmallFileSystem&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  std::string place_;
  bool mounted_ = false;
};

TEST_F(NoRoom, AFullDiskMeansMemory) {
  for (const int kib : {4, 120, 160, 200, 280}) {
    SCOPED_TRACE(kib);
    const SmallFileSystem small(path("small"), kib);
    if (!small.mounted()) GTEST_SKIP() << "no file system can be mounted here";
    database_ = path("small/trials.db");
    const auto finished = tune({"gen:grid2d:7", "--db", database()});
    expect_result(finished);
  }
}

}  // namespace

}  // namespace autospmv::test
