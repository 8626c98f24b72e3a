// autospmv db stats, check, forget and vacuum: how much there is, whether it is sound, and making it less.

#include <iostream>
#include <system_error>

#include "core/error.hpp"
#include "core/printable.hpp"
#include "tools/database/actions.hpp"
#include "tools/output/json.hpp"
#include "tools/output/report.hpp"
#include "tools/output/table.hpp"

namespace autospmv::tools {

namespace {

// With the log beside it, where that is where the newest rows are.
std::int64_t size_of(const std::filesystem::path& file) {
  std::int64_t bytes = 0;
  for (const auto* const suffix : {"", "-wal"}) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(std::filesystem::path(file) += suffix, missing);
    if (!missing) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

void require_file(const Options& options, const std::string& what) {
  const auto file = place_of(options);
  if (!std::filesystem::exists(file)) throw Error(what + ": there is no database " + file.string());
}

Json statistics_json(const Statistics& all, std::int64_t bytes) {
  Json json{{"bytes", bytes},           {"matrices", all.matrices}, {"trials", all.trials}, {"efforts", all.tunings},
            {"suspects", all.suspects}, {"first", all.first},       {"last", all.last}};
  json["places"] = Json::array();
  for (const auto& place : all.places) {
    json["places"].push_back({{"backend", place.backend},
                              {"device", place.device},
                              {"value_type", place.value_type},
                              {"matrices", place.matrices},
                              {"trials", place.trials}});
  }
  json["formats"] = Json::array();
  for (const auto& of : all.formats) {
    json["formats"].push_back({{"format", of.name}, {"trials", of.trials}, {"wins", of.wins}});
  }
  json["outcomes"] = Json::object();
  for (const auto& of : all.outcomes) json["outcomes"][of.name] = of.trials;
  return json;
}

void print_statistics_of(const Statistics& all, std::int64_t bytes) {
  std::cout << "matrices: " << all.matrices << ", trials: " << all.trials << ", finished tunings: " << all.tunings
            << ", suspects: " << all.suspects << ", bytes: " << bytes << '\n';
  if (all.trials > 0) {
    std::cout << "trials from " << printable(all.first) << " to " << printable(all.last) << '\n';
  }
  for (const auto& outcome : all.outcomes) std::cout << printable(outcome.name) << ": " << outcome.trials << '\n';
  std::vector<Row> rows;
  for (const auto& place : all.places) {
    rows.push_back(
        {place.backend, place.device, place.value_type, std::to_string(place.matrices), std::to_string(place.trials)});
  }
  print_table(std::cout,
              {{.title = "backend", .left = true},
               {.title = "device", .left = true},
               {.title = "type", .left = true},
               {.title = "matrices"},
               {.title = "trials"}},
              rows);
  rows.clear();
  for (const auto& of : all.formats) rows.push_back({of.name, std::to_string(of.trials), std::to_string(of.wins)});
  print_table(std::cout, {{.title = "format", .left = true}, {.title = "trials"}, {.title = "fastest on"}}, rows);
}

void check_words(const Options& options) {
  const auto& chosen = options.selection;
  auto rest = chosen;
  rest.all = rest.yes = false;
  const bool some = options.backend || rest != SelectionOptions{};
  if (chosen.all && some) throw InvalidArgument("--all goes with no other choice of what to forget");
  if (chosen.all != chosen.yes) throw InvalidArgument("to forget everything takes both --all and --yes");
  if (!chosen.all && !some) {
    throw InvalidArgument("forget what? --matrix, --device, --format or another choice, --suspects, or --all");
  }
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

// Of a selection that is to be complained about; empty where it names nothing.
std::string name_of_choice(const Selection& selection) {
  const auto matrix = selection.pattern ? selection.pattern->text() : selection.label;
  const auto what = selection.format.empty() ? matrix : selection.format + (matrix.empty() ? "" : " of " + matrix);
  if (what.empty() || selection.device.empty()) return what + selection.device;
  return what + " on " + selection.device;
}

}  // namespace

int print_statistics(const Options& options) {
  const auto selections = selections_of(options);
  if (selections.size() > 1) throw InvalidArgument("db stats takes one --matrix");
  const auto all = look_at_place(options)->statistics(selections[0]);
  const auto bytes = size_of(place_of(options));
  if (options.json) {
    print_json(statistics_json(all, bytes));
  } else {
    print_statistics_of(all, bytes);
  }
  return 0;
}

int check_database(const Options& options) {
  require_file(options, "nothing is checked");
  const auto faults = look_at_place(options)->faults();
  if (options.json) {
    print_json({{"sound", faults.empty()}, {"faults", faults}});
  } else {
    for (const auto& fault : faults) std::cout << printable(fault) << '\n';
    if (faults.empty()) std::cout << "sound\n";
  }
  return faults.empty() ? 0 : 1;
}

int forget_rows(const Options& options) {
  check_words(options);
  const auto selections = selections_of(options);
  require_file(options, "nothing is forgotten");
  const auto database = open_to_change(options);
  Forgotten sum;
  int not_found = 0;
  for (const auto& selection : selections) {
    const auto forgotten = database->forget(selection);
    const auto name = name_of_choice(selection);
    if (forgotten == Forgotten{} && !name.empty() && !selection.only_suspects) {
      complain(name + ": nothing of it in the database");
      ++not_found;
    }
    sum.matrices += forgotten.matrices;
    sum.trials += forgotten.trials;
    sum.tunings += forgotten.tunings;
    sum.suspects += forgotten.suspects;
  }
  print_forgotten(sum, options.json);
  return not_found > 0 ? 1 : 0;
}

int vacuum_database(const Options& options) {
  require_file(options, "nothing is vacuumed");
  const auto before = size_of(place_of(options));
  {
    const auto database = open_to_change(options);
    database->vacuum();
    prepare(*database);
  }
  const auto after = size_of(place_of(options));
  if (options.json) {
    print_json({{"bytes_before", before}, {"bytes_after", after}});
  } else {
    std::cout << "bytes: " << before << " before, " << after << " after\n";
  }
  return 0;
}

}  // namespace autospmv::tools
