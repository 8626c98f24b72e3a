// The rows of trials, and what is asked of them. Those that no trial of ours can have given are passed over.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/trial.hpp"
#include "db/database.hpp"
#include "db/file/sqlite.hpp"

namespace autospmv::db {

/// Parameters whose text is their one and only spelling: candidates are told apart by it.
std::optional<Params> parse_params(const std::string& text);

/// Remembers what that gave. Of thousands of trials most have parameters that others have too.
class ParsedParams {
 public:
  /// Stays until the next is asked for.
  const std::optional<Params>& of(const std::string& text);

 private:
  std::unordered_map<std::string, std::optional<Params>> by_text_;
};

/// Whether a trial of ours can have given this.
bool is_plausible(const TrialRecord& trial);

/// All but those that were given up.
void add_trials(const Connection& connection, const std::string& fingerprint, std::int64_t environment,
                std::int64_t csr_bytes, std::span<const TrialRecord> trials);

/// Do what Database::trials, history and passed say.
std::vector<TrialRecord> find_trials(const Connection& connection, const std::string& fingerprint,
                                     std::int64_t environment, const std::string& catalogue);
std::vector<DatedTrial> find_history(const Connection& connection, const std::string& fingerprint,
                                     std::int64_t environment);
/// How many rows of trials are passed over.
std::int64_t count_implausible(const Connection& connection);
std::vector<TrialRecord> find_passed(const Connection& connection, const std::string& fingerprint,
                                     std::int64_t environment, const std::string& catalogue, ParsedParams& parsed);

}  // namespace autospmv::db
