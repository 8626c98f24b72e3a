#include "db/forgetting.hpp"

#include <cstdint>
#include <string>

namespace autospmv::db {

namespace {

std::int64_t remove(const Connection& connection, const std::string& sql, const Selection& selection) {
  const auto fingerprint = selection.pattern ? selection.pattern->text() : std::string();
  Statement(connection, sql).bind(fingerprint, selection.label, selection.device).run();
  return connection.changes();
}

}  // namespace

// ?1 fingerprint, ?2 label, ?3 device, each or ''
Forgotten forget_chosen(Connection& connection, const Selection& selection) {
  const std::string chosen =
      "(?1 = '' OR matrix = ?1) "
      "AND (?2 = '' OR matrix IN (SELECT fingerprint FROM matrix WHERE label = ?2)) "
      "AND (?3 = '' OR environment IN (SELECT id FROM environment WHERE device = ?3))";
  Forgotten forgotten;
  if (selection.only_suspects) {
    // Where these were left out, not everything was tried.
    forgotten.tunings =
        remove(connection,
               "DELETE FROM tuning WHERE (matrix, environment) IN (SELECT matrix, environment FROM suspect WHERE " +
                   chosen + ")",
               selection);
  }
  forgotten.suspects = remove(connection, "DELETE FROM suspect WHERE " + chosen, selection);
  if (selection.only_suspects) return forgotten;
  forgotten.tunings = remove(connection, "DELETE FROM tuning WHERE " + chosen, selection);
  forgotten.trials = remove(connection, "DELETE FROM trial WHERE " + chosen, selection);

  // What no trial refers to any more. Features are found by their matrix, so they go before it.
  const std::string untried =
      "(SELECT fingerprint FROM matrix WHERE (?1 = '' OR fingerprint = ?1) AND (?2 = '' OR label = ?2) AND ?3 = ?3 "
      "AND NOT EXISTS (SELECT 1 FROM trial WHERE trial.matrix = fingerprint))";
  remove(connection, "DELETE FROM feature WHERE matrix IN " + untried, selection);
  forgotten.matrices = remove(connection, "DELETE FROM matrix WHERE fingerprint IN " + untried, selection);
  connection.execute(
      "DELETE FROM environment WHERE id NOT IN "
      "(SELECT environment FROM trial UNION SELECT environment FROM tuning UNION SELECT environment FROM suspect)");
  return forgotten;
}

}  // namespace autospmv::db
