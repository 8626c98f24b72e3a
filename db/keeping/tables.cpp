#include "db/keeping/tables.hpp"

#include <algorithm>
#include <array>

namespace autospmv {

namespace {

using enum ColumnType;

constexpr std::array environment = {ColumnInfo{"value_type", text}, ColumnInfo{"operation", text},
                                    ColumnInfo{"backend", text},    ColumnInfo{"device", text},
                                    ColumnInfo{"toolkit", text},    ColumnInfo{"driver", text},
                                    ColumnInfo{"library", text}};

// "matrix", the environment, and what a table has beside them.
RowKind in_environment(std::string_view name, std::vector<ColumnInfo> others) {
  RowKind kind{.name = name, .columns = {{"matrix", text}}, .has_environment = true};
  kind.columns.insert(kind.columns.end(), environment.begin(), environment.end());
  kind.columns.insert(kind.columns.end(), others.begin(), others.end());
  return kind;
}

}  // namespace

std::span<const RowKind> row_kinds() {
  static const std::vector<RowKind> kinds = {
      {.name = "matrix",
       .columns = {{"fingerprint", text},
                   {"rows", integer},
                   {"cols", integer},
                   {"nnz", integer},
                   {"label", text},
                   {"source", text},
                   {"first_seen_at", text}}},
      {.name = "feature", .columns = {{"matrix", text}, {"name", text}, {"value", real}}},
      in_environment("trial", {{"format", text},
                               {"format_version", integer},
                               {"params", text},
                               {"deterministic", integer},
                               {"outcome", text},
                               {"detail", text},
                               {"warm_median_s", real},
                               {"warm_low_quartile_s", real},
                               {"warm_high_quartile_s", real},
                               {"warm_samples", integer},
                               {"cold_median_s", real},
                               {"cold_low_quartile_s", real},
                               {"cold_high_quartile_s", real},
                               {"cold_samples", integer},
                               {"loop_median_s", real},
                               {"loop_low_quartile_s", real},
                               {"loop_high_quartile_s", real},
                               {"loop_samples", integer},
                               {"setup_s", real},
                               {"bytes", integer},
                               {"csr_bytes", integer},
                               {"worst_error", real},
                               {"capturable", integer},
                               {"created_at", text}}),
      in_environment("tuning", {{"effort", text}, {"catalogue", text}, {"finished_at", text}}),
      in_environment("suspect", {{"format", text},
                                 {"params", text},
                                 {"host", text},
                                 {"pid", integer},
                                 {"start_ticks", integer},
                                 {"created_at", text}}),
      {.name = "coefficient",
       .columns = {{"backend", text}, {"device", text}, {"name", text}, {"value", real}, {"fitted_at", text}}},
      {.name = "machine",
       .columns = {
           {"host", text}, {"backend", text}, {"device", text}, {"copy_bandwidth", real}, {"measured_at", text}}}};
  return kinds;
}

namespace db {

std::span<const ColumnInfo> environment_columns() { return environment; }

const RowKind& kind_of(std::string_view name) {
  const auto kinds = row_kinds();
  return *std::find_if(kinds.begin(), kinds.end(), [&](const RowKind& kind) { return kind.name == name; });
}

std::vector<ColumnInfo> own_columns(const RowKind& kind) {
  auto columns = kind.columns;
  if (kind.has_environment) columns.erase(columns.begin() + 1, columns.begin() + 1 + std::ssize(environment));
  return columns;
}

std::string names_of(std::span<const ColumnInfo> columns, std::string_view prefix) {
  std::string names;
  for (const auto& column : columns) {
    if (!names.empty()) names += ", ";
    names.append(prefix).append(column.name);
  }
  return names;
}

std::string places_of(std::span<const ColumnInfo> columns, int first) {
  std::string places;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!places.empty()) places += ", ";
    places.append("?").append(std::to_string(first + static_cast<int>(i)));
  }
  return places;
}

}  // namespace db

}  // namespace autospmv
