// What the tests of the database share: places that vanish, records to put in, processes to put aside.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "db/database.hpp"
#include "db/file/sqlite.hpp"

namespace autospmv::test {

/// A directory of its own, removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    auto pattern = (std::filesystem::temp_directory_path() / "autospmv-db-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory: " + pattern);
    path_ = std::filesystem::canonical(pattern);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// The names of what is in it.
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.insert(entry.path().filename().string());
    return names;
  }

 private:
  std::filesystem::path path_;
};

/// Collects warnings.
class Warnings {
 public:
  Database::Warn sink() {
    return [texts = texts_](const std::string& text) { texts->push_back(text); };
  }
  [[nodiscard]] const std::vector<std::string>& texts() const { return *texts_; }
  [[nodiscard]] std::size_t count() const { return texts_->size(); }

 private:
  std::shared_ptr<std::vector<std::string>> texts_ = std::make_shared<std::vector<std::string>>();
};

inline Database::Warn no_warnings() {
  return [](const std::string& text) { ADD_FAILURE() << "unexpected warning: " << text; };
}

inline void write_file(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline TrialKey key_of(std::uint64_t pattern) {
  return {{0x0123456789abcdefULL, pattern}, "double", "n", "host", "a cpu", "gcc 12", "none", "0.1.0"};
}

inline TrialKey on_device(std::uint64_t pattern, const std::string& device) {
  auto key = key_of(pattern);
  key.device = device;
  return key;
}

inline MatrixRecord matrix_record() { return {"a matrix", 10, 20, 30, 1000, {{"npr_mean", 3.0}, {"diagonals", 7.0}}}; }

/// A trial that passed.
inline TrialRecord trial_of(const std::string& format, const Params& params, double warm_seconds) {
  TrialRecord trial;
  trial.candidate = {format, params};
  trial.format_version = 1;
  trial.measurement.outcome = Outcome::passed;
  trial.measurement.warm = {warm_seconds, 0.9 * warm_seconds, 1.1 * warm_seconds, 20};
  trial.measurement.bytes = 1000;
  return trial;
}

inline void record_one(Database& database, const TrialKey& key, const TrialRecord& trial) {
  database.record(key, matrix_record(), std::vector{trial});
}

/// The only number of a query's first row.
inline std::int64_t number_from(const std::filesystem::path& file, const std::string& sql) {
  const db::Connection connection(file, db::Access::read);
  db::Statement statement(connection, sql);
  std::int64_t number = -1;
  if (statement.step()) statement.read(number);
  return number;
}

inline void change_file(const std::filesystem::path& file, const std::string& sql) {
  db::Connection connection(file, db::Access::write);
  connection.execute(sql);
}

/// A child that runs body() and ends with what it returns, without the parent's destructors. Nothing that body() opens
/// may be open in the parent.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<int()>& body) : pid_(fork()) {
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ > 0) return;
    int code = 127;
    try {
      code = body();
    } catch (...) {
    }
    _exit(code);
  }
  ~ChildProcess() {
    if (pid_ > 0) wait();
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The exit code, or -1 where a signal ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

/// Runs body(0), body(1) ... at the same time, each in a process of its own, and expects 0 of each.
inline void run_together(int processes, const std::function<int(int)>& body) {
  std::vector<std::unique_ptr<ChildProcess>> children(processes);
  for (int i = 0; i < processes; ++i) children[i] = std::make_unique<ChildProcess>([&, i] { return body(i); });
  for (auto& child : children) EXPECT_EQ(child->wait(), 0);
}

}  // namespace autospmv::test
