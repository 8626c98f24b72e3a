// What tests of what lies under a path share.
#pragma once

#include <cstdlib>
#include <optional>

#include "tests/db/support.hpp"

namespace autospmv::test {

using Names = std::set<std::string>;

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Takes what it is given and gives it back, wherever it keeps it.
inline void expect_works(Database& database) {
  record_one(database, key_of(77), trial_of("csr", {}, 1e-3));
  EXPECT_FALSE(database.trials(key_of(77)).empty());
  database.note_suspect(key_of(77), {"csr", {}});
  EXPECT_TRUE(database.suspects(key_of(77)).empty());
  database.clear_suspect(key_of(77), {"csr", {}});
  database.mark_tuned(key_of(77), "measure", "csr:1");
  EXPECT_EQ(database.tunings(key_of(77), "csr:1"), std::vector<std::string>{"measure"});
  EXPECT_FALSE(database.list().empty());
}

/// Permissions do not bind root: a process that may become somebody else does.
inline void give_up_root() {
  constexpr uid_t nobody = 65534;
  if (geteuid() != 0) return;
  if (setgid(nobody) != 0 || setuid(nobody) != 0) throw std::runtime_error("cannot become nobody");
}

/// A database of ours, of which nothing but the header is left.
inline std::string damaged_database(const std::string& rest = "rubbish") {
  const TemporaryDirectory directory;
  Database::open(directory / "trials.db", no_warnings());
  constexpr std::size_t header = 100;
  return test::read_file(directory / "trials.db").substr(0, header) + std::string(4096 - header, '\xff') + rest;
}

/// An environment variable, set or with nullptr unset for a while.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~ScopedVariable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace autospmv::test
