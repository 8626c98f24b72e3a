// Which rows go when something is to be forgotten.
#pragma once

#include "db/database.hpp"
#include "db/file/sqlite.hpp"

namespace autospmv::db {

/// Does what Database::forget says, on a connection whose triggers are off.
Forgotten forget_chosen(Connection& connection, const Selection& selection);

}  // namespace autospmv::db
