// autospmv db: a look into the database of trials, and a way to remove from it.

#include <filesystem>
#include <iostream>

#include "core/error.hpp"
#include "core/printable.hpp"
#include "db/database.hpp"
#include "tools/command.hpp"
#include "tools/commands/fit.hpp"
#include "tools/input.hpp"
#include "tools/output/json.hpp"
#include "tools/output/table.hpp"
#include "tuner/objective.hpp"

namespace autospmv::tools {

namespace {

std::filesystem::path place_of(const Options& options) { return options.database.value_or(Database::default_path()); }

using Winner = std::optional<TrialRecord>;

Winner winner_in(Database& database, const TunedMatrix& entry, const Limits& limits) {
  return winner_of(database.trials(entry.key), limits, entry.matrix.csr_bytes);
}

Json entry_json(const TunedMatrix& entry, const Winner& winner) {
  return {{"matrix", entry.matrix.label},     {"fingerprint", entry.key.pattern.text()},
          {"rows", entry.matrix.rows},        {"columns", entry.matrix.cols},
          {"nonzeros", entry.matrix.nnz},     {"value_type", entry.key.value_type},
          {"operation", entry.key.operation}, {"backend", entry.key.backend},
          {"device", entry.key.device},       {"toolkit", entry.key.toolkit},
          {"driver", entry.key.driver},       {"library", entry.key.library},
          {"trials", entry.trials},           {"winner", winner ? to_json(*winner) : Json(nullptr)}};
}

void print_list(Database& database, const std::vector<TunedMatrix>& entries, const Limits& limits) {
  std::vector<Row> rows;
  rows.reserve(entries.size());
  for (const auto& entry : entries) {
    const auto winner = winner_in(database, entry, limits);
    rows.push_back({entry.matrix.label, entry.key.pattern.text(), std::to_string(entry.matrix.rows),
                    std::to_string(entry.matrix.nnz), entry.key.value_type, entry.key.device,
                    std::to_string(entry.trials),
                    fixed(median_of(winner ? winner->measurement.warm : Timing{}) * 1e6, 2),
                    winner ? winner->candidate.text() : "-"});
  }
  print_table(std::cout,
              {{.title = "matrix", .left = true},
               {.title = "fingerprint", .left = true},
               {.title = "rows"},
               {.title = "nonzeros"},
               {.title = "type", .left = true},
               {.title = "device", .left = true},
               {.title = "trials"},
               {.title = "us"},
               {.title = "winner", .left = true}},
              rows);
}

int list(Database& database, const Options& options) {
  const auto entries = database.list();
  if (!options.json) {
    print_list(database, entries, options.limits);
    return 0;
  }
  Json json = Json::array();
  for (const auto& entry : entries) json.push_back(entry_json(entry, winner_in(database, entry, options.limits)));
  print_json(json);
  return 0;
}

Fingerprint fingerprint_of_argument(const std::string& argument) {
  if (const auto fingerprint = Fingerprint::parse(argument)) return *fingerprint;
  // The pattern alone counts, so any type of value does.
  const LoadedMatrix<double> loaded(argument, {});
  return data_of(loaded.matrix).fingerprint();
}

void print_trials(const TunedMatrix& entry, const std::vector<TrialRecord>& trials) {
  const auto& key = entry.key;
  std::cout << printable(entry.matrix.label) << ' ' << key.pattern.text() << ": " << entry.matrix.rows << " x "
            << entry.matrix.cols << ", " << entry.matrix.nnz << " nonzeros, " << printable(key.value_type) << '\n'
            << printable(key.backend + ", " + key.device + ", " + key.toolkit +
                         (key.driver.empty() ? "" : ", driver " + key.driver) + ", autospmv " + key.library)
            << '\n';
  std::vector<Row> rows;
  rows.reserve(trials.size());
  for (const auto& trial : trials) {
    const auto& m = trial.measurement;
    rows.push_back({trial.candidate.text(), std::to_string(trial.format_version), std::string(name_of(m.outcome)),
                    fixed(median_of(m.warm) * 1e6, 2), fixed(median_of(m.loop) * 1e6, 2),
                    fixed(median_of(m.cold) * 1e6, 2), fixed(m.setup_seconds * 1e6, 0), std::to_string(m.bytes),
                    m.detail});
  }
  print_table(std::cout,
              {{.title = "candidate", .left = true},
               {.title = "version"},
               {.title = "outcome", .left = true},
               {.title = "warm us"},
               {.title = "loop us"},
               {.title = "cold us"},
               {.title = "setup us"},
               {.title = "bytes"},
               {.title = "detail", .left = true}},
              rows);
  std::cout << '\n';
}

int show(Database& database, const Options& options) {
  const auto& argument = options.arguments.at(1);
  const auto fingerprint = fingerprint_of_argument(argument);
  Json json = Json::array();
  int found = 0;
  for (const auto& entry : database.list()) {
    if (entry.key.pattern != fingerprint) continue;
    ++found;
    auto trials = database.trials(entry.key);
    sort_by_total(trials, options.limits);
    if (options.json) {
      json.push_back(entry_json(entry, winner_of(trials, options.limits, entry.matrix.csr_bytes)));
      json.back()["candidates"] = Json::array();
      for (const auto& trial : trials) json.back()["candidates"].push_back(to_json(trial));
    } else {
      print_trials(entry, trials);
    }
  }
  if (found == 0) throw Error(argument + ": no trials of this matrix in the database");
  if (options.json) print_json(json);
  return 0;
}

// What "db forget" was told to remove: one choice a matrix that is named, or one for all of them.
std::vector<Selection> selections_of(const ForgetOptions& forget) {
  const Selection any{.device = forget.device, .only_suspects = forget.suspects};
  if (forget.matrices.empty()) return {any};
  std::vector<Selection> selections;
  for (const auto& matrix : forget.matrices) {
    auto& selection = selections.emplace_back(any);
    selection.pattern = Fingerprint::parse(matrix);
    if (!selection.pattern) selection.label = matrix;
  }
  return selections;
}

void check(const ForgetOptions& forget) {
  const bool some = !forget.matrices.empty() || !forget.device.empty() || forget.suspects;
  if (forget.all && some) throw InvalidArgument("--all goes with no other choice of what to forget");
  if (forget.all != forget.yes) throw InvalidArgument("to forget everything takes both --all and --yes");
  for (const auto& matrix : forget.matrices) {
    if (matrix.empty()) throw InvalidArgument("--matrix takes a fingerprint or a label");
  }
  if (!forget.all && !some) throw InvalidArgument("forget what? --matrix, --device, --suspects, or --all");
}

std::string name_of(const Selection& selection) {
  const auto matrix = selection.pattern ? selection.pattern->text() : selection.label;
  if (matrix.empty() || selection.device.empty()) return matrix + selection.device;
  return matrix + " on " + selection.device;
}

void print_forgotten(const Forgotten& forgotten, bool json) {
  if (json) {
    print_json({{"matrices", forgotten.matrices},
                {"trials", forgotten.trials},
                {"tunings", forgotten.tunings},
                {"suspects", forgotten.suspects}});
    return;
  }
  std::cout << "forgotten: matrices: " << forgotten.matrices << ", trials: " << forgotten.trials
            << ", finished tunings: " << forgotten.tunings << ", suspects: " << forgotten.suspects << '\n';
}

int forget(const Options& options) {
  const auto file = place_of(options);
  if (!std::filesystem::exists(file)) throw Error("nothing is forgotten: there is no database " + file.string());
  const auto warn = [log = make_logger(options.quiet)](const std::string& text) { log(LogLevel::warning, text); };
  const auto opened = Database::open(file, warn);
  auto& database = *opened;
  if (database.file().empty()) throw Error("nothing is forgotten: the database cannot be written");
  Forgotten sum;
  int unknown = 0;
  for (const auto& selection : selections_of(options.forget)) {
    const auto forgotten = database.forget(selection);
    const auto name = name_of(selection);
    if (forgotten == Forgotten{} && !name.empty() && !selection.only_suspects) {
      complain(name + ": nothing of it in the database");
      ++unknown;
    }
    sum.matrices += forgotten.matrices;
    sum.trials += forgotten.trials;
    sum.tunings += forgotten.tunings;
    sum.suspects += forgotten.suspects;
  }
  print_forgotten(sum, options.json);
  return unknown > 0 ? 1 : 0;
}

}  // namespace

int run_db(const Options& options) {
  const auto& action = options.arguments.front();
  const auto count = options.arguments.size();
  const bool forgets = action == "forget" && count == 1;
  if (forgets) check(options.forget);
  if (!forgets && options.forget != ForgetOptions{}) {
    throw InvalidArgument("--matrix, --device, --suspects, --all and --yes are for db forget");
  }
  if (action == "fit" && count == 1) return fit(options);
  if (action == "list" && count == 1) return list(*Database::look(place_of(options)), options);
  if (action == "show" && count == 2) return show(*Database::look(place_of(options)), options);
  if (forgets) return forget(options);
  throw InvalidArgument(
      "usage: autospmv db list, autospmv db show MATRIX-OR-FINGERPRINT, autospmv db fit, or autospmv db forget");
}

}  // namespace autospmv::tools
