// Rows of a database as JSON Lines: docs/database.md describes them.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "db/database.hpp"

namespace autospmv::tools {

/// The first line, then one line a row that visit() hands out.
void write_rows(std::ostream& out, Database& database, const Selection& selection);

/// What write_rows() wrote, in memory. Throws Error "NAME:LINE: why" where it is anything else.
std::shared_ptr<Database> read_rows(std::istream& in, const std::string& name);

}  // namespace autospmv::tools
