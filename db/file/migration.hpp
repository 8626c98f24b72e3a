// Bringing a database forward to the schema of this library.
#pragma once

#include <cstdint>
#include <span>

#include "db/file/sqlite.hpp"

namespace autospmv::db {

/// The text of schema.sql.
extern const char* const schema;

/// Step i is the SQL that takes a database from version i to version i + 1; version 0 is an empty one.
std::span<const char* const> migrations();

/// "aspm", in the header of every file of ours: nothing of anybody else's is ever migrated.
inline constexpr std::int64_t application_id = 0x6173706d;

/// Whether it is ours, and of the newest version.
bool is_up_to_date(const Connection& connection);

/// Runs the steps a database lacks, all or none. Throws Error for a database of a newer version than the steps lead to,
/// InvalidArgument for one that another program made, SqliteError where it cannot be read or written.
void migrate(Connection& connection, std::span<const char* const> steps);

}  // namespace autospmv::db
