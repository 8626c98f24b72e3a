#include "db/keeping/forgetting.hpp"

#include <cstdint>
#include <string>

#include "db/keeping/selection.hpp"
#include "db/keeping/tables.hpp"

namespace autospmv::db {

namespace {

std::int64_t remove(const Connection& connection, const std::string& sql, const Selection& selection) {
  Statement statement(connection, sql);
  bind(statement, selection).run();
  return connection.changes();
}

// Where not all is left that was tried, or could be, the marks that all was tried go.
std::int64_t remove_tunings_of(const Connection& connection, const RowKind& rows, const Selection& selection) {
  return remove(connection,
                "DELETE FROM tuning WHERE (matrix, environment) IN (SELECT matrix, environment FROM " +
                    std::string(rows.name) + " WHERE " + chosen(rows, selection) + ")",
                selection);
}

}  // namespace

Forgotten forget_chosen(Connection& connection, const Selection& selection) {
  const auto& trial = kind_of("trial");
  const auto& suspect = kind_of("suspect");
  Forgotten forgotten;
  if (selection.only_suspects) forgotten.tunings = remove_tunings_of(connection, suspect, selection);
  forgotten.suspects = remove(connection, "DELETE FROM suspect WHERE " + chosen(suspect, selection), selection);
  if (selection.only_suspects) return forgotten;
  forgotten.tunings = chooses_among_trials(selection)
                          ? remove_tunings_of(connection, trial, selection)
                          : remove(connection, "DELETE FROM tuning WHERE " + chosen_key(), selection);
  forgotten.trials = remove(connection, "DELETE FROM trial WHERE " + chosen(trial, selection), selection);

  // What no trial refers to any more. Features are found by their matrix, so they go before it.
  const std::string untried =
      "(SELECT fingerprint FROM matrix WHERE (?1 = '' OR fingerprint = ?1) AND (?2 = '' OR label = ?2) AND ?8 = ?8 "
      "AND NOT EXISTS (SELECT 1 FROM trial WHERE trial.matrix = fingerprint))";
  remove(connection, "DELETE FROM feature WHERE matrix IN " + untried, selection);
  forgotten.matrices = remove(connection, "DELETE FROM matrix WHERE fingerprint IN " + untried, selection);
  connection.execute(
      "DELETE FROM environment WHERE id NOT IN "
      "(SELECT environment FROM trial UNION SELECT environment FROM tuning UNION SELECT environment FROM suspect)");
  return forgotten;
}

}  // namespace autospmv::db
