#include "db/keeping/statistics.hpp"

#include <cstdint>
#include <string_view>

#include "db/keeping/selection.hpp"
#include "db/keeping/tables.hpp"
#include "db/matrices.hpp"
#include "db/trials.hpp"

namespace autospmv::db {

namespace {

// Calls take(statement) for every row of a query over what is selected.
template <class Take>
void for_each(const Connection& connection, const std::string& sql, const Selection& selection, const Take& take) {
  Statement statement(connection, sql);
  bind(statement, selection);
  while (statement.step()) take(statement);
}

std::int64_t count(const Connection& connection, std::string_view table, const Selection& selection) {
  std::int64_t rows = 0;
  for_each(connection, "SELECT count(*) FROM " + std::string(table) + " WHERE " + chosen(kind_of(table), selection),
           selection, [&](const Statement& row) { row.read(rows); });
  return rows;
}

void complain(std::vector<std::string>& faults, std::int64_t rows, std::string_view what) {
  if (rows > 0) faults.push_back(std::to_string(rows) + std::string(what));
}

}  // namespace

Statistics statistics_of(const Connection& connection, const Selection& selection) {
  const auto trials = chosen(kind_of("trial"), selection);
  Statistics all;
  all.matrices = count(connection, "matrix", selection);
  all.trials = count(connection, "trial", selection);
  all.tunings = count(connection, "tuning", selection);
  all.suspects = count(connection, "suspect", selection);
  for_each(connection, "SELECT ifnull(min(created_at), ''), ifnull(max(created_at), '') FROM trial WHERE " + trials,
           selection, [&](const Statement& row) { row.read(all.first, all.last); });
  for_each(connection,
           "SELECT backend, device, value_type, count(DISTINCT matrix), count(*) FROM trial JOIN environment "
           "ON environment.id = trial.environment WHERE " +
               trials + " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
           selection, [&](const Statement& row) {
             auto& place = all.places.emplace_back();
             row.read(place.backend, place.device, place.value_type, place.matrices, place.trials);
           });
  // A column beside a min() is that of the row that has it.
  for_each(connection,
           "WITH fastest AS (SELECT format, min(warm_median_s) FROM trial WHERE outcome = 'passed' AND "
           "warm_samples > 0 AND " +
               trials +
               " GROUP BY matrix, environment) SELECT format, count(*), "
               "(SELECT count(*) FROM fastest WHERE fastest.format = trial.format) FROM trial WHERE " +
               trials + " GROUP BY format ORDER BY 3 DESC, 2 DESC, 1",
           selection, [&](const Statement& row) {
             auto& format = all.formats.emplace_back();
             row.read(format.name, format.trials, format.wins);
           });
  for_each(connection, "SELECT outcome, count(*) FROM trial WHERE " + trials + " GROUP BY 1 ORDER BY 2 DESC, 1",
           selection, [&](const Statement& row) {
             auto& outcome = all.outcomes.emplace_back();
             row.read(outcome.name, outcome.trials);
           });
  return all;
}

std::vector<std::string> faults_of(const Connection& connection) {
  std::vector<std::string> faults;
  {
    Statement statement(connection, "PRAGMA integrity_check");
    while (statement.step()) {
      std::string line;
      statement.read(line);
      if (line != "ok") faults.push_back(std::move(line));
    }
  }
  // Where the file itself is damaged, its rows tell nothing.
  if (!faults.empty()) return faults;
  complain(faults, connection.number("SELECT count(*) FROM pragma_foreign_key_check"),
           " rows refer to a matrix or an environment that is not there");
  complain(faults, count_implausible(connection), " trials are passed over: they hold what no trial can give");
  Statement pairs(connection, "SELECT DISTINCT matrix, environment FROM trial");
  std::int64_t unreadable = 0;
  while (pairs.step()) {
    std::string fingerprint;
    std::int64_t environment = 0;
    pairs.read(fingerprint, environment);
    if (!read_recorded(connection, fingerprint, environment)) ++unreadable;
  }
  complain(faults, unreadable, " tunings are passed over: no matrix has such a fingerprint or such sizes");
  return faults;
}

}  // namespace autospmv::db
