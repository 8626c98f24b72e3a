#include "db/keeping/selection.hpp"

namespace autospmv::db {

namespace {

// ?1 fingerprint, ?2 label, ?3 device, ?4 backend, ?5 value type, ?6 format, ?7 since, ?8 before, each or ''. SQLite
// takes no values for places that a statement does not have, so all have the last.
std::string and_all_places(const std::string& condition) { return "(" + condition + ") AND ?8 = ?8"; }

std::string of_matrix(const std::string& matrix) {
  return "(?1 = '' OR " + matrix + " = ?1) AND (?2 = '' OR " + matrix +
         " IN (SELECT fingerprint FROM matrix WHERE label = ?2))";
}

// A type stands for whatever few bits its values take as well: "double in 8 bits".
constexpr const char* of_environment =
    "((?3 = '' AND ?4 = '' AND ?5 = '') OR environment IN (SELECT id FROM environment "
    "WHERE (?3 = '' OR device = ?3) AND (?4 = '' OR backend = ?4) "
    "AND (?5 = '' OR value_type = ?5 OR substr(value_type, 1, length(?5) + 1) = ?5 || ' ')))";

constexpr const char* of_trial =
    "(?6 = '' OR format = ?6) AND (?7 = '' OR created_at >= ?7) AND (?8 = '' OR created_at < ?8)";

std::string of_key(const std::string& matrix) { return of_matrix(matrix) + " AND " + of_environment; }

bool chooses_keys(const Selection& s) {
  return !s.device.empty() || !s.backend.empty() || !s.value_type.empty() || chooses_among_trials(s);
}

// Only what has a chosen trial, where trials are chosen by more than their matrix.
std::string of_tried_matrix(const std::string& matrix, const Selection& selection) {
  auto condition = of_matrix(matrix);
  if (chooses_keys(selection)) {
    condition += " AND " + matrix + " IN (SELECT matrix FROM trial WHERE " + of_environment + " AND " + of_trial + ")";
  }
  return condition;
}

}  // namespace

Statement& bind(Statement& statement, const Selection& s) {
  return statement.bind(s.pattern ? s.pattern->text() : std::string(), s.label, s.device, s.backend, s.value_type,
                        s.format, s.since, s.before);
}

bool chooses_among_trials(const Selection& selection) {
  return !selection.format.empty() || !selection.since.empty() || !selection.before.empty();
}

std::string chosen_key(const std::string& matrix) { return and_all_places(of_key(matrix)); }

std::string chosen(const RowKind& kind, const Selection& s) {
  if (kind.name == "matrix") return and_all_places(of_tried_matrix("fingerprint", s));
  if (kind.name == "feature") return and_all_places(of_tried_matrix("matrix", s));
  if (kind.name == "trial" || kind.name == "suspect") return and_all_places(of_key("matrix") + " AND " + of_trial);
  // That all was tried is not said of a part.
  if (kind.name == "tuning") return and_all_places(chooses_among_trials(s) ? "0" : of_key("matrix"));
  // What is left is true of a device, whatever the matrix.
  const bool of_matrices = s.pattern || !s.label.empty() || !s.value_type.empty() || chooses_among_trials(s);
  return and_all_places(of_matrices ? "0" : "(?3 = '' OR device = ?3) AND (?4 = '' OR backend = ?4)");
}

}  // namespace autospmv::db
