// The bytes choose rows of a database that anybody may have written, where SQLite takes them: what the program shows
// of it, and the plans that are made with it, must be none the worse.
#include <cstdio>
#include <string>
#include <vector>

#include "features/recorded.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/database_support.hpp"
#include "tuner/context/keys.hpp"

namespace autospmv::fuzzing {
namespace {

struct Column {
  const char* name;
  std::string usual;  // SQL
};

std::string quoted(const std::string& text) {
  std::string sql = "'";
  for (const char c : text) sql += c == '\'' ? std::string("''") : std::string(1, c);
  return sql + '\'';
}

template <class T>
void begin(Database& database, const Context& context) {
  for (const auto& problem : problems<T>()) {
    database.record(key_of(problem.matrix, context),
                    {"label", problem.arrays.rows, problem.arrays.cols, problem.arrays.nnz(), 1000,
                     record_of(extract_features(problem.arrays.view(), Place{}))},
                    {});
  }
}

// Matrices, their features, and environments as they are here; no trials.
fs::path begin_usual() {
  auto file = fresh_database("");
  const Context context(options_for(file));
  begin<double>(service_of(context).database(), context);
  begin<float>(service_of(context).database(), context);
  return file;
}

// The same, of tables that take any value in any column.
void loosen(db::Connection& connection) {
  connection.execute("PRAGMA writable_schema = ON");
  connection.execute(
      "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'NOT NULL', ''), 'STRICT, WITHOUT', 'WITHOUT'), "
      "'STRICT', '') WHERE type = 'table'");
  connection.execute("PRAGMA writable_schema = RESET");
}

struct Files {
  std::string strict;
  std::string loose;
};

const Files& usual_files() {
  static const auto files = [] {
    const auto file = begin_usual();
    {
      db::Connection connection(file, db::Access::write);
      connection.execute("PRAGMA journal_mode = DELETE");
    }
    Files both;
    both.strict = read_file(file);
    {
      db::Connection connection(file, db::Access::write);
      loosen(connection);
    }
    both.loose = read_file(file);
    return both;
  }();
  return files;
}

class Rows {
 public:
  /// Mostly about one matrix.
  Rows(Bytes& bytes, std::size_t problem) : bytes_(bytes), problem_(problem) {}

  // An INSERT of one row into some table.
  std::string next() {
    switch (bytes_.below(8)) {
      case 0:
        return row("suspect", {{"matrix", matrix()},
                               {"environment", environment()},
                               {"format", format()},
                               {"params", params()},
                               {"host", "'elsewhere'"},
                               {"pid", "1"},
                               {"start_ticks", "1"}});
      case 1:
        return row("tuning", {{"matrix", matrix()},
                              {"environment", environment()},
                              {"effort", bytes_.one_in(2) ? "'measure'" : "'exhaustive'"},
                              {"catalogue", quoted(format_catalogue())}});
      case 2:
        return row("coefficient", {{"backend", "'host'"},
                                   {"device", quoted(host_device().name)},
                                   {"name", quoted(std::string(bytes_.pick(coefficient_table()).name))},
                                   {"value", real(bytes_.real())}});
      case 3:
        return row("feature", {{"matrix", matrix()},
                               {"name", quoted(std::string(bytes_.pick(feature_table()).name))},
                               {"value", real(bytes_.real())}});
      case 4:
        return row("matrix", {{"fingerprint", matrix()},
                              {"rows", std::to_string(bytes_.integer())},
                              {"cols", std::to_string(bytes_.integer())},
                              {"nnz", std::to_string(bytes_.integer())},
                              {"label", quoted(bytes_.text())}});
      default:
        return trial();
    }
  }

 private:
  std::string trial() {
    // In this order, whichever a compiler prefers.
    const auto of_format = format();
    const auto of_params = params();
    return row("trial", {{"matrix", matrix()},
                         {"environment", environment()},
                         {"format", of_format},
                         {"format_version", std::to_string(version_)},
                         {"params", of_params},
                         {"deterministic", "1"},
                         {"outcome", "'passed'"},
                         {"detail", "''"},
                         {"warm_median_s", "1e-6"},
                         {"warm_low_quartile_s", "1e-6"},
                         {"warm_high_quartile_s", "1e-6"},
                         {"warm_samples", "5"},
                         {"cold_median_s", "0"},
                         {"cold_low_quartile_s", "0"},
                         {"cold_high_quartile_s", "0"},
                         {"cold_samples", "0"},
                         {"loop_median_s", "0"},
                         {"loop_low_quartile_s", "0"},
                         {"loop_high_quartile_s", "0"},
                         {"loop_samples", "0"},
                         {"setup_s", "0"},
                         {"bytes", "0"},
                         {"csr_bytes", "1000"},
                         {"worst_error", "0"},
                         {"capturable", "1"}});
  }

  // Any of the columns may hold anything instead of what is usual there.
  std::string row(const std::string& table, const std::vector<Column>& columns) {
    std::string names;
    std::string values;
    const auto odd = bytes_.below(2 * columns.size());
    const bool many_odd = bytes_.one_in(16);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool is_odd = i == odd || (many_odd && bytes_.one_in(4));
      names += (i == 0 ? "" : ", ") + std::string(columns[i].name);
      values += (i == 0 ? "" : ", ") + (is_odd ? any_value() : columns[i].usual);
    }
    return "INSERT OR REPLACE INTO " + table + " (" + names + ") VALUES (" + values + ")";
  }

  std::string any_value() {
    switch (bytes_.below(6)) {
      case 0:
        return "NULL";
      case 1:
        return std::to_string(bytes_.integer());
      case 2:
        return quoted(bytes_.text());
      case 3:
        return "CAST(" + quoted(bytes_.text()) + " AS BLOB)";
      case 4:
        return "CAST(zeroblob(" + std::to_string(bytes_.below(1 << 12)) + ") AS TEXT)";
      default:
        return real(bytes_.real());
    }
  }

  static std::string real(double value) {
    if (std::isnan(value)) return "NULL";
    if (std::isinf(value)) return value > 0 ? "9e999" : "-9e999";
    char text[40];
    std::snprintf(text, sizeof text, "%.17e", value);
    return text;
  }

  std::string matrix() {
    const auto& all = problems<double>();
    const auto choice = bytes_.below(16);
    if (choice == 15) return quoted(Fingerprint{bytes_.bits(1), bytes_.bits(1)}.text());
    return quoted(data_of(all[choice < all.size() ? choice : problem_].matrix).fingerprint().text());
  }

  // Few of them are there.
  std::string environment() { return std::to_string(1 + bytes_.below(8)); }

  std::string format() {
    if (bytes_.one_in(16)) return quoted(bytes_.text());
    format_ = bytes_.pick(all_formats<double>());
    version_ = format_->info().version;
    return quoted(format_->info().name);
  }

  // Those of the last format, or nearly so.
  std::string params() {
    if (bytes_.one_in(16)) return quoted(bytes_.text());
    if (format_ == nullptr) return "''";
    const auto features = extract_features(problems<double>()[problem_].arrays.view(), Place{});
    const auto combinations = format_->params(features, host_device()).combinations();
    if (combinations.empty()) return "''";
    auto params = combinations[bytes_.below(std::min<std::size_t>(combinations.size(), 256))];
    if (!params.values().empty() && bytes_.one_in(4)) params.set(bytes_.pick(params.values()).name, bytes_.integer());
    return quoted(params.text());
  }

  Bytes& bytes_;
  std::size_t problem_;
  const Format<double>* format_ = nullptr;
  int version_ = 1;
};

void fill(const fs::path& file, Bytes& bytes, std::size_t problem) {
  db::Connection connection(file, db::Access::write);
  connection.execute("PRAGMA synchronous = OFF");
  connection.execute("PRAGMA foreign_keys = OFF");
  db::Transaction transaction(connection);
  constexpr int most_rows = 64;
  Rows rows(bytes, problem);
  for (int i = 0; i < most_rows && !bytes.empty(); ++i) {
    try {
      connection.execute(rows.next());
    } catch (const db::SqliteError&) {
      // A type that the table does not take, or text that is no SQL.
    }
  }
  transaction.commit();
}

PlanOptions plan_options(Bytes& bytes) {
  static constexpr std::array<double, 4> factors = {std::numeric_limits<double>::infinity(), 1, 0.25, 0};
  static constexpr std::array<std::int64_t, 4> calls = {1000, 1, 0, std::int64_t{1} << 60};
  PlanOptions options;
  options.effort = bytes.one_in(2) ? Effort::estimate : Effort::cached;
  options.limits = Limits{
      .expected_calls = bytes.pick(calls), .memory_factor = bytes.pick(factors), .deterministic = bytes.one_in(2)};
  return options;
}

template <class T>
void plan(const fs::path& file, std::size_t problem, const PlanOptions& options) {
  const Context context(options_for(file));
  require_plan(problems<T>()[problem], context, options);
}

void check(Bytes bytes) {
  const auto& files = usual_files();
  const auto problem = bytes.below(problems<double>().size());
  const auto how = bytes.byte();
  const auto asks = [&](int bit) { return (how >> bit & 1) != 0; };
  const auto options = plan_options(bytes);
  const auto file = fresh_database(asks(0) ? files.loose : files.strict);
  fill(file, bytes, problem);
  if (asks(1)) {
    plan<float>(file, problem, options);
  } else {
    plan<double>(file, problem, options);
  }
  if (asks(2)) run_db(file, {"list"}, asks(3));
  if (asks(4)) run_db(file, {"show", data_of(problems<double>()[problem].matrix).fingerprint().text()}, asks(3));
  if (asks(5) && asks(6) && asks(7)) run_db(file, {"fit"}, asks(3));
}

}  // namespace
}  // namespace autospmv::fuzzing

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  autospmv::fuzzing::warm_up();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  autospmv::fuzzing::check({data, size});
  return 0;
}
