// Rows that leave a file, and rows that come into one: export, import, merge.
#pragma once

#include <functional>

#include "db/database.hpp"
#include "db/file/sqlite.hpp"

namespace autospmv::db {

/// Do what the members of Database say. The target's triggers are off, and a transaction is open.
void visit_chosen(Connection& connection, const Selection& selection, const std::function<void(const Row&)>& take);
void add_row(Connection& connection, const Row& row);
Merged merge_chosen(Connection& target, Connection& source, const Selection& selection);

}  // namespace autospmv::db
