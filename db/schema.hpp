// The text of schema.sql.
#pragma once

namespace autospmv::db {

extern const char* const schema;

}  // namespace autospmv::db
