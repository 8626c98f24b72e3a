// Runs the real program, as a user does, and keeps what it said.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

namespace autospmv::test {

using Json = nlohmann::json;

struct Finished {
  int exit_code = -1;  ///< -1 where a signal ended it
  int signal = 0;
  std::string out;
  std::string err;

  [[nodiscard]] auto error_lines() const { return std::count(err.begin(), err.end(), '\n'); }

  /// Standard output as JSON, one value a line.
  [[nodiscard]] std::vector<Json> json_lines() const {
    std::vector<Json> values;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) values.push_back(Json::parse(line));
    return values;
  }
};

/// Runs the program in a directory of its own, removed in the end, with a database that lies there.
class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    // Nothing but what a test puts into a database is known, whatever is installed or was built.
    setenv("AUTOSPMV_SYSTEM_DB", "", 1);
    auto pattern = (std::filesystem::temp_directory_path() / "autospmv-tools-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory: " + pattern);
    directory_ = pattern;
  }
  ~ProgramTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (directory_ / name).string(); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return path(name);
  }

  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(directory_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// `input` is a file.
  [[nodiscard]] Finished run(std::vector<std::string> words, const std::string& input = "/dev/null") const {
    return end(start(std::move(words), input));
  }

  /// The same, with a signal after a while.
  [[nodiscard]] Finished run_until(std::vector<std::string> words, std::chrono::microseconds moment, int signal) const {
    const auto child = start(std::move(words), "/dev/null");
    std::this_thread::sleep_for(moment);
    kill(child, signal);  // a child that has ended already is still there to be waited for
    return end(child);
  }

  /// Begins a run that end() waits for.
  [[nodiscard]] pid_t start(std::vector<std::string> words, const std::string& input = "/dev/null") const {
    words.insert(words.begin(), AUTOSPMV_PROGRAM);
    return start_command(std::move(words), input);
  }

  /// By a shell that is given this script, with the program and its words as arguments: 'ulimit -n 9; exec "$0" "$@"'.
  [[nodiscard]] Finished run_in_shell(const std::string& script, std::vector<std::string> words) const {
    words.insert(words.begin(), {"/bin/sh", "-c", script, AUTOSPMV_PROGRAM});
    return end(start_command(std::move(words), "/dev/null"));
  }

  /// Tunes on the host; gives JSON.
  [[nodiscard]] Finished tune(std::vector<std::string> words, const std::string& input = "/dev/null") const {
    words.insert(words.begin(), {"tune", "--json", "--backend", "host"});
    if (std::find(words.begin(), words.end(), "--db") == words.end()) {
      words.insert(words.end(), {"--db", path("trials.db")});
    }
    return run(std::move(words), input);
  }

  /// The same, again while a plan does not come from the database: on a busy machine trials are disturbed, or doubted
  /// later, and made again. Gives the last run.
  [[nodiscard]] Finished tune_until_known(const std::vector<std::string>& words) const {
    constexpr int most_runs = 50;
    for (int i = 1;; ++i) {
      auto finished = tune(words);
      const auto records = finished.json_lines();
      const auto known = [](const Json& record) { return record["from_database"] == true; };
      if (i == most_runs || std::all_of(records.begin(), records.end(), known)) return finished;
    }
  }

  /// What the database holds: a line a matrix and set of limits.
  [[nodiscard]] Json listed() const {
    return run({"db", "list", "--json", "--db", path("trials.db")}).json_lines().at(0);
  }

  [[nodiscard]] Finished end(pid_t child) const {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
            .out = read("stdout"),
            .err = read("stderr")};
  }

 private:
  // The first word is the program.
  [[nodiscard]] pid_t start_command(std::vector<std::string> words, const std::string& input) const {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    constexpr int overwrite = O_WRONLY | O_CREAT | O_TRUNC;
    const auto out = path("stdout");
    const auto err = path("stderr");
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), overwrite, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), overwrite, 0600);
    pid_t child = 0;
    const int failed = posix_spawn(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("the program cannot be started: " + words.front());
    return child;
  }

  std::filesystem::path directory_;
};

/// One line of error that holds this text, this exit code, and nothing worse.
inline void expect_one_error(const Finished& finished, int exit_code, const std::string& text) {
  EXPECT_EQ(finished.signal, 0);
  EXPECT_EQ(finished.exit_code, exit_code);
  EXPECT_EQ(finished.error_lines(), 1) << finished.err;
  EXPECT_EQ(finished.err.rfind("autospmv: ", 0), 0U) << finished.err;
  EXPECT_NE(finished.err.find(text), std::string::npos) << finished.err << "lacks: " << text;
}

}  // namespace autospmv::test
