// Which rows a Selection means, as conditions of SQL.
#pragma once

#include <string>

#include "db/database.hpp"
#include "db/file/sqlite.hpp"

namespace autospmv::db {

/// The statement, started over with the values that the conditions below speak of: all conditions speak of all.
Statement& bind(Statement& statement, const Selection& selection);

/// Whether it chooses among the trials of a matrix in an environment.
bool chooses_among_trials(const Selection& selection);

/// A condition on the rows of the table of a row kind.
std::string chosen(const RowKind& kind, const Selection& selection);

/// The matrix and the environment of a row are chosen, whatever else it holds.
std::string chosen_key(const std::string& matrix = "matrix");

}  // namespace autospmv::db
