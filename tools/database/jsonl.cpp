#include "tools/database/jsonl.hpp"

#include <algorithm>
#include <cmath>
#include <istream>
#include <limits>
#include <optional>
#include <ostream>
#include <string_view>

#include "core/error.hpp"
#include "tools/output/json.hpp"

namespace autospmv::tools {

namespace {

constexpr std::string_view header_name = "autospmv_rows";
constexpr int header_version = 1;

// ---- Values. JSON has no bytes that are no UTF-8, and no infinity: both stand as what nothing else does.

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += digits[byte >> 4U];
    hex += digits[byte & 15U];
  }
  return hex;
}

std::optional<std::string> bytes_of(std::string_view hex) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    if (digit(hex[i]) < 0 || digit(hex[i + 1]) < 0) return std::nullopt;
    bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  }
  return bytes;
}

// Nothing but nlohmann's writer says what it takes for UTF-8.
bool is_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

struct ToJson {
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(double value) const {
    if (std::isinf(value)) return value > 0 ? "infinity" : "-infinity";
    return value;
  }
  Json operator()(const std::string& text) const { return is_utf8(text) ? Json(text) : Json{{"hex", hex_of(text)}}; }
};

// Nothing where it is no value of the type.
std::optional<Value> read_value(const Json& json, ColumnType type) {
  if (type == ColumnType::integer) {
    // What does not fit is read as unsigned, or as a real.
    const bool fits = json.is_number_integer() &&
                      (!json.is_number_unsigned() ||
                       json.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
    return fits ? std::optional<Value>(json.get<std::int64_t>()) : std::nullopt;
  }
  if (type == ColumnType::real) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (json == "infinity") return infinity;
    if (json == "-infinity") return -infinity;
    return json.is_number() ? std::optional<Value>(json.get<double>()) : std::nullopt;
  }
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object() || json.size() != 1 || !json.contains("hex") || !json["hex"].is_string()) return std::nullopt;
  return bytes_of(json["hex"].get<std::string>());
}

// ---- Lines

const RowKind& kind_named(const Json& json) {
  const auto kinds = row_kinds();
  const auto at = json.find("row");
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const RowKind& k) { return at != json.end() && *at == std::string(k.name); });
  if (kind == kinds.end()) throw InvalidArgument("\"row\" is no kind of row");
  return *kind;
}

autospmv::Row row_of(const Json& json) {
  const auto& kind = kind_named(json);
  autospmv::Row row{&kind, {}};
  for (const auto& column : kind.columns) {
    const std::string name(column.name);
    const auto at = json.find(name);
    if (at == json.end()) throw InvalidArgument("\"" + name + "\" is missing");
    auto value = read_value(*at, column.type);
    if (!value) throw InvalidArgument("\"" + name + "\" is of the wrong type");
    row.values.push_back(std::move(*value));
  }
  if (json.size() != kind.columns.size() + 1) throw InvalidArgument("it has members that no such row has");
  return row;
}

Json parse_line(const std::string& line) {
  auto json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) throw InvalidArgument("it is no JSON");
  if (!json.is_object()) throw InvalidArgument("it is no JSON object");
  return json;
}

void check_header(const std::string& line) {
  const auto json = parse_line(line);
  const auto at = json.find(std::string(header_name));
  if (at == json.end()) throw InvalidArgument("it does not begin with {\"" + std::string(header_name) + "\":1}");
  if (*at != header_version) throw InvalidArgument("it is of a version that this program does not know");
}

}  // namespace

void write_rows(std::ostream& out, Database& database, const Selection& selection) {
  const auto write = [&](const Json& line) { out << line.dump(-1, ' ', true) << '\n'; };
  write({{std::string(header_name), header_version}});
  database.visit(selection, [&](const autospmv::Row& row) {
    Json line{{"row", row.kind->name}};
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      line[std::string(row.kind->columns[i].name)] = std::visit(ToJson{}, row.values[i]);
    }
    write(line);
  });
}

std::shared_ptr<Database> read_rows(std::istream& in, const std::string& name) {
  std::int64_t number = 0;
  std::string line;
  const auto next_line = [&] {
    ++number;
    return static_cast<bool>(std::getline(in, line));
  };
  try {
    if (!next_line()) throw InvalidArgument("it is empty");
    check_header(line);
    return Database::of_rows([&](autospmv::Row& row) {
      if (!next_line()) {
        if (in.bad()) throw Error("it cannot be read");
        return false;
      }
      row = row_of(parse_line(line));
      return true;
    });
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw Error(name + ":" + std::to_string(number) + ": " + error.what());
  }
}

}  // namespace autospmv::tools
