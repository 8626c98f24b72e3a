// Bringing a database forward to the schema of this library.
#pragma once

#include <span>

#include "db/sqlite.hpp"

namespace autospmv::db {

/// Step i is the SQL that takes a database from version i to version i + 1; version 0 is an empty one.
std::span<const char* const> migrations();

/// Runs the steps a database lacks, all or none. Throws Error for a database of a newer version than the steps lead to
/// and for one that another program made, SqliteError where it cannot be read or written.
void migrate(Connection& connection, std::span<const char* const> steps);

}  // namespace autospmv::db
