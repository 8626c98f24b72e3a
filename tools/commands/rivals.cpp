#include "tools/commands/rivals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <limits>

#include "formats/format.hpp"
#include "tools/output/table.hpp"
#include "tools/studies/study.hpp"

namespace autospmv::tools {

namespace {

constexpr std::array caches = {Cache::warm, Cache::cold};

const Timing& timing_of(const TrialRecord& trial, Cache cache) {
  return cache == Cache::warm ? trial.measurement.warm : trial.measurement.cold;
}

bool has_time(const TrialRecord& trial, Cache cache) {
  return trial.measurement.outcome == Outcome::passed && timing_of(trial, cache).samples > 0;
}

void keep_faster(std::optional<TrialRecord>& fastest, const TrialRecord& trial, Cache cache) {
  if (!has_time(trial, cache)) return;
  if (!fastest || timing_of(trial, cache).median < timing_of(*fastest, cache).median) fastest = trial;
}

void enter(Contestant& contestant, const TrialRecord& trial) {
  keep_faster(contestant.warm, trial, Cache::warm);
  keep_faster(contestant.cold, trial, Cache::cold);
  if (contestant.warm) {
    contestant.detail.clear();
  } else if (contestant.detail.empty()) {
    contestant.detail = trial.measurement.detail;
  }
}

std::string name_of_rival(const Candidate& candidate) {
  const auto algorithm = candidate.params.find("algorithm");
  return algorithm ? candidate.format + ' ' + std::to_string(*algorithm) : candidate.format;
}

Contestant& named(std::vector<Contestant>& contestants, const std::string& name) {
  const auto at = std::lower_bound(contestants.begin(), contestants.end(), name,
                                   [](const Contestant& one, const std::string& other) { return one.name < other; });
  if (at != contestants.end() && at->name == name) return *at;
  return *contestants.insert(at, Contestant{.name = name, .warm = {}, .cold = {}, .detail = {}});
}

const Contestant* find(const RivalRecord& record, const std::string& name) {
  const auto at = std::find_if(record.rivals.begin(), record.rivals.end(),
                               [&](const Contestant& rival) { return rival.name == name; });
  return at == record.rivals.end() ? nullptr : &*at;
}

// Of every record.
std::vector<std::string> names_of_rivals(std::span<const RivalRecord> records) {
  std::vector<std::string> names;
  for (const auto& record : records) {
    for (const auto& rival : record.rivals) names.push_back(rival.name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::function<double(const RivalRecord&)> times_ours_of(const std::string& name, Cache cache) {
  return [=](const RivalRecord& record) {
    const auto* rival = find(record, name);
    return rival == nullptr ? unknown : times_ours(record, *rival, cache);
  };
}

std::function<double(const RivalRecord&)> best_times_ours_of(Cache cache) {
  return [=](const RivalRecord& record) { return best_times_ours(record, cache); };
}

std::string text_of_candidate(const std::optional<TrialRecord>& trial) { return trial ? trial->candidate.text() : "-"; }

std::string microseconds(double seconds) { return fixed(seconds * 1e6, 2); }

std::vector<Row> rows_of_table(std::span<const RivalRecord> records, const std::vector<std::string>& rivals,
                               Cache cache) {
  std::vector<Row> rows;
  for (const auto& record : records) {
    const auto* best = best_rival(record, cache);
    Row row = {record.matrix.label, std::to_string(record.matrix.nnz), text_of_candidate(record.ours.fastest(cache)),
               microseconds(record.ours.seconds(cache))};
    for (const auto& name : rivals) row.push_back(fixed(times_ours_of(name, cache)(record), 2));
    row.push_back(best == nullptr ? "-" : text_of_candidate(best->fastest(cache)));
    row.push_back(microseconds(best == nullptr ? unknown : best->seconds(cache)));
    row.push_back(fixed(best_times_ours(record, cache), 2));
    rows.push_back(std::move(row));
  }
  const auto add_total = [&](const std::string& title, double RivalSummary::*number) {
    Row row = {title, "", "", ""};
    for (const auto& name : rivals) row.push_back(fixed(summarize(records, times_ours_of(name, cache)).*number, 2));
    row.insert(row.end(), {"", "", fixed(summarize(records, best_times_ours_of(cache)).*number, 2)});
    rows.push_back(std::move(row));
  };
  if (records.size() > 1) {
    add_total("geometric mean", &RivalSummary::geometric_mean);
    add_total("worst", &RivalSummary::worst);
  }
  return rows;
}

Json contestant_json(const RivalRecord& record, const Contestant& contestant) {
  Json json = {{"name", contestant.name}};
  for (const auto cache : caches) {
    const auto& fastest = contestant.fastest(cache);
    Json time = fastest ? to_json(fastest->candidate) : Json::object();
    time["median_us"] = contestant.seconds(cache) * 1e6;
    time["times_ours"] = times_ours(record, contestant, cache);
    json[std::string(name_of(cache))] = std::move(time);
  }
  json["detail"] = contestant.detail;
  return json;
}

Json summary_json(const RivalSummary& summary) {
  return {{"matrices", summary.matrices},
          {"geometric_mean", summary.geometric_mean},
          {"worst", summary.worst},
          {"worst_matrix", summary.worst_matrix}};
}

}  // namespace

std::string_view name_of(Cache cache) { return cache == Cache::warm ? "warm" : "cold"; }

double Contestant::seconds(Cache cache) const {
  const auto& trial = fastest(cache);
  return trial ? median_of(timing_of(*trial, cache)) : unknown;
}

std::vector<std::string> rival_formats(Backend backend) {
  std::vector<std::string> names;
  for (const auto* format : all_formats<double>()) {
    const auto& info = format->info();
    if (info.vendor && info.runs_on(backend)) names.push_back(info.name);
  }
  return names;
}

RivalRecord rival_record(const MatrixSummary& matrix, const std::vector<TrialRecord>& trials,
                         const std::vector<std::string>& rivals) {
  RivalRecord record{matrix, {.name = "ours", .warm = {}, .cold = {}, .detail = {}}, {}};
  for (const auto& trial : trials) {
    const bool is_rival = std::find(rivals.begin(), rivals.end(), trial.candidate.format) != rivals.end();
    enter(is_rival ? named(record.rivals, name_of_rival(trial.candidate)) : record.ours, trial);
  }
  return record;
}

const Contestant* best_rival(const RivalRecord& record, Cache cache) {
  const Contestant* best = nullptr;
  for (const auto& rival : record.rivals) {
    if (!rival.fastest(cache)) continue;
    if (best == nullptr || rival.seconds(cache) < best->seconds(cache)) best = &rival;
  }
  return best;
}

double times_ours(const RivalRecord& record, const Contestant& rival, Cache cache) {
  return rival.seconds(cache) / record.ours.seconds(cache);
}

double best_times_ours(const RivalRecord& record, Cache cache) {
  const auto* best = best_rival(record, cache);
  return best == nullptr ? unknown : times_ours(record, *best, cache);
}

RivalSummary summarize(std::span<const RivalRecord> records, const std::function<double(const RivalRecord&)>& value) {
  RivalSummary summary{.matrices = 0, .geometric_mean = unknown, .worst = unknown, .worst_matrix = {}};
  std::vector<double> values;
  values.reserve(records.size());
  for (const auto& record : records) {
    const double one = value(record);
    values.push_back(one);
    if (std::isnan(one)) continue;
    ++summary.matrices;
    if (summary.matrices > 1 && one >= summary.worst) continue;
    summary.worst = one;
    summary.worst_matrix = record.matrix.label;
  }
  summary.geometric_mean = geometric_mean(values);
  return summary;
}

void print_rivals(const RivalRecord& record) {
  std::vector<Row> rows;
  const auto add = [&](const Contestant& contestant) {
    Row row = {contestant.name};
    for (const auto cache : caches) {
      row.insert(row.end(), {text_of_candidate(contestant.fastest(cache)), microseconds(contestant.seconds(cache)),
                             fixed(times_ours(record, contestant, cache), 2)});
    }
    row.push_back(contestant.detail);
    rows.push_back(std::move(row));
  };
  add(record.ours);
  for (const auto& rival : record.rivals) add(rival);
  std::cout << headline(record.matrix) << '\n';
  print_table(std::cout,
              {{.title = "", .left = true},
               {.title = "warm", .left = true},
               {.title = "us"},
               {.title = "x ours"},
               {.title = "cold", .left = true},
               {.title = "us"},
               {.title = "x ours"},
               {.title = "detail", .left = true}},
              rows);
  std::cout << std::endl;
}

void print_rival_tables(std::span<const RivalRecord> records, bool markdown) {
  const auto rivals = names_of_rivals(records);
  for (const auto cache : caches) {
    std::vector<Column> columns = {
        {.title = "matrix", .left = true}, {.title = "nonzeros"}, {.title = "ours", .left = true}, {.title = "us"}};
    for (const auto& name : rivals) columns.push_back({.title = name});
    columns.insert(columns.end(), {{.title = "best rival", .left = true}, {.title = "us"}, {.title = "x ours"}});
    std::cout << name_of(cache) << "; of each rival, its time over ours" << (markdown ? "\n\n" : "\n");
    const auto print = markdown ? print_markdown : print_table;
    print(std::cout, std::move(columns), rows_of_table(records, rivals, cache));
    const auto summary = summarize(records, best_times_ours_of(cache));
    std::cout << '\n'
              << name_of(cache) << ": the best rival takes " << fixed(summary.geometric_mean, 2)
              << " times as long as ours in geometric mean over " << summary.matrices << " matrices, at worst "
              << fixed(summary.worst, 2) << (summary.matrices > 0 ? " (" + summary.worst_matrix + ")" : "") << "\n\n";
  }
}

Json rivals_json(const RivalRecord& record) {
  Json json;
  json["ours"] = contestant_json(record, record.ours);
  json["rivals"] = Json::array();
  for (const auto& rival : record.rivals) json["rivals"].push_back(contestant_json(record, rival));
  for (const auto cache : caches) {
    const auto* best = best_rival(record, cache);
    json["best"][std::string(name_of(cache))] = {{"name", best == nullptr ? Json(nullptr) : Json(best->name)},
                                                 {"times_ours", best_times_ours(record, cache)}};
  }
  return json;
}

Json rival_summary_json(std::span<const RivalRecord> records) {
  Json json;
  for (const auto cache : caches) {
    auto& of_cache = json["summary"][std::string(name_of(cache))];
    of_cache["best"] = summary_json(summarize(records, best_times_ours_of(cache)));
    of_cache["rivals"] = Json::object();
    for (const auto& name : names_of_rivals(records)) {
      of_cache["rivals"][name] = summary_json(summarize(records, times_ours_of(name, cache)));
    }
  }
  return json;
}

}  // namespace autospmv::tools
