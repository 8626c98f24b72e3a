// What the program says where the system gives it no more memory.
#include <sstream>

#include "tests/tools/program.hpp"

namespace autospmv::test {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool takes_all_addresses = true;
#else
constexpr bool takes_all_addresses = false;
#endif

// What the library says of a tuning that was cut short comes before.
std::string without_warnings(const std::string& text) {
  std::string others;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("autospmv: warning: ", 0) != 0) others += line + '\n';
  }
  return others;
}

class LittleMemory : public ProgramTest {
 protected:
  // With so many kilobytes of addresses. In one thread: OpenMP ends a process that cannot have more.
  [[nodiscard]] Finished run_within(std::int64_t kilobytes, std::vector<std::string> words) const {
    return run_in_shell("ulimit -v " + std::to_string(kilobytes) + " && OMP_NUM_THREADS=1 exec \"$0\" \"$@\"",
                        std::move(words));
  }
};

TEST_F(LittleMemory, GivesAPlanOrOneLineOfError) {
  if (takes_all_addresses) GTEST_SKIP() << "this sanitizer takes all addresses that there are";
  constexpr std::int64_t megabyte = 1024;
  std::int64_t least = 8 * megabyte;
  while (run_within(least, {"--version"}).exit_code != 0) least += megabyte;
  int plans = 0;
  for (const int more : {0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512}) {
    SCOPED_TRACE(std::to_string(least / megabyte) + " + " + std::to_string(more) + " MB");
    auto finished = run_within(least + more * megabyte,
                               {"tune", "--json", "--backend", "host", "--db", path("trials.db"), "gen:circuit:6000"});
    EXPECT_EQ(finished.signal, 0) << finished.err;
    if (finished.exit_code == 0) {
      EXPECT_EQ(finished.json_lines().size(), 1U);
      ++plans;
    } else {
      finished.err = without_warnings(finished.err);
      expect_one_error(finished, 1, "out of memory");
    }
    std::filesystem::remove(path("trials.db"));
  }
  EXPECT_GT(plans, 0);
}

}  // namespace

}  // namespace autospmv::test
