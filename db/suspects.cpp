#include "db/suspects.hpp"

#include <map>
#include <utility>

#include "db/matrices.hpp"
#include "db/process.hpp"
#include "db/trials.hpp"

namespace autospmv::db {

namespace {

// Whether a process of another host still runs cannot be seen. No trial takes a day.
bool may_be_running(const Process& noted_by, const std::string& this_host, bool older_than_a_day) {
  return noted_by.host == this_host ? is_running(noted_by) : !older_than_a_day;
}

}  // namespace

void add_suspect(const Connection& connection, const TrialKey& key, const Candidate& candidate) {
  const auto process = this_process();
  Statement(connection,
            "INSERT OR REPLACE INTO suspect (matrix, environment, format, params, host, pid, start_ticks) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
      .bind(key.pattern.text(), add_environment(connection, key), candidate.format, candidate.params.text(),
            process.host, process.pid, process.start_ticks)
      .run();
}

void remove_suspect(const Connection& connection, const TrialKey& key, const Candidate& candidate) {
  const auto environment = find_environment(connection, key);
  if (!environment) return;
  const auto process = this_process();
  Statement(connection,
            "DELETE FROM suspect WHERE matrix = ?1 AND environment = ?2 AND format = ?3 AND params = ?4 "
            "AND host = ?5 AND pid = ?6 AND start_ticks = ?7")
      .bind(key.pattern.text(), *environment, candidate.format, candidate.params.text(), process.host, process.pid,
            process.start_ticks)
      .run();
}

void remove_all_notes(const Connection& connection, const TrialKey& key, const Candidate& candidate) {
  const auto environment = find_environment(connection, key);
  if (!environment) return;
  Statement(connection, "DELETE FROM suspect WHERE matrix = ?1 AND environment = ?2 AND format = ?3 AND params = ?4")
      .bind(key.pattern.text(), *environment, candidate.format, candidate.params.text())
      .run();
}

void remove_own_notes(Connection& connection) {
  const auto process = this_process();
  Transaction transaction(connection);
  Statement(connection, "DELETE FROM suspect WHERE host = ?1 AND pid = ?2 AND start_ticks = ?3")
      .bind(process.host, process.pid, process.start_ticks)
      .run();
  transaction.commit();
}

std::vector<Suspect> find_suspects(const Connection& connection, const std::string& fingerprint,
                                   std::int64_t environment) {
  Statement statement(connection,
                      "SELECT format, params, host, pid, start_ticks, "
                      "created_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day') "
                      "FROM suspect WHERE matrix = ?1 AND environment = ?2");
  statement.bind(fingerprint, environment);
  const auto this_host = this_process().host;
  std::map<Candidate, int> deaths;
  while (statement.step()) {
    Candidate candidate;
    std::string params_text;
    Process noted_by;
    std::int64_t old = 0;
    statement.read(candidate.format, params_text, noted_by.host, noted_by.pid, noted_by.start_ticks, old);
    const auto params = parse_params(params_text);
    if (!params || may_be_running(noted_by, this_host, old != 0)) continue;
    candidate.params = *params;
    ++deaths[std::move(candidate)];
  }
  std::vector<Suspect> suspects;
  suspects.reserve(deaths.size());
  for (const auto& [candidate, count] : deaths) suspects.push_back({candidate, count});
  return suspects;
}

}  // namespace autospmv::db
