// Rows as they travel between files: plain values under the names of columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace autospmv {

enum class ColumnType : std::uint8_t { integer, real, text };

/// In the order of ColumnType. A real is never NaN, a text may hold any bytes.
using Value = std::variant<std::int64_t, double, std::string>;

/// An empty one of a type.
inline Value value_of(ColumnType type) {
  switch (type) {
    case ColumnType::integer:
      return std::int64_t{0};
    case ColumnType::real:
      return 0.0;
    case ColumnType::text:
      return std::string();
  }
  return std::int64_t{0};
}

struct ColumnInfo {
  std::string_view name;
  ColumnType type;
};

/// What a row tells of: a table, whose rows stand for themselves: where the table has the number of an environment, the
/// row has the environment.
struct RowKind {
  std::string_view name;
  std::vector<ColumnInfo> columns;
  bool has_environment = false;  ///< right after the matrix, environment_columns() of it
};

/// All that a database keeps, what others refer to first.
std::span<const RowKind> row_kinds();

struct Row {
  const RowKind* kind = nullptr;
  std::vector<Value> values;  ///< of its columns
};

}  // namespace autospmv
