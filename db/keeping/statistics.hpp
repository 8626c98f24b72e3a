// How much a database holds, and what is wrong with it.
#pragma once

#include <string>
#include <vector>

#include "db/database.hpp"
#include "db/file/sqlite.hpp"

namespace autospmv::db {

/// Do what Database::statistics and faults say.
Statistics statistics_of(const Connection& connection, const Selection& selection);
std::vector<std::string> faults_of(const Connection& connection);

}  // namespace autospmv::db
