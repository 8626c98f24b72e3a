#include "db/keeping/exchange.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "db/keeping/selection.hpp"
#include "db/keeping/tables.hpp"
#include "db/process.hpp"

namespace autospmv::db {

namespace {

using Values = std::vector<Value>;

std::int64_t count_of(const Connection& connection, std::string_view table) {
  Statement statement(connection, "SELECT count(*) FROM " + std::string(table));
  std::int64_t count = 0;
  if (statement.step()) statement.read(count);
  return count;
}

std::int64_t environment_of(const Connection& connection, const Values& values) {
  const auto columns = environment_columns();
  std::int64_t id = 0;
  {
    std::string condition;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      condition.append(i > 0 ? " AND " : "").append(columns[i].name).append(" = ?").append(std::to_string(i + 1));
    }
    Statement known(connection, "SELECT id FROM environment WHERE " + condition);
    if (known.bind_all(values).step()) {
      known.read(id);
      return id;
    }
  }
  Statement added(connection, "INSERT INTO environment (" + names_of(columns) + ") VALUES (" + places_of(columns) +
                                  ") RETURNING id");
  added.bind_all(values).step();
  added.read(id);
  added.run();
  return id;
}

// What a process that still runs has noted of what it has in hand is no knowledge yet.
bool is_of_running_process(const Row& row) {
  if (row.kind->name != "suspect") return false;
  const auto last = row.values.size();
  const Process process{std::get<std::string>(row.values[last - 4]), std::get<std::int64_t>(row.values[last - 3]),
                        std::get<std::int64_t>(row.values[last - 2])};
  return process.host == this_process().host && is_running(process);
}

// ---- How two rows of the same key become one, the same whichever comes first

std::string_view on_conflict(std::string_view kind) {
  if (kind == "matrix") {
    return " ON CONFLICT DO UPDATE SET rows = min(rows, excluded.rows), cols = min(cols, excluded.cols), "
           "nnz = min(nnz, excluded.nnz), first_seen_at = min(first_seen_at, excluded.first_seen_at), "
           "label = iif(label = '' OR excluded.label = '', max(label, excluded.label), min(label, excluded.label)), "
           "source = iif(source = '' OR excluded.source = '', max(source, excluded.source), "
           "min(source, excluded.source))";
  }
  if (kind == "feature") return " ON CONFLICT DO UPDATE SET value = min(value, excluded.value)";
  if (kind == "tuning") return " ON CONFLICT DO UPDATE SET finished_at = max(finished_at, excluded.finished_at)";
  if (kind == "suspect") return " ON CONFLICT DO UPDATE SET created_at = max(created_at, excluded.created_at)";
  if (kind == "machine") {
    return " ON CONFLICT DO UPDATE SET copy_bandwidth = excluded.copy_bandwidth, measured_at = excluded.measured_at "
           "WHERE (excluded.measured_at, excluded.copy_bandwidth) > (measured_at, copy_bandwidth)";
  }
  return "";
}

void insert(const Connection& connection, const Row& row, std::string_view conflict) {
  auto columns = own_columns(*row.kind);
  Values values = row.values;
  if (row.kind->has_environment) {
    const auto begin = values.begin() + 1;
    const auto end = begin + std::ssize(environment_columns());
    const auto environment = environment_of(connection, Values(begin, end));
    values.erase(begin, end);
    columns.push_back({"environment", ColumnType::integer});
    values.emplace_back(environment);
  }
  Statement(connection, "INSERT INTO " + std::string(row.kind->name) + " (" + names_of(columns) + ") VALUES (" +
                            places_of(columns) + ")" + std::string(conflict))
      .bind_all(values)
      .run();
}

// ---- Trials, candidate by candidate: their order says which is the last

using Trials = std::vector<Values>;

bool is_part_of(const Trials& part, const Trials& whole) {
  auto at = whole.begin();
  for (const auto& trial : part) {
    at = std::find(at, whole.end(), trial);
    if (at == whole.end()) return false;
    ++at;
  }
  return true;
}

// Each trial as often as where it is more often. In the order that is known, where one knows all; else by moment.
Trials united(Trials mine, Trials theirs) {
  if (is_part_of(theirs, mine)) return mine;
  if (is_part_of(mine, theirs)) return theirs;
  const auto earlier = [](const Values& a, const Values& b) {
    return std::tie(a.back(), a) < std::tie(b.back(), b);  // created_at is the last column
  };
  std::sort(mine.begin(), mine.end(), earlier);
  std::sort(theirs.begin(), theirs.end(), earlier);
  Trials all;
  std::set_union(mine.begin(), mine.end(), theirs.begin(), theirs.end(), std::back_inserter(all), earlier);
  return all;
}

class TrialMerge {
 public:
  TrialMerge(Connection& target, Connection& source) : target_(target), source_(source) {}

  std::int64_t merge(const Selection& selection) {
    Statement statement(source_, "SELECT environment, " + names_of(columns_) + " FROM trial WHERE " +
                                     chosen(kind_, selection) + " ORDER BY matrix, environment, format, params, id");
    bind(statement, selection);
    while (statement.step()) {
      std::int64_t environment = 0;
      statement.read(environment);
      auto trial = statement.values(columns_, 1);
      Values candidate{trial[0], environment, trial[1], trial[3]};
      if (candidate != candidate_) {
        end_candidate();
        candidate_ = std::move(candidate);
      }
      theirs_.push_back(std::move(trial));
    }
    end_candidate();
    return added_;
  }

 private:
  void end_candidate() {
    if (theirs_.empty()) return;
    // matrix, environment, format, params
    const Values key{candidate_[0], target_environment(std::get<std::int64_t>(candidate_[1])), candidate_[2],
                     candidate_[3]};
    const std::string of_candidate = " WHERE matrix = ?1 AND environment = ?2 AND format = ?3 AND params = ?4";
    Trials mine;
    {
      Statement statement(target_, "SELECT " + names_of(columns_) + " FROM trial" + of_candidate + " ORDER BY id");
      statement.bind_all(key);
      while (statement.step()) mine.push_back(statement.values(columns_));
    }
    const auto all = united(mine, std::exchange(theirs_, {}));
    added_ += std::ssize(all) - std::ssize(mine);
    auto kept = std::mismatch(mine.begin(), mine.end(), all.begin(), all.end());
    if (kept.first != mine.end()) {
      Statement(target_, "DELETE FROM trial" + of_candidate).bind_all(key).run();
      kept.second = all.begin();
    }
    for (auto at = kept.second; at != all.end(); ++at) add(*at, key[1]);
  }

  void add(const Values& trial, const Value& environment) {
    Statement statement(target_, "INSERT INTO trial (" + names_of(columns_) + ", environment) VALUES (" +
                                     places_of(columns_) + ", ?" + std::to_string(columns_.size() + 1) + ")");
    Values values = trial;
    values.push_back(environment);
    statement.bind_all(values).run();
  }

  std::int64_t target_environment(std::int64_t id) {
    const auto known = environments_.find(id);
    if (known != environments_.end()) return known->second;
    Statement statement(source_, "SELECT " + names_of(environment_columns()) + " FROM environment WHERE id = ?1");
    statement.bind(id).step();
    return environments_[id] = environment_of(target_, statement.values(environment_columns()));
  }

  Connection& target_;
  Connection& source_;
  const RowKind& kind_ = kind_of("trial");
  const std::vector<ColumnInfo> columns_ = own_columns(kind_);
  std::map<std::int64_t, std::int64_t> environments_;
  Values candidate_;
  Trials theirs_;
  std::int64_t added_ = 0;
};

// ---- Coefficients are fitted together, and stay so: the later fit of a device replaces the other whole

using Fits = std::map<Values, std::vector<Row>>;  // by backend and device

Fits fits_in(Connection& connection, const Selection& selection) {
  Fits fits;
  const auto& kind = kind_of("coefficient");
  Statement statement(connection, "SELECT " + names_of(kind.columns) + " FROM coefficient WHERE " +
                                      chosen(kind, selection) + " ORDER BY name");
  bind(statement, selection);
  while (statement.step()) {
    Row row{&kind, statement.values(kind.columns)};
    fits[{row.values[0], row.values[1]}].push_back(std::move(row));
  }
  return fits;
}

bool is_later(const std::vector<Row>& fit, const std::vector<Row>& than) {
  const auto rank = [](const std::vector<Row>& rows) {
    std::pair<Value, std::vector<Values>> moment_and_rows{std::string(), {}};
    for (const auto& row : rows) {
      moment_and_rows.first = std::max(moment_and_rows.first, row.values.back());
      moment_and_rows.second.push_back(row.values);
    }
    return moment_and_rows;
  };
  return rank(fit) > rank(than);
}

std::int64_t merge_fits(Connection& target, Connection& source, const Selection& selection) {
  std::int64_t replaced = 0;
  auto known = fits_in(target, {});
  for (const auto& [device, fit] : fits_in(source, selection)) {
    if (!is_later(fit, known[device])) continue;
    Statement(target, "DELETE FROM coefficient WHERE backend = ?1 AND device = ?2").bind_all(device).run();
    for (const auto& row : fit) insert(target, row, "");
    ++replaced;
  }
  return replaced;
}

void visit_kind(const Connection& connection, const RowKind& kind, const Selection& selection,
                const std::function<void(const Row&)>& take) {
  const std::string table(kind.name);
  // Trials of a candidate in their own order, all else by what it says.
  const bool in_order_of_id = kind.name == "trial";
  const auto by_candidate = [&] { return names_of(environment_columns()) + ", format, params, trial.id"; };
  Statement statement(
      connection, "SELECT " + names_of(kind.columns) + " FROM " + table +
                      (kind.has_environment ? " JOIN environment ON environment.id = " + table + ".environment" : "") +
                      " WHERE " + chosen(kind, selection) + " ORDER BY " +
                      (in_order_of_id ? "matrix, " + by_candidate() : names_of(kind.columns)));
  bind(statement, selection);
  while (statement.step()) {
    const Row row{&kind, statement.values(kind.columns)};
    if (!is_of_running_process(row)) take(row);
  }
}

}  // namespace

void visit_chosen(Connection& connection, const Selection& selection, const std::function<void(const Row&)>& take) {
  for (const auto& kind : row_kinds()) visit_kind(connection, kind, selection, take);
}

void add_row(Connection& connection, const Row& row) {
  if (row.kind->name == "trial" || row.kind->name == "feature") {
    Statement known(connection, "SELECT 1 FROM matrix WHERE fingerprint = ?1");
    if (!known.bind(std::get<std::string>(row.values.front())).step()) {
      throw InvalidArgument("its matrix was not among what came before it");
    }
  }
  try {
    insert(connection, row, "");
  } catch (const SqliteError& error) {
    throw InvalidArgument(error.what());
  }
}

Merged merge_chosen(Connection& target, Connection& source, const Selection& selection) {
  Merged merged;
  merged.matrices = -count_of(target, "matrix");
  merged.tunings = -count_of(target, "tuning");
  merged.suspects = -count_of(target, "suspect");
  for (const auto& kind : row_kinds()) {
    if (kind.name == "trial") {
      merged.trials = TrialMerge(target, source).merge(selection);
    } else if (kind.name == "coefficient") {
      merged.fits = merge_fits(target, source, selection);
    } else {
      visit_kind(source, kind, selection, [&](const Row& row) { insert(target, row, on_conflict(kind.name)); });
    }
  }
  merged.matrices += count_of(target, "matrix");
  merged.tunings += count_of(target, "tuning");
  merged.suspects += count_of(target, "suspect");
  return merged;
}

}  // namespace autospmv::db
