// The tables as lists of columns, for whatever treats them alike: export, import and merge.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "db/file/sqlite.hpp"
#include "db/rows.hpp"

namespace autospmv::db {

/// Of table environment, beside its id: what tells two apart.
std::span<const ColumnInfo> environment_columns();

/// The row kind of this name, which must be one of row_kinds().
const RowKind& kind_of(std::string_view name);

/// The columns of its table that hold the row's own values: without those of the environment.
std::vector<ColumnInfo> own_columns(const RowKind& kind);

/// "a, b, c", each after the prefix.
std::string names_of(std::span<const ColumnInfo> columns, std::string_view prefix = {});

/// "?3, ?4, ?5": as many as there are columns, from the first on.
std::string places_of(std::span<const ColumnInfo> columns, int first = 1);

}  // namespace autospmv::db
