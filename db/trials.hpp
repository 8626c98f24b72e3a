// The rows of trials, and what is asked of them. Those that no trial of ours can have given are passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  /// What that gave before; nullptr where it was not asked for.
  [[nodiscard]] const std::optional<Params>* find(const std::string& text) const;

 private:
  std::unordered_map<std::string, std::optional<Params>> by_text_;
};

/// Whether a trial of ours can have given this.
bool is_plausible(const TrialRecord& trial);

/// The versions that a format_catalogue() names.
using Versions = std::map<std::string, std::int64_t, std::less<>>;
Versions versions_in(std::string_view catalogue);

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

/// What these are made of.
struct BriefTrial {
  std::string format;
  std::int64_t version = 0;
  std::string params;
  bool passed = false;
  int samples = 0;
  double seconds = 0;
  double setup_seconds = 0;
  std::int64_t bytes = 0;
};

/// Adds the trial, of these parameters, where it passed and is what one of ours can have given.
void add_if_passed(const BriefTrial& trial, const std::optional<Params>& params, std::vector<TrialRecord>& trials);

/// What find_passed() finds by whatever catalogue: of every candidate and version of its format the last trial, where
/// that passed.
std::vector<BriefTrial> last_passed(const Connection& connection, const std::string& fingerprint,
                                    std::int64_t environment);

}  // namespace autospmv::db
