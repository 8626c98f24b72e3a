// autospmv db list and show: what is known of matrices.

#include <algorithm>
#include <iostream>
#include <map>

#include "core/error.hpp"
#include "core/printable.hpp"
#include "tools/database/actions.hpp"
#include "tools/input.hpp"
#include "tools/output/json.hpp"
#include "tools/output/table.hpp"
#include "tuner/objective.hpp"

namespace autospmv::tools {

namespace {

using Winner = std::optional<TrialRecord>;

Winner winner_in(Database& database, const TunedMatrix& entry, const Options& options) {
  auto trials = database.trials(entry.key);
  keep_selected(trials, options);
  return winner_of(trials, options.limits, entry.matrix.csr_bytes);
}

Json entry_json(const TunedMatrix& entry, const Winner& winner) {
  return {{"matrix", entry.matrix.label},
          {"source", entry.matrix.source},
          {"fingerprint", entry.key.pattern.text()},
          {"rows", entry.matrix.rows},
          {"columns", entry.matrix.cols},
          {"nonzeros", entry.matrix.nnz},
          {"value_type", entry.key.value_type},
          {"operation", entry.key.operation},
          {"backend", entry.key.backend},
          {"device", entry.key.device},
          {"toolkit", entry.key.toolkit},
          {"driver", entry.key.driver},
          {"library", entry.key.library},
          {"trials", entry.trials},
          {"winner", winner ? to_json(*winner) : Json(nullptr)}};
}

void print_list(Database& database, const std::vector<TunedMatrix>& entries, const Options& options) {
  std::vector<Row> rows;
  rows.reserve(entries.size());
  for (const auto& entry : entries) {
    const auto winner = winner_in(database, entry, options);
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

/// All that is known of one matrix in one environment.
struct Known {
  TunedMatrix entry;
  std::vector<TrialRecord> trials;           ///< the last of each candidate, best first
  std::vector<DatedTrial> earlier;           ///< those before them, oldest first
  std::map<Candidate, std::string> moments;  ///< of the last
  std::vector<FinishedTuning> tunings;
  std::vector<Suspect> suspects;
  std::vector<std::pair<std::string, double>> coefficients;  ///< of the device
  std::optional<double> copy_bandwidth;                      ///< likewise
};

Known known_of(Database& database, const TunedMatrix& entry, const Options& options) {
  const auto& key = entry.key;
  Known known{.entry = entry,
              .trials = database.trials(key),
              .earlier = database.history(key),
              .moments = {},
              .tunings = database.tunings(key),
              .suspects = database.suspects(key),
              .coefficients = database.coefficients(key.backend, key.device),
              .copy_bandwidth = database.copy_bandwidth(key.backend, key.device)};
  keep_selected(known.trials, options);
  sort_by_total(known.trials, options.limits);
  // The last of a candidate is in the table of trials.
  std::map<Candidate, std::size_t> last;
  for (std::size_t i = 0; i < known.earlier.size(); ++i) last[known.earlier[i].trial.candidate] = i;
  for (const auto& [candidate, i] : last) known.moments[candidate] = known.earlier[i].moment;
  std::vector<DatedTrial> earlier;
  for (std::size_t i = 0; i < known.earlier.size(); ++i) {
    auto& dated = known.earlier[i];
    const auto& format = options.selection.format;
    const bool selected = format.empty() || dated.trial.candidate.format == format;
    if (selected && last[dated.trial.candidate] != i) earlier.push_back(std::move(dated));
  }
  known.earlier = std::move(earlier);
  return known;
}

Json known_json(const Known& known, const Limits& limits) {
  Json json = entry_json(known.entry, winner_of(known.trials, limits, known.entry.matrix.csr_bytes));
  json["features"] = Json::object();
  for (const auto& [name, value] : known.entry.matrix.features) json["features"][name] = value;
  json["candidates"] = Json::array();
  for (const auto& trial : known.trials) {
    json["candidates"].push_back(to_json(trial));
    json["candidates"].back()["moment"] = known.moments.at(trial.candidate);
  }
  json["earlier"] = Json::array();
  for (const auto& dated : known.earlier) {
    json["earlier"].push_back(to_json(dated.trial));
    json["earlier"].back()["moment"] = dated.moment;
  }
  json["efforts"] = Json::array();
  for (const auto& tuning : known.tunings) {
    json["efforts"].push_back({{"effort", tuning.effort}, {"catalogue", tuning.catalogue}, {"moment", tuning.moment}});
  }
  json["suspects"] = Json::array();
  for (const auto& suspect : known.suspects) {
    json["suspects"].push_back(to_json(suspect.candidate));
    json["suspects"].back()["deaths"] = suspect.deaths;
  }
  json["coefficients"] = Json::object();
  for (const auto& [name, value] : known.coefficients) json["coefficients"][name] = value;
  json["copy_bandwidth_gbs"] = known.copy_bandwidth ? Json(*known.copy_bandwidth * 1e-9) : Json(nullptr);
  return json;
}

Row trial_row(const TrialRecord& trial, const std::string& moment) {
  const auto& m = trial.measurement;
  return {trial.candidate.text(),
          std::to_string(trial.format_version),
          std::string(name_of(m.outcome)),
          fixed(median_of(m.warm) * 1e6, 2),
          m.warm.samples > 0 ? fixed(m.warm.low_quartile * 1e6, 2) + " - " + fixed(m.warm.high_quartile * 1e6, 2) : "-",
          fixed(median_of(m.loop) * 1e6, 2),
          fixed(median_of(m.cold) * 1e6, 2),
          fixed(m.setup_seconds * 1e6, 0),
          std::to_string(m.bytes),
          moment,
          m.detail};
}

void print_trials(const std::vector<Row>& rows) {
  print_table(std::cout,
              {{.title = "candidate", .left = true},
               {.title = "version"},
               {.title = "outcome", .left = true},
               {.title = "warm us"},
               {.title = "quartiles"},
               {.title = "loop us"},
               {.title = "cold us"},
               {.title = "setup us"},
               {.title = "bytes"},
               {.title = "when", .left = true},
               {.title = "detail", .left = true}},
              rows);
}

// "name value, name value", in lines of some width.
void print_values(const std::string& title, const std::vector<std::pair<std::string, double>>& values) {
  constexpr std::size_t width = 110;
  if (values.empty()) return;
  std::string line = title + ":";
  for (const auto& [name, value] : values) {
    const auto word = " " + printable(name) + " " + brief(value) + (name == values.back().first ? "" : ",");
    if (line.size() + word.size() > width) {
      std::cout << line << '\n';
      line = " ";
    }
    line += word;
  }
  std::cout << line << '\n';
}

void print_known(const Known& known) {
  const auto& [label, rows, cols, nnz, csr_bytes, features, source] = known.entry.matrix;
  const auto& key = known.entry.key;
  std::cout << printable(label) << ' ' << key.pattern.text() << ": " << rows << " x " << cols << ", " << nnz
            << " nonzeros, " << printable(key.value_type) << '\n';
  if (!source.empty() && source != label) std::cout << "from " << printable(source) << '\n';
  std::cout << printable(key.backend + ", " + key.device + ", " + key.toolkit +
                         (key.driver.empty() ? "" : ", driver " + key.driver) + ", autospmv " + key.library)
            << '\n';
  print_values("features", features);
  print_values("coefficients of the device", known.coefficients);
  if (known.copy_bandwidth) std::cout << "copy bandwidth: " << fixed(*known.copy_bandwidth * 1e-9, 1) << " GB/s\n";
  for (const auto& tuning : known.tunings) {
    std::cout << "complete: " << printable(tuning.effort) << ", " << printable(tuning.moment) << '\n';
  }
  for (const auto& suspect : known.suspects) {
    std::cout << "suspect: " << printable(suspect.candidate.text()) << ", processes that died of it: " << suspect.deaths
              << '\n';
  }
  std::vector<Row> rows_of_trials;
  for (const auto& trial : known.trials) {
    rows_of_trials.push_back(trial_row(trial, known.moments.at(trial.candidate)));
  }
  print_trials(rows_of_trials);
  if (!known.earlier.empty()) {
    std::cout << "earlier trials:\n";
    std::vector<Row> earlier;
    for (const auto& dated : known.earlier) earlier.push_back(trial_row(dated.trial, dated.moment));
    print_trials(earlier);
  }
  std::cout << '\n';
}

Fingerprint fingerprint_of_argument(const std::string& argument) {
  if (const auto fingerprint = Fingerprint::parse(argument)) return *fingerprint;
  // The pattern alone counts, so any type of value does.
  const LoadedMatrix<double> loaded(argument, {});
  return data_of(loaded.matrix).fingerprint();
}

}  // namespace

int list_matrices(const Options& options) {
  const auto database = look_at_place(options);
  const auto entries = entries_of(*database, options);
  if (!options.json) {
    print_list(*database, entries, options);
    return 0;
  }
  Json json = Json::array();
  for (const auto& entry : entries) json.push_back(entry_json(entry, winner_in(*database, entry, options)));
  print_json(json);
  return 0;
}

int show_matrix(const Options& options) {
  const auto database = look_at_place(options);
  const auto& argument = options.arguments.at(1);
  const auto selections = selections_of(options);
  if (selections.size() > 1 || selections[0].pattern || !selections[0].label.empty()) {
    throw InvalidArgument("db show takes one matrix, and no --matrix");
  }
  auto selection = selections[0];
  // A label, where there is a matrix of it; else what a matrix is read from.
  selection.label = argument;
  auto entries = database->list(selection);
  if (entries.empty()) {
    selection.label.clear();
    selection.pattern = fingerprint_of_argument(argument);
    entries = database->list(selection);
  }
  if (entries.empty()) throw Error(argument + ": no trials of this matrix in the database");
  Json json = Json::array();
  for (const auto& entry : entries) {
    const auto known = known_of(*database, entry, options);
    if (options.json) {
      json.push_back(known_json(known, options.limits));
    } else {
      print_known(known);
    }
  }
  if (options.json) print_json(json);
  return 0;
}

}  // namespace autospmv::tools
